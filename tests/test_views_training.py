import math
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from streamlit.testing.v1 import AppTest

from sdpa.parameters import D_K, LEARNING_RATE, LOSS, OPTIMISER, PAIRS, SEED, STEP
from sdpa.training import KEPT, LOSSES, OPTIMISERS, RATES, train_lookup
from sdpa.views import VIEWS, words
from sdpa.views.message import message
from sdpa.views.training import DRAWN, learning_rate

NAMES = ("training.loss", "training.weights", "training.share")
ROOT = Path(__file__).parents[1]
BY = ("1", "√d_k", "d_k")
SETTINGS = [
    {},
    {"d_k": 4},
    {"d_k": 1024, "seed": 3},
    {"d_k": 256, "optimiser": "Adam"},
    {"d_k": 256, "loss": "weights"},
    {"pairs": 4, "lr": 3.0},
    {"pairs": 8, "loss": "weights", "lr": 300.0, "d_k": 4},
    {"optimiser": "Adam", "lr": 300.0},
    {"lr": 0.001},
]


def trained(d_k=64, optimiser="SGD", loss="values", pairs=16, lr="auto", seed=0):
    rate = RATES[optimiser.lower(), loss] if lr == "auto" else lr
    return train_lookup(
        d_k, [1.0, math.sqrt(d_k), d_k], n=pairs, lr=rate, loss=loss,
        optimiser=optimiser.lower(), seed=seed,
    )  # fmt: skip


def test_the_parameters_are_what_the_core_takes():
    assert STEP.values == KEPT
    assert tuple(value.lower() for value in OPTIMISER.values) == OPTIMISERS
    assert LOSS.values == LOSSES


def test_auto_is_the_learning_rate_that_its_help_names():
    said = [float(number) for number in re.findall(r"[\d.]*\d", LEARNING_RATE.help)]
    assert said == [RATES["sgd", "values"], RATES["sgd", "weights"], RATES["adam", "values"]]
    assert RATES["adam", "values"] == RATES["adam", "weights"]
    assert learning_rate("Adam", "weights", "auto") == 0.01
    assert learning_rate("Adam", "weights", 3.0) == 3.0
    assert {float(rate) for rate in RATES.values()} <= set(LEARNING_RATE.values)


@pytest.mark.parametrize("state", SETTINGS, ids=str)
def test_the_figures_show_a_training_run_anew(state):
    history = trained(**state)
    loss, weights, share = (VIEWS[name](**state) for name in NAMES)
    for row, by in enumerate(BY):
        assert_allclose(loss.drawing.data[row]["y"], history.loss[row][DRAWN])
        assert_allclose(loss.drawing.data[3 + row]["y"], history.accuracy[row][DRAWN])
        tiny = np.finfo(float).tiny  # where a gradient underflows to 0, on a logarithmic axis
        sizes, shares = history.row_gradient[row][DRAWN], history.share[row][DRAWN]
        assert_allclose(share.drawing.data[row]["y"], np.maximum(sizes, tiny))
        assert_allclose(share.drawing.data[3 + row]["y"], np.maximum(shares, tiny))
        assert_allclose(share.table[f"gradient, divided by {by}"], sizes)
        assert_allclose(share.table[f"share, divided by {by}"], shares)
        assert_allclose(loss.numbers[f"accuracy by {by}"], history.accuracy[row, -1])
        assert_allclose(loss.table[f"loss, divided by {by}"], history.loss[row][DRAWN])
        matrix = history.weights[row, KEPT.index(50)]
        drawn = np.array(weights.drawing.data[row]["z"])
        for query, key in enumerate(history.target):
            # The right key's column is where the query's own row crosses the diagonal.
            shown = 0 if np.isnan(matrix[query, key]) else 100 * matrix[query, key]
            assert abs(drawn[query, query] - shown) <= 0.5 + 1e-9
            if not np.isnan(matrix).any():
                assert drawn[query].sum() == pytest.approx(100, abs=8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("state", SETTINGS, ids=str)
def test_axes_and_traces_stay_while_a_slider_moves(name, state):
    view = VIEWS[name](**state)
    assert set(view.sweeps) == ({"step", "d_k"} if name == "training.weights" else {"d_k"})
    for key, sweep in view.sweeps.items():
        assert len(sweep.frames) == len({"step": STEP, "d_k": D_K}[key].values)
        for frame in sweep.frames:
            assert len(frame.data) == len(view.drawing.data)
            assert not {part for part in frame.layout if "axis" in part}


@pytest.mark.parametrize("state", SETTINGS, ids=str)
def test_no_sentence_shows_nan_or_inf(state):
    for name in NAMES:
        view = VIEWS[name](**state)
        captions = [frame.caption for sweep in view.sweeps.values() for frame in sweep.frames]
        for text in (view.caption, view.notice, view.formula, *captions):
            assert not re.search(r"\bnan\b|\binf\b|∞", text), text


def test_the_page_s_messages_fit_into_150_kilobytes():
    for optimiser in OPTIMISER.values:
        sizes = [len(message(VIEWS[name](optimiser=optimiser)).encode()) for name in NAMES]
        assert sum(sizes) < 150_000


def test_the_caption_says_who_finds_the_key_at_the_default():
    view = VIEWS["training.loss"]()
    assert "31 % not divided, 100 % divided by √dₖ, 100 % divided by dₖ" in view.caption
    assert "learning rate 30" in view.caption
    assert "Guessing finds 6 %" in view.caption
    assert "0.357 long" in view.notice
    assert "after 21 steps with √dₖ" in view.notice
    assert "none of the 200 steps without a divisor" in view.notice


def test_the_sentences_follow_the_state():
    def notice(**state):
        return VIEWS["training.loss"](**state).notice

    assert "**slower**" in notice(d_k=4)
    assert "cancels" in notice(d_k=256, loss="weights")
    assert "Adam" in notice(d_k=256, optimiser="Adam")
    assert "Adam" not in notice(d_k=256)
    assert "too large" in notice(d_k=4, pairs=8, loss="weights", lr=300.0)
    assert "says little about the divisor" in notice(lr=0.001)
    assert "sure and wrong:" in VIEWS["training.weights"](d_k=256).notice
    assert "Nothing is learnt yet" in VIEWS["training.weights"](step=0).notice
    assert "hard to move" in VIEWS["training.weights"](d_k=256).notice
    assert "drag on" in VIEWS["training.weights"](d_k=8, step=1).notice
    early = VIEWS["training.weights"](step=0, d_k=4)
    assert words.weight(early.numbers["largest weight by 1"]) in early.notice
    for state in ({"d_k": 4}, {"d_k": 1024, "loss": "weights", "step": 200}):
        assert "no divisor leaves" in VIEWS["training.weights"](**state).notice
    assert "little of it" in notice(d_k=256)
    assert "little of it" not in notice(d_k=1024, pairs=4)
    assert "finds the right key without a divisor too" in VIEWS["training.share"](d_k=4).notice
    assert "half of every wrong row" in VIEWS["training.share"](loss="weights").notice


def test_the_diagonal_is_circled_in_every_panel():
    data = VIEWS["training.weights"](pairs=8).drawing.data
    assert [trace["type"] for trace in data] == ["heatmap"] * 3 + ["scatter"] * 3
    for trace in data[3:]:
        assert_array_equal(trace["x"], trace["y"])
        assert len(trace["x"]) == 8


# --- the page ---


@pytest.fixture
def page():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    return app.switch_page("pages/training.py").run()


def test_the_page_shows_seven_controls_and_no_exception(page):
    assert not page.exception
    keys = {widget.key for widget in (*page.select_slider, *page.selectbox)}
    rows = (D_K, OPTIMISER, LOSS, STEP, PAIRS, LEARNING_RATE, SEED)
    assert {row.key for row in rows} <= keys


def test_a_prediction_goes_to_its_state_and_is_answered(page):
    page.button(key="see training").click().run()
    assert not page.exception
    assert page.session_state["d_k"] == 256
    answer = VIEWS["training.loss"](d_k=256).numbers["accuracy by 1"]
    assert any(f"It is **{100 * answer:.0f} %**" in text.value for text in page.markdown)


def test_presets_put_back_what_the_other_controls_had(page):
    page.selectbox(key="lr").select(0.001).run()
    page.button(key="preset loss Loss on the weights").click().run()
    assert not page.exception
    state = page.session_state
    assert (state["loss"], state["d_k"], state["lr"]) == ("weights", 256, "auto")
    page.button(key="preset loss Does Adam rescue it?").click().run()
    assert (page.session_state["loss"], page.session_state["optimiser"]) == ("values", "Adam")
