"""Many runs: sweeps and searches from a command line, and the comparison of what they gave."""
