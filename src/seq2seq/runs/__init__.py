"""What a run is: a configuration and a folder in, a trained model and its scores out."""
