"""From configuration to objects: the only readers of config fields."""
