"""Many runs: their records, the processes they run in, what comes next, and comparison."""
