"""Count what stays in the browser while a reader goes from page to page, many times.

Prints heap, nodes and listeners, each after a garbage collection; all three must level off.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

from sdpa.ui.frame import PAGES
from tests.browser.conftest import Reader, Server
from tests.browser.find import find, launch


class Kept(NamedTuple):
    """What a page holds: megabytes of JavaScript's heap, nodes of documents, event listeners."""

    heap: float
    nodes: int
    listeners: int


def kept(page: Page) -> Kept:
    """Collect garbage, then count what is left."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    found = {metric["name"]: metric["value"] for metric in metrics}
    session.detach()
    return Kept(found["JSHeapUsedSize"] / 1e6, found["Nodes"], found["JSEventListeners"])


def main() -> None:
    """Go through the pages and print the counts."""
    options = argparse.ArgumentParser(prog="python -m tests.bench.leaks", description=__doc__)
    options.add_argument("--switches", type=int, default=200, help="how many pages to go to")
    switches = options.parse_args().switches
    names = [page.menu for page in PAGES]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder) / "log.txt")
        browser = launch(playwright.chromium, find(playwright.chromium))
        try:
            reader = Reader(browser.new_page(), server).open()
            print("pages  heap/MB  nodes  listeners", flush=True)
            for place in range(1, switches + 1):
                go(reader, names[place % len(names)])
                if place % len(names) == 0:  # the same page each time: home
                    reader.page.wait_for_timeout(800)
                    heap, nodes, listeners = kept(reader.page)
                    print(f"{place:5}  {heap:7.1f}  {nodes:5}  {listeners:9}", flush=True)
            reader.assert_quiet()
        finally:
            browser.close()
            server.stop()


def go(reader: Reader, menu: str) -> None:
    """Go to a page by the menu; one of questions has no figure to wait for."""
    page = next(page for page in PAGES if page.menu == menu)
    reader.page.locator(".st-key-menu").get_by_role("button", name=page.section).click()
    body = reader.page.get_by_test_id("stPopoverBody")
    before = reader.answered
    body.get_by_role("link", name=menu, exact=True).click()
    reader.until(lambda: reader.answered > before)
    reader.picture()


if __name__ == "__main__":
    main()
