"""Examples are drawn alike in each run; ``--hypothesis-profile=default`` looks for new ones."""

from hypothesis import settings

settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")
