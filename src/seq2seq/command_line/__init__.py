"""What a person says and is told: the command line, its configuration, help, mistakes."""
