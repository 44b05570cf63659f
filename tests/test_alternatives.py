import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from sdpa import alternatives
from sdpa.alternatives import (
    CAP,
    COSINE_SCALE,
    LEARNED_TEMPERATURE,
    RULES,
    apply_rule,
    compare_rules,
    frozen_trace,
    leading_weight,
    liquid_entropy,
    liquid_participation,
    logit_std,
    participation,
    qk_norm_gain,
    rule_logits,
    sample_matches,
    typical_matches,
)
from sdpa.statistics import sample_rows

WIDTHS = (4, 16, 64, 256, 1024)
OF_SCORES = [rule for rule, given_rule in RULES.items() if given_rule.of == "score"]
OF_COSINES = [rule for rule, given_rule in RULES.items() if given_rule.of == "cosine"]


def by_hand(rule, q, k, n):
    """One logit in Python floats, from the two vectors: another route than any in the core."""
    d = len(q)
    s = math.fsum(a * b for a, b in zip(q, k, strict=True))
    length_q, length_k = math.hypot(*q), math.hypot(*k)
    rms_q = [a / (length_q / math.sqrt(d)) for a in q]
    rms_k = [b / (length_k / math.sqrt(d)) for b in k]
    return {
        "divide by 1": s,
        "divide by √dₖ": s / math.sqrt(d),
        "divide by dₖ": s / d,
        "divide by a learned T": s / 8,
        "softcap": 50 * math.tanh(s / (math.sqrt(d) * 50)),
        "softcap without √dₖ": 50 * math.tanh(s / 50),
        "QK-norm": math.log2(n**2 - n) * s / (length_q * length_k),
        # q and k to mean square 1, then the usual division
        "RMS QK-norm": math.fsum(a * b for a, b in zip(rms_q, rms_k, strict=True)) / math.sqrt(d),
        "cosine": 10 * s / (length_q * length_k),
        "log n": math.log(n) * s / math.sqrt(d),
    }[rule]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", [2, 5, 64])
def test_each_rule_is_its_formula_on_the_vectors_themselves(rule, d):
    rng = np.random.default_rng(d)
    q, k = 3 * rng.standard_normal((2, d)), rng.standard_normal((7, d))
    got = rule_logits(rule, q, k)
    expected = [[by_hand(rule, a, b, 7) for b in k] for a in q]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)
    assert got.shape == (2, 7)


def test_the_constants_are_those_of_their_sources():
    # Gemma 2: cap 50. Swin v2's code: the scale starts at 10. T = √64.
    assert (50, 10, math.sqrt(64)) == (CAP, COSINE_SCALE, LEARNED_TEMPERATURE)
    # Henry et al. 2020: g0 = log2(L² − L); about 16, 18, 20, 22 at 256, 512, 1024, 2048
    gains = [qk_norm_gain(length) for length in (256, 512, 1024, 2048)]
    np.testing.assert_allclose(gains, [16, 18, 20, 22], atol=0.01)


@pytest.mark.parametrize("rule", RULES)
@given(growth=st.floats(0.1, 100))
@settings(max_examples=20, deadline=None)
def test_only_rules_of_cosines_do_not_see_longer_vectors(rule, growth):
    rng = np.random.default_rng(1)
    q, k = rng.standard_normal((1, 16)), rng.standard_normal((5, 16))
    before, after = rule_logits(rule, q, k), rule_logits(rule, growth * q, k)
    if rule in OF_COSINES:
        np.testing.assert_allclose(after, before, rtol=1e-12)
    elif RULES[rule].cap is None:
        np.testing.assert_allclose(after, growth * before, rtol=1e-12)
    else:
        assert (np.abs(after) < CAP + 1e-12).all()
    x = q @ k.T if rule in OF_SCORES else before / RULES[rule].factor(16, 5)
    np.testing.assert_allclose(apply_rule(rule, x, 16, growth=growth), after, rtol=1e-9, atol=1e-12)


def test_a_score_less_the_logarithm_of_n_is_the_same_row_and_one_times_it_is_not():
    s = np.array([3.0, 1.0, -2.0, 0.5])
    n = len(s)
    np.testing.assert_allclose(special.softmax(s - 2 * math.log(n)), special.softmax(s), rtol=1e-14)
    weights = special.softmax(apply_rule("log n", 8 * s, 64))
    np.testing.assert_allclose(weights, special.softmax(s * math.log(4)), rtol=1e-14)
    assert weights.max() > special.softmax(s).max()


def test_a_cosine_without_a_scale_cannot_be_sharp():
    # 16 keys, the best case cos = 1 against 15 times −1: e/(e + 15/e) = 0.33
    cosines = np.array([1.0] + [-1.0] * 15)
    assert special.softmax(cosines)[0] == pytest.approx(math.e / (math.e + 15 / math.e), rel=1e-12)
    assert special.softmax(cosines)[0] == pytest.approx(0.33, abs=0.005)
    assert special.softmax(apply_rule("cosine", cosines, 64))[0] > 0.9999


# --- rows by their exact law ---


@pytest.mark.parametrize("d", [2, 3, 4, 64, 1024])
def test_sampled_cosines_have_the_law_of_random_directions(d):
    # cos² ~ Beta(1/2, (d − 1)/2), so (1 + cos)/2 ~ Beta((d − 1)/2, (d − 1)/2)
    cosines = sample_matches(d, 4, 5000, seed=3).cosines
    beta = stats.beta((d - 1) / 2, (d - 1) / 2)
    for column in cosines.T:
        assert stats.kstest((1 + column) / 2, beta.cdf).pvalue > 1e-3
    assert abs(cosines.mean()) < 5 / math.sqrt(d * cosines.size)
    # E cos⁴ = 3/(d(d + 2)): the standard error of the mean square
    error = math.sqrt((3 / (d * (d + 2)) - 1 / d**2) / cosines.size)
    assert abs((cosines**2).mean() - 1 / d) < 5 * error


def test_the_scores_are_those_that_the_rest_of_the_lesson_draws():
    drawn = sample_matches(64, 8, 50, seed=4)
    np.testing.assert_array_equal(drawn.scores, sample_rows(64, 8, 50, seed=4))
    assert drawn.for_rule("log n") is drawn.scores
    assert drawn.for_rule("cosine") is drawn.cosines


@pytest.mark.parametrize("d", [3, 16])
def test_score_and_cosine_belong_to_the_same_vectors(d):
    rng = np.random.default_rng(8)
    q, k = rng.standard_normal((40_000, d)), rng.standard_normal((40_000, d))
    s = np.vecdot(q, k)
    c = s / (np.linalg.norm(q, axis=1) * np.linalg.norm(k, axis=1))
    drawn = sample_matches(d, 1, 40_000, seed=9)
    mine, theirs = drawn.scores[:, 0], drawn.cosines[:, 0]
    assert (np.sign(mine) == np.sign(theirs)).all()
    # ‖q‖‖k‖ = s/c: its law, and how it goes with the cosine
    assert stats.ks_2samp(mine / theirs, s / c).pvalue > 1e-3
    assert stats.ks_2samp(mine * theirs, s * c).pvalue > 1e-3


def test_a_typical_row_is_the_middle_of_sampled_ones():
    for d, n in ((4, 8), (64, 8), (1024, 3)):
        typical, drawn = typical_matches(d, n), sample_matches(d, n, 20_000, seed=0)
        for mine, rows in ((typical.scores, drawn.scores), (typical.cosines, drawn.cosines)):
            means = -np.sort(-rows, axis=1).mean(axis=0)
            unit = rows.std()
            np.testing.assert_allclose(mine[0] / unit, means / unit, atol=0.2 if d == 4 else 0.06)


# --- statistics of rules ---


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
def test_the_spread_of_logits_is_that_of_sampled_logits(rule, d):
    drawn = sample_matches(d, 16, 5000, seed=d)
    logits = apply_rule(rule, drawn.for_rule(rule), d)
    # Rows share a query: the error of the mean square is taken over rows.
    squares = (logits**2).mean(axis=1)
    error = squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - logit_std(rule, d, 16) ** 2) < 5 * error


def variance_gamma(s, d):
    nu = (d - 1) / 2
    log = nu * np.log(s / 2) + np.log(special.kve(nu, s)) - s
    return np.exp(log - special.gammaln(d / 2)) / math.sqrt(math.pi)


@pytest.mark.parametrize("growth", [1.0, 8.0, 64.0])
@pytest.mark.parametrize("d", [4, 16, 64])  # scipy's Bessel function overflows beyond
def test_the_spread_under_a_cap_is_the_integral_over_the_law_of_a_score(d, growth):
    for rule, divisor in (("softcap", math.sqrt(d)), ("softcap without √dₖ", 1.0)):
        square = integrate.quad(
            lambda s, t=divisor: (
                2 * (50 * math.tanh(growth * s / t / 50)) ** 2 * variance_gamma(s, d)
            ),
            1e-9,
            14 * math.sqrt(d) + 30,
            limit=400,
        )[0]
        found = logit_std(rule, d, 16, growth=growth)
        assert found == pytest.approx(math.sqrt(square), rel=2e-4)
        assert found < CAP


def test_what_each_rule_still_depends_on_is_exact():
    for d, n in itertools.product(WIDTHS, (2, 16, 1024)):
        assert logit_std("divide by 1", d, n) == pytest.approx(math.sqrt(d), rel=1e-12)
        assert logit_std("divide by √dₖ", d, n) == pytest.approx(1, rel=1e-12)
        assert logit_std("divide by dₖ", d, n) == pytest.approx(d**-0.5, rel=1e-12)
        assert logit_std("divide by a learned T", d, n) == pytest.approx(d**0.5 / 8, rel=1e-12)
        assert logit_std("RMS QK-norm", d, n) == pytest.approx(1, rel=1e-12)
        assert logit_std("cosine", d, n) == pytest.approx(10 * d**-0.5, rel=1e-12)
        assert logit_std("log n", d, n) == pytest.approx(math.log(n), rel=1e-12)
        gain = math.log2(n * n - n)
        assert logit_std("QK-norm", d, n) == pytest.approx(gain * d**-0.5, rel=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "n"), [(4, 8), (64, 16), (256, 4)])
def test_entropy_and_largest_weight_are_those_of_attention_on_real_vectors(rule, d, n):
    rows = 1500
    rng = np.random.default_rng(77)
    q, k = rng.standard_normal((rows, 1, d)), rng.standard_normal((rows, n, d))
    p = special.softmax(rule_logits(rule, q, k)[:, 0], axis=-1)
    found = compare_rules(d, n, n_rows=rows, seed=5)[rule]
    for mine, theirs in (
        (found.entropy, stats.entropy(p, axis=1) / math.log(n)),
        (found.largest, p.max(axis=1)),
    ):
        assert abs(mine - theirs.mean()) < 5 * theirs.std() * math.sqrt(2 / rows)


# Table of softmax statistics, 20,000 rows, rounded: E p_max and H/ln n
@pytest.mark.parametrize(
    ("n", "d", "rule", "largest", "share"),
    [
        (2, 64, "divide by 1", 0.949, 0.170),
        (8, 64, "divide by √dₖ", 0.359, 0.829),
        (16, 256, "divide by 1", 0.923, 0.069),
        (16, 64, "divide by √dₖ", 0.245, 0.851),
        (64, 64, "divide by 1", 0.792, 0.139),
        (64, 256, "divide by √dₖ", 0.107, 0.886),
    ],
)
def test_the_known_table_of_largest_weights_and_entropies(n, d, rule, largest, share):
    found = compare_rules(d, n, n_rows=4000, seed=2)[rule]
    # Standard deviations over rows are below 0.25 without and 0.12 with the divisor.
    error = 5 * (0.25 if rule == "divide by 1" else 0.12) / math.sqrt(4000)
    assert found.largest == pytest.approx(largest, abs=error)
    assert found.entropy == pytest.approx(share, abs=error)


def test_a_cap_of_50_is_no_divisor():
    capped = compare_rules(256, 16, n_rows=2000, seed=0)
    raw, root = capped["divide by 1"], capped["divide by √dₖ"]
    assert capped["softcap without √dₖ"].largest > 0.98 * raw.largest
    assert capped["softcap"].largest == pytest.approx(root.largest, abs=2e-3)
    assert capped["softcap without √dₖ"].largest > 3 * root.largest


def test_growth_leaves_normalised_rules_alone_and_a_cap_still_saturates():
    start, grown = (compare_rules(64, 16, n_rows=500, seed=0, growth=g) for g in (1.0, 64.0))
    for rule in OF_COSINES:
        assert start[rule] == grown[rule]
    for rule in set(OF_SCORES) - {"softcap", "softcap without √dₖ"}:
        assert grown[rule].largest > start[rule].largest
    assert grown["divide by √dₖ"].std == pytest.approx(64, rel=1e-12)
    assert grown["softcap"].std < 50 < grown["divide by √dₖ"].std
    assert grown["softcap"].largest > start["softcap"].largest


def test_scores_far_beyond_the_cap_become_ties():
    # Half of 16 keys are pressed against +50, so the largest weight is about 1/8, not 1.
    rows = sample_matches(64, 16, 500, seed=0).scores
    weights = special.softmax(apply_rule("softcap without √dₖ", rows, 64, growth=1e6), axis=1)
    positive = (rows > 0).sum(axis=1)
    np.testing.assert_allclose(weights.max(axis=1), 1 / np.maximum(positive, 1), rtol=0.01)


# --- one leading key ---


@pytest.mark.parametrize("n", [2, 16, 1024])
def test_a_leading_key_fades_like_1_over_n_unless_its_logit_grows_like_ln_n(n):
    e3 = math.exp(3)
    assert leading_weight("divide by √dₖ", 64, n, lead=3) == pytest.approx(e3 / (e3 + n - 1))
    assert leading_weight("log n", 64, n, lead=3) == pytest.approx(n**3 / (n**3 + n - 1))
    # exactly at lead 1 it stays near one half, below it fades
    assert leading_weight("log n", 64, n, lead=1) == pytest.approx(n / (2 * n - 1))
    assert leading_weight("log n", 64, n, lead=0.5) < n**0.5 / (n - 1)
    cosine = 3 / math.sqrt(9 + 63)
    expected = 1 / (1 + (n - 1) * math.exp(-10 * cosine))
    assert leading_weight("cosine", 64, n, lead=3) == pytest.approx(expected, rel=1e-12)


# --- closed forms for many keys ---


def test_entropy_and_effective_keys_of_the_liquid_phase():
    # n = 1024, scaled: H = 6.433 against 6.431, 1/Σp² = 387 against 377
    assert liquid_entropy(1024) == pytest.approx(math.log(1024) - 0.5, rel=1e-15)
    assert liquid_entropy(1024) == pytest.approx(6.431, abs=5e-4)
    assert liquid_participation(1024) == pytest.approx(1024 / math.e, rel=1e-14)
    logits = np.random.default_rng(0).standard_normal((400, 1024))
    p = special.softmax(logits, axis=1)
    assert stats.entropy(p, axis=1).mean() == pytest.approx(liquid_entropy(1024), rel=2e-3)
    assert 1 / (p**2).sum(axis=1).mean() == pytest.approx(liquid_participation(1024), rel=0.04)
    np.testing.assert_allclose(participation(p), 1 / (p**2).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("beta", [0.3, 1.0, 1.5])
def test_the_entropy_of_many_keys_falls_by_half_the_square_of_the_spread(beta):
    logits = beta * np.random.default_rng(1).standard_normal((100, 20_000))
    entropy = stats.entropy(special.softmax(logits, axis=1), axis=1).mean()
    assert entropy == pytest.approx(liquid_entropy(20_000, beta), rel=5e-3)


@pytest.mark.parametrize(("n", "quoted"), [(1024, 0.208), (16, 0.111)])
def test_frozen_rows_have_10_to_25_percent_less_slope_than_the_leading_order(n, quoted):
    law = frozen_trace(n, 16.0)  # d = 256, not scaled
    assert law == pytest.approx(math.sqrt(2 * math.log(n)) / 16, rel=1e-14)
    p = special.softmax(sample_rows(256, n, 4000, seed=6), axis=1)
    slope = 1 - (p**2).sum(axis=1)
    assert abs(slope.mean() - quoted) < 5 * slope.std() / math.sqrt(4000) + 5e-4
    assert 0.74 < slope.mean() / law < 0.92


def test_entropy_over_ln_n_keeps_its_value_under_the_square_root_of_ln_n_alone():
    def share(n, spread):
        return liquid_entropy(n, spread) / math.log(n)

    for n in (100, 10_000, 1_000_000):
        assert share(n, 0.8 * math.sqrt(math.log(n))) == pytest.approx(1 - 0.32, rel=1e-12)
    assert share(100, 1.0) < share(10_000, 1.0) < share(1_000_000, 1.0)


# --- what is refused ---


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: apply_rule("root", [1.0, 2.0], 4), "rule must be one of .*got 'root'"),
        (lambda: apply_rule("cosine", [1.5, 0.0], 4), "cosines between −1 and 1.*got 1.5"),
        (lambda: apply_rule("log n", [1.0, math.inf], 4), "must be finite"),
        (lambda: apply_rule("log n", 1.0, 4), "axis for the keys"),
        (lambda: apply_rule("log n", [1.0], 4), "n_keys must be an integer ≥ 2, got 1"),
        (lambda: apply_rule("log n", [1.0, 2.0], 0), "d_k must be an integer ≥ 1, got 0"),
        (lambda: apply_rule("log n", [1.0, 2.0], 4, growth=0.0), "growth must be above 0"),
        (lambda: rule_logits("cosine", [[0.0, 0.0]], [[1.0, 0.0]]), "q must have no zero vector"),
        (lambda: rule_logits("nothing", [[1.0]], [[1.0]]), "rule must be one of"),
        (lambda: sample_matches(1, 4, 4, seed=0), "d_k must be an integer ≥ 2, got 1"),
        (lambda: leading_weight("log n", 64, 8, lead=-1.0), "lead must be"),
        (lambda: qk_norm_gain(1), "n_keys must be an integer ≥ 2, got 1"),
        (lambda: liquid_entropy(16, 3.0), "spread must be at most .*2.355, got 3.0"),
        (lambda: frozen_trace(16, 2.0), "spread must be at least .*2.355, got 2.0"),
        (lambda: compare_rules(64, 1, n_rows=10, seed=0), "n_keys must be an integer ≥ 2"),
    ],
)
def test_an_error_says_what_was_required_and_what_came(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_same_seed_gives_the_same_numbers_and_nothing_touches_the_global_generator():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert compare_rules(16, 4, n_rows=50, seed=1) == compare_rules(16, 4, n_rows=50, seed=1)
    assert compare_rules(16, 4, n_rows=50, seed=1) != compare_rules(16, 4, n_rows=50, seed=2)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert all(rule.source and rule.formula for rule in alternatives.RULES.values())
