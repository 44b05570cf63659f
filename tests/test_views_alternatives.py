import math
import re

import numpy as np
import pytest
from scipy import special, stats

from sdpa.alternatives import RULES, compare_rules, logit_std
from sdpa.parameters import D_K, GROWTH, LENGTH, N_KEYS, RULE
from sdpa.views import VIEWS
from sdpa.views.alternatives import LEAD, ROOT, WHO_USES_WHAT, shade
from sdpa.views.words import number, weight

WIDTHS = np.array(D_K.values, dtype=float)
SLIDERS = {
    "alternatives.rules": D_K,
    "alternatives.width": D_K,
    "alternatives.length": LENGTH,
    "alternatives.drift": GROWTH,
}


def traces(view, **looks):
    return [t for t in view.drawing.data if all(t.get(key) == v for key, v in looks.items())]


def test_the_rules_to_choose_from_are_those_of_the_core():
    assert RULE.values == tuple(RULES)


def normal_scores(n):
    """Blom's order statistics by scipy."""
    return stats.norm.ppf((n - np.arange(1, n + 1) + 0.625) / (n + 0.25))


@pytest.mark.parametrize("rule", RULE.values)
@pytest.mark.parametrize(("d_k", "keys"), [(4, 3), (64, 8), (1024, 64)])
def test_the_bars_are_softmax_of_a_typical_row_under_the_rule(rule, d_k, keys):
    view = VIEWS["alternatives.rules"](rule=rule, d_k=d_k, keys=keys)
    z, root = normal_scores(keys), math.sqrt(d_k)
    s, c = root * z, z / np.sqrt(z**2 + d_k - 1)
    logits = {
        "divide by 1": s,
        "divide by √dₖ": z,
        "divide by dₖ": s / d_k,
        "divide by a learned T": s / 8,
        "softcap": 50 * np.tanh(z / 50),
        "softcap without √dₖ": 50 * np.tanh(s / 50),
        "QK-norm": np.log2(keys**2 - keys) * c,
        "RMS QK-norm": root * c,
        "cosine": 10 * c,
        "log n": np.log(keys) * z,
    }[rule]
    usual, chosen = traces(view, type="bar")
    np.testing.assert_allclose(usual["y"], special.softmax(z), rtol=1e-7)
    np.testing.assert_allclose(chosen["y"], special.softmax(logits), rtol=1e-6)
    assert (usual["marker"]["color"], chosen["marker"]["color"]) == ("$scaled", shade(rule))
    kept = math.exp(stats.entropy(special.softmax(logits)))
    assert view.numbers["keys in play"] == pytest.approx(kept, rel=1e-6)
    assert view.numbers["top weight"] == pytest.approx(special.softmax(logits)[0], rel=1e-7)
    assert weight(view.numbers["top weight"]) in view.caption
    assert number(kept) in view.caption
    assert view.numbers["top weight by √d_k"] == pytest.approx(special.softmax(z)[0], rel=1e-7)


def test_the_prediction_s_answer_is_that_a_cap_leaves_one_key():
    # 50·tanh(16·1.434/50) − 50·tanh(16·0.852/50) = 8.3: weight 1/(1 + e^−8.3 + …)
    top = VIEWS["alternatives.rules"](rule="softcap without √dₖ", d_k=256, keys=8)
    assert top.numbers["top weight"] == pytest.approx(0.9997, abs=1e-4)


@pytest.mark.parametrize("name", SLIDERS)
@pytest.mark.parametrize("rule", RULE.values)
def test_the_dots_stand_on_their_curves_where_the_slider_is(name, rule):
    row = SLIDERS[name]
    for value in (row.values[0], row.values[len(row.values) // 2], row.values[-1]):
        view = VIEWS[name](rule=rule, **{row.key: value})
        dots = traces(view, mode="markers")
        assert dots
        for dot in dots:
            assert dot["x"] == [value]
            (curve, *_) = [
                t
                for t in traces(view, mode="lines", name=dot["name"])
                if t.get("yaxis", "y") == dot.get("yaxis", "y")
                and t["line"]["color"] == dot["marker"]["color"]
            ]
            assert dot["y"] == [curve["y"][row.values.index(value)]]
            assert {dot["marker"]["color"]} <= {"$scaled", shade(rule)}


@pytest.mark.parametrize("name", SLIDERS)
def test_every_rule_draws_as_many_curves_on_the_same_axes(name):
    drawn = [VIEWS[name](rule=rule) for rule in RULE.values]
    assert len({len(view.drawing.data) for view in drawn}) == 1
    for axis in ("xaxis", "yaxis", "xaxis2", "yaxis2"):
        assert len({str(view.drawing.layout[axis]["range"]) for view in drawn}) == 1
    row = SLIDERS[name]
    captions = {VIEWS[name](**{row.key: value}).caption for value in row.values}
    assert len(captions) == len(row.values)


@pytest.mark.parametrize("name", [name for name in SLIDERS if name != "alternatives.rules"])
def test_all_rules_are_in_the_picture_and_in_the_table(name):
    view = VIEWS[name](rule="cosine")
    for axis in ("y", "y2", "y3"):
        assert {t["name"] for t in traces(view, mode="lines", yaxis=axis)} == set(RULES)
    for rule in RULES:
        assert sum(column.endswith(f", {rule}") for column in view.table.columns) >= 3


@pytest.mark.parametrize("keys", N_KEYS.values)
def test_the_width_drops_out_of_the_usual_rule_and_of_no_plain_cosine(keys):
    table = VIEWS["alternatives.width"](keys=keys).table
    for rule in ("divide by √dₖ", "RMS QK-norm", "log n", "softcap"):
        std = table[f"std of the logits, {rule}"]
        assert std.max() / std.min() == pytest.approx(1, rel=2e-3)
    for rule in ("cosine", "QK-norm", "divide by dₖ"):
        std = table[f"std of the logits, {rule}"].to_numpy()
        np.testing.assert_allclose(std * np.sqrt(WIDTHS), std[0] * 2, rtol=1e-9)
        share = table[f"entropy / ln n, {rule}"].to_numpy()
        # From 8 on: at 4 many of 64 cosines are near 1, and share the weight.
        assert (np.diff(share[1:]) > 0).all()
        assert share[-1] > share[0]
    assert (np.diff(table["largest weight, divide by 1"]) > 0).all()


def test_the_width_s_numbers_are_the_core_s_on_the_same_rows():
    view = VIEWS["alternatives.width"](rule="cosine", d_k=256, keys=16)
    found = compare_rules(256, 16, n_rows=2**14 // 16, seed=0)
    for of, rule in (("", "cosine"), (" by √d_k", ROOT)):
        assert view.numbers[f"std{of}"] == found[rule].std == logit_std(rule, 256, 16)
        assert view.numbers[f"entropy share{of}"] == found[rule].entropy
        assert view.numbers[f"largest weight{of}"] == found[rule].largest
    assert number(found["cosine"].largest) in view.caption


@pytest.mark.parametrize("n", LENGTH.values)
def test_ln_n_keeps_the_leading_key_that_the_usual_rule_loses(n):
    numbers = VIEWS["alternatives.length"](rule="log n", n=n).numbers
    e = math.exp(LEAD)
    assert numbers["leading weight by √d_k"] == pytest.approx(e / (e + n - 1), rel=1e-12)
    assert numbers["leading weight"] == pytest.approx(n**3 / (n**3 + n - 1), rel=1e-12)
    assert numbers["std"] == pytest.approx(math.log(n), rel=1e-12)


def test_for_many_keys_the_usual_rule_has_the_entropy_of_the_closed_form():
    view = VIEWS["alternatives.length"](rule=ROOT, n=1024)
    # H = 6.433 nats at n = 1024 against ln n − ½ = 6.431
    expected = (math.log(1024) - 0.5) / math.log(1024)
    assert view.numbers["entropy share"] == pytest.approx(expected, rel=0.01)
    assert number(expected) in view.notice


@pytest.mark.parametrize("growth", GROWTH.values)
def test_growth_shows_under_scores_and_not_under_cosines(growth):
    for rule in ("QK-norm", "RMS QK-norm", "cosine"):
        now, start = (VIEWS["alternatives.drift"](rule=rule, growth=g) for g in (growth, 1))
        assert now.numbers["largest weight"] == start.numbers["largest weight"]
        assert "does not see" in now.notice
    usual = VIEWS["alternatives.drift"](rule=ROOT, growth=growth).numbers
    assert usual["std"] == pytest.approx(growth, rel=1e-12)


def test_the_notice_follows_the_rule():
    for name in SLIDERS:
        assert len({VIEWS[name](rule=rule).notice for rule in RULE.values}) == len(RULE.values)
    assert "drops out" in VIEWS["alternatives.width"](rule=ROOT).notice
    assert "drops out" not in VIEWS["alternatives.width"](rule="cosine").notice
    capped = VIEWS["alternatives.drift"](rule="softcap without √dₖ").notice
    assert "ties" in capped
    assert "fades" in VIEWS["alternatives.length"](rule=ROOT, n=64).notice


def test_every_row_of_who_uses_what_has_a_source():
    rows = WHO_USES_WHAT.strip().splitlines()[2:]
    assert len(rows) >= 12
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 4, row
        assert re.search(r"\[[^]]+\]\(https://[^)]+\)", row), row
        assert row.count("$") % 2 == 0, row


def test_the_formula_does_not_round_the_leading_weight_up_to_1():
    # 1 − w = 1023/(1024³ + 1023) = 9.5·10⁻⁷
    formula = VIEWS["alternatives.length"](rule="log n", n=1024).formula
    assert formula.endswith(r"w = 1 - 9.5 \cdot 10^{-7}")
