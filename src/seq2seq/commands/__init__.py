"""The commands, each a module with a `main`; ``train.py`` and ``scripts`` are doors to them."""
