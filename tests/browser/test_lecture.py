"""The lecture's page: its steps, and what a lecturer takes along."""

import io
import re
import struct
import zipfile

import pandas as pd
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from pandas.testing import assert_frame_equal

from sdpa.export.handout import handout
from sdpa.export.lecture import STEPS
from sdpa.views import VIEWS
from sdpa.views.code import code
from sdpa.views.naming import stem
from tests.browser.conftest import DRAWN

CHAIN = VIEWS["chain.chain"]


@pytest.fixture(scope="module")
def once(seat):
    with seat() as reader:
        yield reader


@pytest.fixture
def sixth(once):
    """The step that shows the chain."""
    once.page.bring_to_front()
    yield once.open("lecture", part=6)
    once.assert_quiet()


def test_a_step_s_figure_follows_a_drag_and_its_state_is_in_the_link(sixth):
    sixth.shows(CHAIN(d_k=256).caption)
    last = len(CHAIN.swept["d_k"].values) - 1
    sixth.grab("d_k")
    sixth.drag_to("d_k", last, last)
    sixth.shows(CHAIN(d_k=1024).caption)
    with sixth.answer():
        sixth.page.mouse.up()
    assert sixth.query == {"part": "6", "d_k": "1024"}
    with sixth.answer():
        sixth.page.get_by_role("button", name="Previous", exact=True).click()
    sixth.shows(STEPS[4].drawn().caption)
    assert sixth.query == {"part": "5", "d_k": "256"}
    with sixth.page.context.expect_page() as lesson:
        sixth.page.get_by_role("link", name="Narrow head").click()
    lesson.value.wait_for_function(DRAWN)
    assert lesson.value.url == f"{sixth.address}/gradients?d_k=4"
    shown = lesson.value.locator("figcaption").all_text_contents()
    assert VIEWS["gradients.rows"](d_k=4).caption in shown
    lesson.value.close()


def test_the_answer_is_folded_until_it_is_asked_for(sixth):
    answer = sixth.page.get_by_text(STEPS[5].answer(STEPS[5].drawn()))
    assert answer.count() == 0
    sixth.page.get_by_role("button", name="Answer").click()
    answer.wait_for()
    sixth.page.keyboard.press("Escape")


def test_axe_finds_no_grave_fault(sixth):
    sixth.page.evaluate(AXE_SCRIPT)
    report = sixth.page.evaluate("axe.run({resultTypes: ['violations']})")
    faults = [
        (one["id"], node["html"][:150])
        for one in report["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
    assert faults == []


def packed(reader, **choices):
    for name, choice in choices.items():
        reader.page.locator(f".takeaway .{name}").select_option(choice)
    with reader.page.expect_download() as download:
        reader.page.get_by_role("button", name="All figures, ZIP").click()
        assert reader.page.get_by_role("button", name="All figures, ZIP").is_disabled()
    reader.page.get_by_text("Saved why").wait_for()
    name = download.value.suggested_filename
    return name, zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes()))


def test_all_figures_come_in_one_zip_with_their_data_and_programs(sixth):
    name, files = packed(sixth, theme="dark", size="1280×720")
    assert name == "why-attention-divides-dark-png.zip"
    assert files.testzip() is None
    expected = []
    for place, step in enumerate(STEPS, start=1):
        view = step.drawn()
        begun = f"{place:02}_{stem(view)}"
        expected += [f"{begun}_dark.png", f"data/{begun}.csv", f"code/{begun}.py"]
        png = files.read(f"{begun}_dark.png")
        assert struct.unpack(">II", png[16:24]) == (1280, 720)
        data = pd.read_csv(io.BytesIO(files.read(f"data/{begun}.csv")))
        mine = pd.read_csv(io.StringIO(view.table.to_csv(index=False)))
        assert_frame_equal(data, mine, check_dtype=False, obj=begun)
        assert files.read(f"code/{begun}.py").decode() == code(view)
    assert files.namelist() == expected
    name, files = packed(sixth, theme="light", format="svg")  # a second time, another format
    assert name == "why-attention-divides-light-svg.zip"
    svg = files.read("06_chain.chain_d_k=256.svg").decode()
    assert re.match(r'<svg [^>]*width="1280" height="720"', svg)
    assert f">chain.chain · d_k = 256 · {sixth.address}/?d_k=256<" in svg
    svg = files.read("04_gradients.gap.svg").decode()
    assert f">gradients.gap · gap = 4 · {sixth.address}/gradients<" in svg


def test_the_handout_is_the_command_line_s_with_links_to_here(sixth):
    with sixth.page.expect_download() as download:
        sixth.page.get_by_role("button", name="Handout, HTML").click()
    assert download.value.suggested_filename == "handout.html"
    assert download.value.path().read_bytes() == handout(sixth.address).encode()


def test_steps_are_slides_and_r_shows_the_answer(once):
    once.page.set_viewport_size({"width": 1920, "height": 1080})
    once.open("lecture", present="true", part=5)
    page = once.page
    page.locator("button.keys-of-slides").wait_for()
    with once.answer():
        page.keyboard.press("PageDown")
    once.shows(CHAIN(d_k=256).caption)
    box = page.locator("figcaption").bounding_box()
    assert box["y"] + box["height"] <= 1080
    assert page.locator(".takeaway").count() == 0
    page.keyboard.press("r")
    page.get_by_text(STEPS[5].answer(STEPS[5].drawn())).wait_for()
    assert once.query == {"present": "true", "part": "6", "d_k": "256"}
