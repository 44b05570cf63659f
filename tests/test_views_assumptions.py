import math
import re

import numpy as np
import pytest
from scipy import special, stats

from sdpa import heads as encoder
from sdpa.parameters import AMOUNT, D_K, HEAD, LAYER, PREMISE, SENTENCE
from sdpa.statistics import sample_scores
from sdpa.views import VIEWS
from sdpa.views.assumptions import DIALS
from sdpa.views.message import message

LAW, HEADS = VIEWS["assumptions.law"], VIEWS["assumptions.heads"]
SPREAD, LADDER = VIEWS["assumptions.spread"], VIEWS["assumptions.ladder"]
ALL = [LAW, HEADS, SPREAD, LADDER]
FIVE = 5.0  # standard errors: a fixed seed, so a failure means a wrong law, not bad luck
NORMS = ("unit norm", "layer norm", "rms norm")


def traces(view, **looks):
    return [t for t in view.drawing.data if all(t.get(key) == x for key, x in looks.items())]


def axes(layout):
    return {
        key: (part["range"], part["type"])
        for key, part in layout.items()
        if key.startswith(("xaxis", "yaxis"))
    }


# --- all four ---


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
def test_axes_stand_still_and_traces_stay_the_same_over_every_sweep(spec):
    for premise in PREMISE.values if spec is LAW else [None]:
        view = spec(premise=premise) if premise else spec()
        assert list(view.sweeps) == [row.key for row in spec.parameters if row.kind == "slider"]
        for key, sweep in view.sweeps.items():
            for value in sweep.values:
                other = spec(**{**view.state, key: value})
                assert len(other.drawing.data) == len(view.drawing.data)
                assert axes(other.drawing.layout) == axes(view.drawing.layout)


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
def test_every_sentence_of_a_sweep_is_its_own(spec):
    for sweep in spec().sweeps.values():
        captions = [frame.caption for frame in sweep.frames]
        assert len(set(captions)) == len(captions)


def test_the_page_s_four_figures_together_are_light():
    for premise in PREMISE.values:
        sizes = [len(message(spec()).encode()) for spec in (HEADS, SPREAD, LADDER)]
        assert len(message(LAW(premise=premise)).encode()) + sum(sizes) < 150_000


# --- the dials ---


@pytest.mark.parametrize(
    ("premise", "amount", "mean", "variance"),
    [
        # The laws' table of this lesson at d_k = 64.
        ("mean", 5, 16, 96),
        ("spread", 5, 0, 1024),
        ("correlation in both", 1, 0, 74.08),
        ("correlation in both", 2, 0, 104.32),
        ("correlation in both", 5, 0, 426.88),
        ("correlation in one", 5, 0, 64),
        ("alignment", 5, 19.2, 69.76),
        ("shape and tails", 3, 0, 64),
        ("unit norm", 3, 0, 1 / 64),
        ("layer norm", 3, 0, 64 * 64 / 63),
        ("rms norm", 3, 0, 64),
    ],
)
def test_the_laws_at_width_64(premise, amount, mean, variance):
    view = LAW(premise=premise, amount=amount, d_k=64)
    assert view.numbers["law"] ** 2 == pytest.approx(variance)
    assert view.numbers["law's mean"] == pytest.approx(mean)
    assert view.numbers["premises kept"] == 8


@pytest.mark.parametrize("d_k", [4, 64, 1024])
@pytest.mark.parametrize("amount", AMOUNT.values)
@pytest.mark.parametrize("premise", PREMISE.values)
def test_what_is_sampled_keeps_to_the_law(premise, amount, d_k):
    numbers = LAW(premise=premise, amount=amount, d_k=d_k).numbers
    if math.isinf(numbers["law"]):
        assert (premise, amount) == ("shape and tails", 5)
        return
    n = min(2000, 2**19 // d_k)
    raw = sample_scores(
        d_k, n, seed=0, method="product", **DIALS[premise].premises(DIALS[premise].steps[amount])
    )
    assert numbers["sampled"] == raw.std()
    assert numbers["sampled mean"] == raw.mean()
    law = numbers["law"]
    assert abs(raw.mean() - numbers["law's mean"]) <= FIVE * law / math.sqrt(n)
    fourth = ((raw - raw.mean()) ** 4).mean()
    error = math.sqrt((fourth - raw.var() ** 2) / n)
    assert abs(raw.var() - law**2) <= FIVE * error


@pytest.mark.parametrize("premise", [name for name in PREMISE.values if name not in NORMS])
@pytest.mark.parametrize("d_k", [4, 64, 1024])
def test_step_0_keeps_the_premise(premise, d_k):
    view = LAW(premise=premise, amount=0, d_k=d_k)
    assert view.numbers["law"] == pytest.approx(math.sqrt(d_k))
    assert view.numbers["law's mean"] == 0
    assert "the premise holds" in view.notice


def test_every_dial_has_a_value_for_every_step_and_every_premise_a_dial():
    assert tuple(DIALS) == PREMISE.values
    for dial in DIALS.values():
        assert len(set(dial.steps)) == len(dial.steps) == len(AMOUNT.values)


def by_python(latex):
    """Evaluate the numbers of a formula."""
    text = re.sub(r"\\frac\{(.*?)\}\{(.*?)\}$", r"(\1)/(\2)", latex)
    text = text.replace(r"\,", "*").replace(r"\cdot", "*").replace("^", "**")
    return eval(text, {"__builtins__": {}})


@pytest.mark.parametrize("premise", PREMISE.values)
@pytest.mark.parametrize("amount", [0, 2, 4])
def test_the_formula_s_numbers_give_the_law(premise, amount):
    dial = DIALS[premise]
    view = LAW(premise=premise, amount=amount, d_k=16)
    formula = dial.law("16", dial.steps[amount])
    assert formula in view.formula
    assert by_python(formula) == pytest.approx(view.numbers["law"] ** 2)


@pytest.mark.parametrize("premise", PREMISE.values)
def test_the_histogram_counts_the_share_of_scores_on_its_axis(premise):
    view = LAW(premise=premise, amount=2, d_k=64)
    (bars,) = traces(view, type="bar")
    dial = DIALS[premise]
    raw = sample_scores(
        64, 2000, seed=0, method="product", **dial.premises(dial.steps[2])
    )  # the same draw
    low, high = view.drawing.layout["xaxis"]["range"]
    inside = np.mean((raw / 8 >= low) & (raw / 8 <= high))
    assert bars["y"].sum() * bars["width"] == pytest.approx(inside)
    assert inside > 0.99


@pytest.mark.parametrize("premise", ["mean", "spread", "alignment"])
def test_the_curves_are_normal_densities_of_the_law_and_of_the_premises(premise):
    view = LAW(premise=premise, amount=4, d_k=64)
    law, kept = traces(view, mode="lines")[:2]
    mean, std = view.numbers["law's mean"] / 8, view.numbers["law"] / 8
    np.testing.assert_allclose(law["y"], stats.norm.pdf(law["x"], mean, std), rtol=1e-9)
    np.testing.assert_allclose(kept["y"], stats.norm.pdf(kept["x"]), rtol=1e-9)


def test_the_table_has_the_law_of_every_width():
    view = LAW(premise="correlation in both", amount=5, d_k=64)
    table = view.table
    # The chosen width has the histogram's own scores, as the caption says.
    here = D_K.values.index(64)
    assert table["sampled standard deviation"][here] == view.numbers["sampled"]
    widths = np.array(D_K.values, dtype=float)
    np.testing.assert_allclose(table["law"] ** 2, widths * (1 + (widths - 1) * 0.09))
    np.testing.assert_allclose(table["√d_k"] ** 2, widths)
    # 200 scores a dot; far tails at ρ = 0.3, hence the wide berth
    np.testing.assert_allclose(table["sampled standard deviation"], table["law"], rtol=0.35)


def test_cauchy_components_have_no_law_and_the_figure_says_so():
    view = LAW(premise="shape and tails", amount=5)
    assert view.numbers["law"] == math.inf
    assert "no standard deviation" in view.caption
    assert "no variance" in view.notice
    curve, line = traces(view, name="law")
    assert (curve["y"] == 0).all()
    top = 10 ** view.drawing.layout["yaxis2"]["range"][1]
    assert (line["y"] > 1000 * top).all()


def test_the_prediction_s_answer_is_the_root_of_427_and_is_drawn():
    view = LAW(premise="correlation in both", amount=5, d_k=64)
    assert view.numbers["law"] == pytest.approx(math.sqrt(64 * (1 + 63 * 0.3**2)))
    marked = view.marked("you said 24", y=24, axes="2")
    (line,) = marked.marks["shapes"]
    assert (line["yref"], line["y0"]) == ("y2", 24)
    low, high = (10**end for end in view.drawing.layout["yaxis2"]["range"])
    assert low < 8 < 64 < high
    assert "0.3" in view.caption


# --- the trained heads ---


@pytest.mark.parametrize("sentence", SENTENCE.values)
@pytest.mark.parametrize("at", [(3, 1), (0, 2), (5, 11)])
def test_the_patterns_are_softmax_of_q_and_k_with_and_without_the_divisor(at, sentence):
    view = HEADS(layer=at[0], head=at[1], sentence=sentence)
    one = encoder.head(*at, sentence)
    left, right = traces(view, type="heatmap")
    raw = one.q @ one.k.T
    np.testing.assert_allclose(left["z"], special.softmax(raw / math.sqrt(32), axis=1), rtol=1e-9)
    np.testing.assert_allclose(right["z"], special.softmax(raw, axis=1), rtol=1e-9)
    assert (left["zmin"], left["zmax"]) == (right["zmin"], right["zmax"]) == (0, 1)
    for axis in ("xaxis", "yaxis", "xaxis2"):
        assert view.drawing.layout[axis]["ticktext"] == list(one.tokens)
    row = one.row("it")
    for box in view.drawing.layout["shapes"]:
        assert box["y0"] < row < box["y1"]
    assert encoder.sentence_text(sentence) in view.caption
    assert view.numbers["it to noun"] == left["z"][row, one.row(sentence)]


def test_it_and_the_animal_is_said_with_its_selection_and_as_an_ablation():
    view = HEADS()
    assert view.numbers["it to noun"] == pytest.approx(0.677, abs=5e-4)
    assert "0.677" in view.caption
    assert round(view.numbers["it to noun, not divided"], 3) == 1
    assert "selected" in view.notice
    assert "ablation" in view.notice
    assert "selected" not in HEADS(layer=0, head=0).notice
    assert "the one before it" in HEADS(layer=0, head=2).notice


def test_all_72_spreads_are_drawn_and_the_chosen_head_is_one_of_them():
    for layer, head in [(0, 0), (3, 1), (5, 11)]:
        view = SPREAD(layer=layer, head=head)
        (dots,) = traces(view, name="heads")
        (chosen,) = traces(view, name=f"layer {layer}, head {head}")
        at = dots["text"].index(f"layer {layer}, head {head}")
        assert len(set(dots["text"])) == len(dots["y"]) == 72
        assert (dots["x"][at], dots["y"][at]) == (chosen["x"][0], chosen["y"][0])
        expected = math.sqrt(encoder.measured(layer, head).row_variance)
        assert view.numbers["spread"] == chosen["y"][0] == pytest.approx(expected)
        assert round(dots["x"][at]) == layer
        low, high = (10**end for end in view.drawing.layout["yaxis"]["range"])
        assert low < dots["y"].min()
        assert dots["y"].max() < high


def test_the_median_head_spreads_by_7_7_where_footnote_4_says_5_66():
    numbers = SPREAD().numbers
    assert numbers["√32"] == pytest.approx(5.657, abs=5e-4)
    assert numbers["median"] == pytest.approx(7.62, rel=0.03)  # of eight other sentences
    assert numbers["share within a factor of two"] == pytest.approx(0.83, abs=0.03)


def test_the_ladder_goes_from_the_root_to_what_the_spread_figure_shows():
    for layer in LAYER.values:
        for head in HEAD.values[::4]:
            view = LADDER(layer=layer, head=head)
            middle, mine = traces(view, type="scatter")
            np.testing.assert_allclose(mine["x"] ** 2, encoder.ladder(layer, head))
            assert mine["x"][0] == middle["x"][0] == math.sqrt(32)
            assert mine["x"][-1] == pytest.approx(SPREAD(layer=layer, head=head).numbers["spread"])
            assert middle["x"][-1] == pytest.approx(
                math.sqrt(np.median(encoder.measured_everywhere().row_variance))
            )
            low, high = (10**end for end in view.drawing.layout["xaxis"]["range"])
            assert low < min(mine["x"].min(), middle["x"].min())
            assert mine["x"].max() < high


def test_the_median_ladder_cancels_two_errors():
    numbers = LADDER().numbers
    lowest = numbers["component by component, median"]
    assert lowest < numbers["independent, variance 1, median"] < numbers["measured, median"]
    assert numbers["with correlations, median"] > numbers["with the means of q, median"] > lowest
    assert "cancellation" in LADDER().notice
