import itertools
import math
import re
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from streamlit.testing.v1 import AppTest

from sdpa.parameters import OPTIMISER, SHARED_D_K, SHARED_OPTIMISER, SHARED_RATE
from sdpa.projections import ITEMS, SHARED_RATES, train_projections
from sdpa.views import VIEWS
from sdpa.views.message import message
from sdpa.views.projections import DRAWN, shared_rate

ROOT = Path(__file__).parents[1]
SHARED = VIEWS["training.shared"]
BY = ("1", "√d_k", "d_k")
STATES = [
    dict(zip(("shared_d_k", "shared_optimiser", "shared_lr"), values, strict=True))
    for values in itertools.product(SHARED_D_K.values, SHARED_OPTIMISER.values, SHARED_RATE.values)
]


def test_auto_is_the_learning_rate_that_its_help_names():
    said = [float(number) for number in re.findall(r"[\d.]*\d", SHARED_RATE.help)]
    assert said == [SHARED_RATES["adam"], SHARED_RATES["sgd"]]
    assert set(SHARED_RATES.values()) <= set(SHARED_RATE.values)


@pytest.mark.parametrize("state", [{}, STATES[0], STATES[30], STATES[-1]], ids=str)
def test_the_figure_shows_a_training_run_anew(state):
    view = SHARED(**state)
    d_k, optimiser, lr = view.state.values()
    history = train_projections(
        d_k, [1.0, math.sqrt(d_k), d_k],
        lr=shared_rate(optimiser, lr), optimiser=optimiser.lower(),
    )  # fmt: skip
    for row, by in enumerate(BY):
        seen = [history.accuracy[row, max(0, step - 10) : step].mean() for step in DRAWN]
        assert_allclose(view.drawing.data[row]["y"], seen, atol=1e-12)
        assert_allclose(view.table[f"accuracy, divided by {by}"], seen, atol=1e-12)
        assert_allclose(view.numbers[f"accuracy by {by}"], history.accuracy[row, 280:].mean())
    assert view.drawing.data[3]["y"].tolist() == [1 / ITEMS] * 2


def test_every_sentence_is_true_in_every_state():
    said = set()
    for state in STATES:
        view = SHARED(**state)
        one, root = view.numbers["steps by 1"], view.numbers["steps by √d_k"]
        for text in (view.caption, view.notice, view.formula):
            assert not re.search(r"\bnan\b|\binf\b|∞", text), text
        if "range of rates" in view.notice:
            # The rate is above auto's, and at auto's it gets there.
            assert np.isnan(one)
            assert not np.isnan(root)
            rate = SHARED_RATES[state["shared_optimiser"].lower()]
            assert view.numbers["learning rate"] > rate
            assert SHARED(**{**state, "shared_lr": rate}).numbers["steps by 1"] <= 300
            said.add("only divided")
        elif "Neither" in view.notice:
            assert np.isnan([one, root]).all()
            said.add("neither")
        elif "**without**" in view.notice:
            assert np.isnan(root) or one < root
            assert state["shared_optimiser"] == "SGD"
            said.add("faster")
        elif "about as fast" in view.notice:
            assert 0.8 <= one / root <= 1.25
            said.add("even")
        else:
            assert one > 1.25 * root
            assert "but it learns" in view.notice
            said.add("slower")
    assert said == {"only divided", "neither", "faster", "even", "slower"}


def test_the_caption_says_the_steps_and_the_accuracy_at_the_default():
    caption = SHARED().caption
    found = re.search(
        r"after (\d+) steps not divided, after (\d+) steps divided by √dₖ, after (\d+) steps "
        r"divided by dₖ\. Over the last 20 of 300 batches ([\d.]+) %, ([\d.]+) % and ([\d.]+) %",
        caption,
    )
    steps, ends = np.split(np.array(found.groups(), dtype=float), 2)
    # From machine to machine a step or a thousandth apart, as BLAS adds in another order.
    assert_allclose(steps, [28, 13, 13], atol=2)
    assert_allclose(ends, [98.4, 99.5, 99.5], atol=1)


def test_the_axes_stay_while_the_width_is_dragged_and_the_page_stays_small():
    view = SHARED()
    (sweep,) = view.sweeps.values()
    assert len(sweep.frames) == len(SHARED_D_K.values)
    assert not {part for frame in sweep.frames for part in frame.layout if "axis" in part}
    names = ("training.loss", "training.weights", "training.share")
    for optimiser in OPTIMISER.values:
        sizes = [len(message(VIEWS[name](optimiser=optimiser)).encode()) for name in names]
        sizes.append(len(message(SHARED(shared_optimiser=optimiser)).encode()))
        assert sum(sizes) < 150_000


def test_every_width_is_trained_in_half_a_second():
    took = []
    for _ in range(3):
        start = time.process_time()  # of this process: its neighbours don't count
        for d_k in SHARED_D_K.values:
            SHARED.function(d_k, "Adam", "auto")
        took.append(time.process_time() - start)
    assert min(took) < 0.5, took


def test_the_page_s_presets_show_their_cases():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    page.switch_page("pages/training.py").run()
    page.button(key="preset shared SGD, small steps").click().run()
    assert not page.exception
    assert page.session_state["shared_lr"] == 0.1
    assert any("**without** a divisor is the faster" in text.value for text in page.markdown)
    page.button(key="preset shared SGD, large steps").click().run()
    assert any("narrower range of rates" in text.value for text in page.markdown)
    page.button(key="preset shared Shared projections, dₖ = 256").click().run()
    assert any("times as many steps" in text.value for text in page.markdown)
