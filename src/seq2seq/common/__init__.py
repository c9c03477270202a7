"""What every package uses: warnings and progress, the arguments of a class, whose code may run, the models that come along."""
