"""Ten figures on one slider, also where they can't be seen at first."""

import shutil

import pytest

from sdpa.parameters import D_K
from sdpa.views import VIEWS
from tests.browser.conftest import ROOT, Server

NAMES = [name for name, spec in VIEWS.items() if "d_k" in spec.swept][:10]
LAST = len(D_K.values) - 1
SEEN = """(count) =>
  [...document.querySelectorAll('.live-figure')].filter((one) => one.querySelector('.main-svg'))
    .length >= count"""


@pytest.fixture(scope="module")
def ten(seat, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ten")
    for name in ("static", ".streamlit"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "tests" / "browser" / "apps" / "ten_figures.py", folder / "app.py")
    server = Server(folder / "log.txt", folder)
    try:
        with seat(server) as reader:
            reader.page.goto(server.address)
            reader.page.wait_for_function(SEEN, arg=8)
            yield reader
    finally:
        server.stop()


def captions(d_k):
    return [VIEWS[name](d_k=d_k).caption for name in NAMES]


def drawn(reader):
    """Each figure's caption and the width of its picture, 0 where there is none."""
    return reader.page.evaluate(
        """() => [...document.querySelectorAll('.live-figure')].map((figure) => [
          figure.querySelector('figcaption').textContent,
          figure.querySelector('.main-svg')?.getBoundingClientRect().width ?? 0,
        ])"""
    )


def test_all_follow_a_drag_and_those_that_were_hidden_show_the_state_once_they_open(ten):
    reader, page = ten, ten.page
    assert len(NAMES) == 10
    assert [caption for caption, _ in drawn(reader)[:8]] == captions(D_K.default)[:8]
    reader.grab("d_k")
    asked = reader.asked
    reader.drag_to("d_k", LAST, LAST)
    reader.until(lambda: [text for text, _ in drawn(reader)[:8]] == captions(1024)[:8])
    assert reader.asked == asked
    page.mouse.up()
    reader.until(lambda: reader.asked > asked)
    page.get_by_role("tab", name="One").click()
    page.get_by_text("Closed").click()
    page.wait_for_function(SEEN, arg=10)
    reader.until(lambda: [text for text, _ in drawn(reader)] == captions(1024))
    reader.slider("d_k").scroll_into_view_if_needed()
    reader.grab("d_k")
    reader.drag_to("d_k", 0, LAST)  # the eight are hidden now and the two are seen
    reader.until(lambda: [text for text, _ in drawn(reader)[8:]] == captions(4)[8:])
    assert min(width for _, width in drawn(reader)[8:]) > 300
    page.mouse.up()
    page.get_by_role("tab", name="Eight").click()
    reader.until(lambda: [text for text, _ in drawn(reader)] == captions(4))


def test_at_200_percent_all_fit_and_follow(ten):
    reader, page = ten, ten.page
    page.set_viewport_size({"width": 640, "height": 360})  # what 1280 x 720 has at 200 %
    page.wait_for_timeout(300)
    assert max(width for _, width in drawn(reader)) <= 640
    assert reader.width_overrun() == {}
    reader.slider("d_k").scroll_into_view_if_needed()
    reader.grab("d_k")
    reader.drag_to("d_k", LAST, LAST)
    reader.until(lambda: [text for text, _ in drawn(reader)[:8]] == captions(1024)[:8])
    page.mouse.up()
