"""From text files to padded batches of token ids."""
