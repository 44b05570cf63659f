"""All tests, the pages in a real browser too: ``python -m tests [arguments of pytest]``.

Takes the browser that is here, or gets one.
"""

import os
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.find import VARIABLE, NoBrowserError, find, get

ROOT = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    """Run pytest with a browser; its exit code, or 1 without a browser."""
    try:
        with sync_playwright() as playwright:
            browser = browser_for(playwright.chromium)
    except NoBrowserError as problem:
        print(problem, file=sys.stderr)
        return 1
    print("Browser:", browser, flush=True)
    # One thread each for the linear algebra: the workers share the processors as it is.
    environment = {**os.environ, VARIABLE: browser, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", *in_parallel(arguments), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def browser_for(chromium) -> str:
    """Find a browser or get one; a browser named by the reader must work."""
    try:
        return find(chromium)
    except NoBrowserError:
        if os.environ.get(VARIABLE):
            raise
        return get(chromium)


def in_parallel(arguments: list[str]) -> list[str]:
    """Use three processes or more, unless told otherwise; ``conftest.py`` says what stays together.

    One more than processors: a test of a page waits much of its time.
    """
    if any(argument.startswith(("-n", "--numprocesses", "--dist")) for argument in arguments):
        return []
    workers = min((os.cpu_count() or 1) + 1, 4)
    return ["-n", str(workers)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
