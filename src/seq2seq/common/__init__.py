"""What several packages need and none owns."""

VERSION = "0.4.0"
"""Of this program; pyproject.toml, CITATION.cff and CHANGELOG.md have the same."""
