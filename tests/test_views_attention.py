import ast
import contextlib
import io
import itertools
import math
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sdpa.parameters import D_K, D_MODEL, HEADS, MASK, ROW, SEED, SOFTCAP
from sdpa.vectors import token_vectors
from sdpa.views import VIEWS
from sdpa.views.attention import TOKENS, as_numpy, as_torch
from sdpa.views.message import message

MAPS, STEPS = VIEWS["attention.maps"], VIEWS["attention.steps"]
DIVISORS = VIEWS["attention.divisors"]
CODE = list(itertools.product((4, 64), MASK.values, SOFTCAP.values, (0, 3)))


def by_hand(d_k=64, mask="none", softcap="none", seed=0, divisor=None):
    """Weights and output in plain Python, one number after another."""
    q, k, v = (
        token_vectors(TOKENS, width, seed=seed, stream=stream).tolist()
        for stream, width in enumerate((d_k, d_k, 2))
    )
    divisor = math.sqrt(d_k) if divisor is None else divisor
    weights, output = [], []
    for i in range(6):
        exponentials = []
        for j in range(6):
            score = math.fsum(a * b for a, b in zip(q[i], k[j], strict=True)) / divisor
            if softcap != "none":
                score = float(softcap) * math.tanh(score / float(softcap))
            hidden = {
                "none": False,
                "causal": j > i,
                "hide last key": j == 5,
                "hide all from query 3": i == 2,
            }[mask]
            exponentials.append(0.0 if hidden else math.exp(score))
        total = math.fsum(exponentials) or 1.0
        weights.append([e / total for e in exponentials])
        output.append([math.fsum(weights[i][j] * v[j][c] for j in range(6)) for c in range(2)])
    return np.array(weights), np.array(output)


def maps_of(view):
    return view.drawing.data[1]["z"], view.drawing.data[2]["z"]


# --- the maps ---


@pytest.mark.parametrize("mask", MASK.values)
@pytest.mark.parametrize("softcap", ["none", "5"])
def test_both_maps_hold_the_weights_that_plain_python_gives(mask, softcap):
    for d_k in (4, 64):
        sharp, soft = maps_of(MAPS(d_k=d_k, mask=mask, softcap=softcap, seed=2))
        options = {"d_k": d_k, "mask": mask, "softcap": softcap, "seed": 2}
        assert_allclose(soft, by_hand(**options)[0], rtol=1e-9, atol=1e-15)
        assert_allclose(sharp, by_hand(**options, divisor=1.0)[0], rtol=1e-9, atol=1e-15)


def test_the_scores_are_those_of_einsum():
    q, k = (token_vectors(TOKENS, 64, seed=0, stream=stream) for stream in (0, 1))
    scores = MAPS().drawing.data[0]
    assert_allclose(scores["z"], np.einsum("id,jd->ij", q, k), rtol=1e-12)
    assert scores["zmin"] == -scores["zmax"]
    shown = [[float(cell.replace("−", "-")) for cell in line] for line in scores["text"]]
    assert_allclose(shown, scores["z"], rtol=0.05, atol=0.051)


def test_rows_sum_to_1_or_to_0_where_nothing_is_seen():
    for mask, seed in itertools.product(MASK.values, SEED.values):
        for weights in maps_of(MAPS(mask=mask, seed=seed)):
            expected = np.ones(6)
            if mask == "hide all from query 3":
                expected[2] = 0
            assert_allclose(weights.sum(axis=1), expected, rtol=1e-12)


def test_hidden_cells_weigh_nothing_and_are_marked():
    hidden = {
        "none": np.zeros((6, 6), dtype=bool),
        "causal": ~np.tri(6, dtype=bool),
        "hide last key": np.arange(6)[None, :].repeat(6, axis=0) == 5,
        "hide all from query 3": np.arange(6)[:, None].repeat(6, axis=1) == 2,
    }
    for mask in MASK.values:
        for trace in MAPS(mask=mask).drawing.data[1:3]:
            marked = np.array([[cell == "×" for cell in line] for line in trace["text"]])
            assert_array_equal(marked, hidden[mask])
            assert (trace["z"][marked] == 0).all()


def test_equal_words_have_equal_rows_unless_the_mask_tells_them_apart():
    for weights in maps_of(MAPS()):
        assert_allclose(weights[0], weights[4], rtol=1e-12)  # BLAS may add each in its own order
        assert_allclose(weights[:, 0], weights[:, 4], rtol=1e-12)
    _, soft = maps_of(MAPS(mask="causal"))
    assert (soft[0] != soft[4]).any()


def test_the_bars_are_the_outlined_row_of_both_maps():
    for row in ROW.values:
        view = MAPS(row=row)
        sharp, soft = maps_of(view)
        assert_array_equal(view.drawing.data[3]["y"], sharp[row - 1])
        assert_array_equal(view.drawing.data[4]["y"], soft[row - 1])
        assert {(box["y0"] + box["y1"]) / 2 for box in view.drawing.layout["shapes"]} == {row - 1}
        assert f"Query {row}, “{TOKENS[row - 1]}”" in view.caption


def test_dividing_flattens_every_row_and_keeps_its_order():
    for seed in SEED.values:
        sharp, soft = maps_of(MAPS(seed=seed))
        assert (soft.max(axis=1) < sharp.max(axis=1)).all()
        top = soft.max(axis=1, keepdims=True)
        assert_allclose(np.take_along_axis(soft, sharp.argmax(axis=1)[:, None], 1), top)  # or a tie


def test_the_question_speaks_of_a_weight_of_nearly_1():
    numbers = MAPS(row=2, d_k=64, mask="none").numbers
    assert numbers["top weight not divided"] > 0.99
    assert numbers["top weight divided"] == pytest.approx(by_hand()[0][1].max())


def test_a_row_that_sees_nothing_is_told_so():
    view = MAPS(mask="hide all from query 3", row=3)
    assert "sees no key" in view.caption
    assert "nan" in view.notice
    assert view.numbers["top weight divided"] == 0
    steps = STEPS(mask="hide all from query 3", row=3)
    assert "zero vector" in steps.caption
    assert steps.numbers["output 1 divided"] == steps.numbers["output 2 divided"] == 0


# --- one row ---


@pytest.mark.parametrize("softcap", SOFTCAP.values)
def test_the_table_takes_a_row_through_every_step(softcap):
    view = STEPS(row=4, mask="causal", softcap=softcap, d_k=16)
    table = view.table
    assert_allclose(table["s/√d_k"] * 4, table["score q·k"], rtol=1e-12)
    cap = math.inf if softcap == "none" else float(softcap)
    expected = [s if cap == math.inf else cap * math.tanh(s / cap) for s in table["s/√d_k"]]
    assert_allclose(table["after softcap"], expected, rtol=1e-12)
    assert (table["after softcap"].abs() <= cap).all()
    assert_array_equal(np.isneginf(table["after mask"]), [False] * 4 + [True] * 2)
    exponentials = [math.exp(x) for x in table["after mask"]]
    assert_allclose(table["weight, divided"], np.array(exponentials) / sum(exponentials))


def test_the_output_is_the_weighted_mean_of_the_values():
    for row, mask in itertools.product(ROW.values, MASK.values):
        view = STEPS(row=row, mask=mask, seed=1)
        for kind, divisor in (("divided", None), ("not divided", 1.0)):
            _, output = by_hand(mask=mask, seed=1, divisor=divisor)
            got = [view.numbers[f"output {c} {kind}"] for c in (1, 2)]
            assert_allclose(got, output[row - 1], rtol=1e-9, atol=1e-12)
            dot = next(t for t in view.drawing.data if t.get("name") == f"output, {kind}")
            assert_allclose([*dot["x"], *dot["y"]], got)


def test_the_plane_holds_every_value_of_every_seed():
    low, high = STEPS().drawing.layout["xaxis2"]["range"]
    assert (low, high) == tuple(STEPS().drawing.layout["yaxis2"]["range"])
    for seed in SEED.values:
        values = token_vectors(TOKENS, 2, seed=seed, stream=2)
        assert low < values.min() < values.max() < high


def test_gemma_s_cap_of_50_hardly_touches_scores_that_are_divided():
    assert "hardly anything" in STEPS(softcap="50").notice
    assert "bent to" in STEPS(softcap="2", row=1).notice


# --- which d ---


def test_the_paper_s_base_model_divides_by_8_not_by_22_6():
    # Vaswani et al. 2017: d_model = 512, h = 8, d_k = 64; √512 = 22.627, √8 = 2.828
    view = DIVISORS(d_model=512, heads=8)
    assert view.numbers["d_k"] == 64
    assert view.numbers["root"] == 8
    assert view.numbers["wrong root"] == pytest.approx(22.627417, rel=1e-7)
    assert view.numbers["times too flat"] == pytest.approx(2.8284271, rel=1e-7)
    assert "2.83 times too flat" in view.notice
    assert "0.354" in view.notice  # 1/√8


def test_only_the_head_s_width_leaves_the_same_weights_and_spread_at_any_number_of_heads():
    for d_model in D_MODEL.values:
        views = [DIVISORS(d_model=d_model, heads=heads) for heads in HEADS.values]
        right = [view.numbers["top weight by √d_k"] for view in views]
        wrong = [view.numbers["top weight by √d_model"] for view in views]
        assert_allclose(right, right[0], rtol=1e-12)
        assert all(a > b for a, b in itertools.pairwise(wrong))
        table = views[-1].table
        assert_allclose(table["std divided by √d_k"], 1)
        assert_allclose(table["std divided by √d_model"] ** 2 * table["heads"], 1)
        assert_allclose(table["std divided by 1"] ** 2, table["d_k"])


def test_with_one_head_both_divisors_are_one():
    view = DIVISORS(heads=1)
    assert view.numbers["top weight by √d_k"] == view.numbers["top weight by √d_model"]
    assert view.numbers["times too flat"] == 1
    assert "single head" in view.notice


def test_the_bars_are_softmax_of_the_same_scores_by_three_divisors():
    for trace in DIVISORS(heads=8).drawing.data[:3]:
        assert sum(trace["y"]) == pytest.approx(1)
    one, root, wrong = (trace["y"] for trace in DIVISORS(heads=8).drawing.data[:3])
    # log-weights differ by score gaps over the divisor: 1, 8 and √512
    gap = math.log(one[0] / one[1])
    assert math.log(root[0] / root[1]) == pytest.approx(gap / 8)
    assert math.log(wrong[0] / wrong[1]) == pytest.approx(gap / math.sqrt(512))


def test_every_number_of_heads_divides_every_width():
    assert all(width % heads == 0 for width in D_MODEL.values for heads in HEADS.values)


# --- code to take away ---


@pytest.mark.parametrize(("d_k", "mask", "softcap", "seed"), CODE)
def test_the_numpy_code_runs_by_itself_and_gives_the_figure_s_weights(d_k, mask, softcap, seed):
    space = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed, np.errstate(all="raise"):
        exec(as_numpy(d_k=d_k, mask=mask, softcap=softcap, seed=seed, row=1), space)
    view = MAPS(d_k=d_k, mask=mask, softcap=softcap, seed=seed)
    assert_allclose(space["weights"], maps_of(view)[1], rtol=1e-10, atol=1e-300)
    steps = STEPS(d_k=d_k, mask=mask, softcap=softcap, seed=seed, row=4)
    assert_allclose(space["output"][3], [steps.numbers[f"output {c} divided"] for c in (1, 2)])
    assert printed.getvalue()


@pytest.mark.parametrize(("d_k", "mask", "softcap", "seed"), CODE)
def test_the_pytorch_code_calls_with_the_arguments_of_this_state(d_k, mask, softcap, seed):
    code = as_torch(d_k=d_k, mask=mask, softcap=softcap, seed=seed)
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    named = [c for c in calls if getattr(c.func, "attr", "") == "scaled_dot_product_attention"]
    stored = {
        name.id
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Assign)
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    if softcap != "none":  # the function has none, so the steps are written out
        assert named == []
        assert f"{softcap} * torch.tanh(logits / {softcap})" in code
        assert ("masked_fill(~allowed" in code) == (mask != "none") == ("allowed" in stored)
        return
    expected = {
        "none": {},
        "causal": {"is_causal": True},
        "hide last key": {"attn_mask": "allowed"},
        "hide all from query 3": {"attn_mask": "allowed"},
    }[mask]
    assert len(named) == 2
    for call, scale in zip(named, ({}, {"scale": 1.0}), strict=True):
        assert [arg.id for arg in call.args] == ["q", "k", "v"]
        given = {
            k.arg: k.value.value if isinstance(k.value, ast.Constant) else k.value.id
            for k in call.keywords
        }
        assert given == {**expected, **scale}
    assert ("allowed" in stored) == ("attn_mask" in expected)  # True = may attend, in both


@pytest.mark.parametrize("mask", MASK.values)
@pytest.mark.parametrize("softcap", SOFTCAP.values)
def test_the_code_has_short_lines(mask, softcap):
    state = {"d_k": 1024, "mask": mask, "softcap": softcap, "seed": 9}
    for code in (as_numpy(**state), as_torch(**state)):
        assert max(map(len, code.splitlines())) <= 100


# --- all of them ---


def test_captions_stay_plain_in_every_state_of_the_softcap_and_mask():
    for row, d_k, mask, softcap in itertools.product(
        ROW.values, (4, 64, 1024), MASK.values, SOFTCAP.values
    ):
        for spec in (MAPS, STEPS):
            view = spec(row=row, d_k=d_k, mask=mask, softcap=softcap)
            assert view.caption.endswith(".")
            assert len(view.caption) <= 400
            assert not re.search(r"-\d|[$<>_]|nan|inf|  ", view.caption), view.caption
            assert view.formula.isascii()


def test_the_spread_of_all_scores_grows_with_the_width():
    spreads = [np.sqrt((MAPS(d_k=d_k).drawing.data[0]["z"] ** 2).mean()) for d_k in D_K.values]
    assert spreads[-1] / spreads[0] == pytest.approx(16, rel=0.5)  # √(1024/4), one draw of 25


def test_what_the_page_sends_fits_its_budget():
    sent = sum(len(message(spec()).encode()) for spec in (MAPS, STEPS, DIVISORS))
    assert sent < 150_000
