"""The server of a model over HTTP."""
