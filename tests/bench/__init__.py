"""How fast a slider's step reaches the picture, beside other ways: ``python -m tests.bench``."""
