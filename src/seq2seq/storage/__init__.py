"""What is on the disk: written whole, locked, digested, and removed only where it is ours."""
