"""Links survive a proxy with another scheme, another host and a path of its own."""

import functools
import http.server
import threading
from urllib.parse import urlsplit

import pytest

from sdpa.views import VIEWS
from tests.browser import proxy
from tests.browser.conftest import DRAWN, Reader, Server

WEIGHTS = VIEWS["temperature.weights"]
STATE = {"scores": "20, 10, 0", "temperature": "4"}


class Proxied:
    """A server as it is reached through a proxy."""

    def __init__(self, server, address):
        self.address, self.said = address, server.said


@pytest.fixture(scope="module")
def through(browser, tmp_path_factory):
    if not proxy.find():
        pytest.skip("nginx is not here: install it to test links behind a proxy")
    folder = tmp_path_factory.mktemp("proxy")
    server = Server(folder / "log.txt", baseUrlPath="lesson")
    context = browser.new_context(ignore_https_errors=True)
    try:
        with proxy.before(server, folder) as address:
            reader = Reader(context.new_page(), Proxied(server, address))
            yield reader
            assert reader.problems == []
            assert reader.hosts == {proxy.HOST}
            assert reader.server_faults == ""
    finally:
        context.close()
        server.stop()


def test_a_link_opens_its_state_a_release_changes_it_and_pages_stay_under_the_path(through):
    through.open("temperature", **STATE)
    through.shows(WEIGHTS(**STATE).caption)
    through.press("ArrowRight", on=through.slider("temperature"))
    assert through.query == {**STATE, "temperature": "6"}
    through.shows(WEIGHTS(scores="20, 10, 0", temperature="6").caption)
    with through.answer():
        through.page.locator(".st-key-page-after a").click()
    assert urlsplit(through.url).path == "/lesson/gradients"
    through.go("Temperature")
    assert urlsplit(through.url).path == "/lesson/temperature"


def test_the_shared_link_is_the_public_one_and_opens_the_same_state(through):
    through.open("temperature", **STATE)
    through.page.get_by_role("button", name="Share").click()
    link = through.page.locator(".share .link").text_content()
    assert link.startswith(f"{through.address}/temperature?")
    assert through.page.locator(".share .copy-here").is_hidden()
    assert through.page.locator(".share .note").text_content() == ""
    through.goto(link)
    through.shows(WEIGHTS(**STATE).caption)


def test_an_embedded_page_shows_its_figure_and_no_menu_on_another_site(through, tmp_path):
    through.open("temperature", **STATE)
    through.page.get_by_role("button", name="Share").click()
    code = through.page.locator(".share .embed").input_value()
    (tmp_path / "index.html").write_text(f"<!doctype html><title>Notes</title>{code}")
    handler = functools.partial(Quiet, directory=str(tmp_path))
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    page = through.page.context.new_page()
    try:
        page.goto(f"http://127.0.0.1:{site.server_port}/")
        frame = page.frame_locator("iframe")
        frame.locator(".live-figure .main-svg").first.wait_for()
        caption = frame.locator("figcaption").first.text_content()
        assert caption == WEIGHTS(**STATE).caption
        assert page.frames[1].evaluate(DRAWN)
        assert frame.locator(".st-key-menu, .st-key-onward").count() == 0
        assert frame.get_by_test_id("stMainMenuButton").count() == 0
    finally:
        page.close()
        site.shutdown()
        site.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_):
        """Drop the line."""
