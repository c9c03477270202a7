"""Side-by-side measurements of the model against a plain textbook decoder."""
