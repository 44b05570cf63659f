"""The views as files: ``python -m sdpa.export``."""
