"""How the tests run: examples alike in each run, and what shares a page on one worker.

``--hypothesis-profile=default`` looks for new examples.
"""

import re

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")


class ByPage(LoadScopeScheduling):
    """Hands out a file at a time, and of the file that opens every page a page at a time."""

    def _split_scope(self, nodeid):
        file, _, name = nodeid.partition("::")
        if not file.endswith("browser/test_pages.py"):
            return file
        page = re.search(r"\[([a-z-]+?)(-phone|-small)?\]$", name)
        return f"{file} {page[1] if page else name}"


def pytest_xdist_make_scheduler(config, log):
    return ByPage(config, log)


@pytest.hookimpl(trylast=True)  # pytest itself first puts together what shares a fixture
def pytest_collection_modifyitems(items):
    """Begin with the browser's tests, which take longest."""
    items.sort(key=lambda item: "browser" not in item.path.parts)
