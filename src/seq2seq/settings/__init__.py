"""Settings: how a configuration is composed, what is refused of it before PyTorch is loaded, and what is said of it."""
