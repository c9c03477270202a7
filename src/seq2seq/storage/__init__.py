"""What is on the disk: read into types, written whole, locked, and removed where it is ours."""
