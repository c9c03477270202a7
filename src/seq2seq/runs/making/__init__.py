"""From configuration to objects: what the rooms below are told of it, they are told from here.

Beside these, a few modules of runs and sweeps read where a run lives, whether it goes on and who
takes part; `tests/test_config_readers.py` lists them.
"""
