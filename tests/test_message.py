import ast
import base64
import json
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sdpa.ui.frame import PAGES as FRAME
from sdpa.views import VIEWS
from sdpa.views.message import message

ROOT = Path(__file__).parents[1]
PAGES = sorted(page.file.removeprefix("pages/") for page in FRAME if page.section != "Class")
MANY = ", ".join(f"{8 * np.sin(3.7 * step):.3f}" for step in range(64))
SCORES = ["8, 4, 0", "3", "5, 5", MANY, "100000, -100000, 0.001", "11, 11, 11", "1e-300, 0"]
with_scores = [name for name, spec in VIEWS.items() if "scores" in {p.key for p in spec.parameters}]


def refuse(token):
    raise AssertionError(f"{token} is not JSON")


def read(text):
    """Read a message as a browser's JSON.parse does, which knows no NaN and no Infinity."""
    return json.loads(text, parse_constant=refuse)


def decode(value):
    """Decode the arrays as Plotly documents them: dtype, bdata and for matrices a shape."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "bdata" not in value:
        return {key: decode(item) for key, item in value.items()}
    assert set(value) <= {"dtype", "bdata", "shape"}
    assert value["dtype"] in ("f4", "f8")  # the two that the page's JavaScript decodes
    flat = np.frombuffer(base64.b64decode(value["bdata"]), "<" + value["dtype"])
    return flat.reshape(value.get("shape", -1)).astype(float)


def is_numbers(value):
    return isinstance(value, np.ndarray) or (
        isinstance(value, (list, tuple))
        and len(value) > 0
        and all(isinstance(item, (int, float)) for item in value)
    )


def assert_same(got, expected, where=""):
    """The decoded message against the drawing; numbers to single precision."""
    if is_numbers(expected) and np.asarray(expected).dtype.kind in "fiub":
        expected = np.asarray(expected, dtype=float)
        got = np.asarray(got, dtype=float)
        assert got.shape == expected.shape, where
        finite = np.isfinite(expected)
        assert_array_equal(np.isfinite(got), finite, where)
        assert_allclose(got[finite], expected[finite], rtol=1e-6, err_msg=where)
    elif isinstance(expected, dict):
        assert got.keys() == expected.keys(), where
        for key, item in expected.items():
            assert_same(got[key], item, f"{where}.{key}")
    elif isinstance(expected, (list, tuple, np.ndarray)):
        assert len(got) == len(expected), where
        for place, (one, other) in enumerate(zip(got, expected, strict=True)):
            assert_same(one, other, f"{where}[{place}]")
    else:
        assert got == expected, where


def states(name):
    """The default, and for scores every kind of row that a reader may type."""
    return [{}] + [{"scores": scores} for scores in SCORES if name in with_scores]


CASES = [
    pytest.param(name, state, id=f"{name}-{n}")
    for name in VIEWS
    for n, state in enumerate(states(name))
]


@pytest.mark.parametrize(("name", "state"), CASES)
def test_a_message_holds_the_drawing(name, state):
    view = VIEWS[name](**state)
    got = decode(read(message(view)))
    assert got.keys() == {"view", "state", "marks", "file", "sweeps"}
    assert_same(got["state"], dict(view.state), "state")
    drawing = view.drawing
    assert got["view"]["caption"] == drawing.caption
    assert got["view"]["height"] == drawing.height
    assert_same(got["view"]["data"], drawing.data, "data")
    assert_same(got["view"]["layout"], drawing.layout, "layout")
    assert_same(got["view"]["narrow"], drawing.narrow, "narrow")
    assert got["marks"] == {"shapes": [], "annotations": []}


@pytest.mark.parametrize(("name", "state"), CASES)
def test_a_message_holds_one_frame_for_each_value_and_says_which_is_shown(name, state):
    view = VIEWS[name](**state)
    got = decode(read(message(view)))
    assert got["sweeps"].keys() == view.spec.swept.keys()
    for key, parameter in view.spec.swept.items():
        sent = got["sweeps"][key]
        assert parameter.values[sent["index"]] == view.state[key]
        assert sent["values"] == list(parameter.values)
        assert len(sent["frames"]) == len(parameter.values)
        for frame, mine in zip(sent["frames"], view.sweeps[key].frames, strict=True):
            assert frame.keys() == {"data", "layout", "caption"}
            assert frame["caption"] == mine.caption
            assert_same(frame["data"], mine.data, f"{key}: data")
            assert_same(frame["layout"], mine.layout, f"{key}: layout")


@pytest.mark.parametrize("name", [name for name, spec in VIEWS.items() if spec.swept])
def test_the_index_follows_every_value(name):
    spec = VIEWS[name]
    for key, parameter in spec.swept.items():
        for place, value in enumerate(parameter.values):
            sent = read(message(spec(**{key: value})))
            assert sent["sweeps"][key]["index"] == place
            shown = sent["sweeps"][key]["frames"][place]["caption"]
            assert shown == sent["view"]["caption"]


@pytest.mark.parametrize(("name", "state"), CASES)
def test_the_sent_table_is_the_view_s(name, state):
    view = VIEWS[name](**state)
    columns = read(message(view))["view"]["columns"]
    assert list(columns) == list(view.table.columns)
    for column, cells in columns.items():
        assert len(cells) == len(view.table)
        for cell, mine in zip(cells, view.table[column], strict=True):
            if isinstance(mine, float) and not np.isfinite(mine):
                assert cell == str(mine)
            else:
                assert cell == mine


def test_a_sent_mark_is_the_guess():
    view = VIEWS["temperature.weights"]()
    marked = view.marked("you said 0.5", y=0.5)
    sent = read(message(marked))
    assert sent["marks"] == marked.marks
    assert len(sent["marks"]["shapes"]) == len(sent["marks"]["annotations"]) == 1
    assert sent["view"] == read(message(view))["view"]


@given(st.lists(st.floats(-1e5, 1e5), min_size=1, max_size=12), st.sampled_from(with_scores))
@example(scores=[0.0, 178.0], name="gradients.jacobian")  # exp(−178/0.25) is no normal number
@settings(max_examples=15, deadline=None)
def test_whatever_is_typed_the_message_is_json(scores, name):
    sent = decode(read(message(VIEWS[name](scores=scores))))
    assert_same(sent["view"]["data"], VIEWS[name](scores=scores).drawing.data)


def test_what_single_precision_cannot_hold_is_sent_in_double():
    # Two keys 1000 apart: exp(−1000/0.25) is 0, at T = 8 it is 5e-55, below the least float32.
    sent = decode(read(message(VIEWS["temperature.weights"](scores="1000, 0"))))
    weights = [trace["y"] for trace in sent["view"]["data"] if trace["type"] == "bar"]
    # mpmath, 40 digits: exp(-125)
    assert_allclose(weights[1][1], 5.166420632837861e-55, rtol=1e-6)


# --- budgets ---


def views_on(page):
    """The views that a page shows, by the names in its ``VIEWS[…]``."""
    nodes = ast.walk(ast.parse((ROOT / "pages" / page).read_text(encoding="utf-8")))
    return {
        node.slice.value
        for node in nodes
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "VIEWS"
    }


def sizes(page, **state):
    return {
        name: len(
            message(
                VIEWS[name](**{key: state[key] for key in state if name in with_scores})
            ).encode()
        )
        for name in views_on(page)
    }


def test_every_view_is_on_one_page():
    shown = [name for page in PAGES for name in views_on(page)]
    assert sorted(shown) == sorted(VIEWS)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_sends_at_most_150_kb_at_first(page):
    assert 0 < sum(sizes(page).values()) <= 150_000, sizes(page)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_sends_at_most_400_kb_for_64_scores(page):
    sent = sizes(page, scores=MANY)
    assert sum(sent.values()) <= 400_000, sent


@pytest.mark.parametrize("name", VIEWS)
def test_a_message_that_was_written_before_costs_under_2_ms(name):
    view = VIEWS[name]()
    message(view)

    def once():
        start = time.perf_counter()
        message(VIEWS[name]())
        return time.perf_counter() - start

    assert min(once() for _ in range(20)) < 0.002
