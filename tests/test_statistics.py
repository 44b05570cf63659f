import itertools
import math
import time
import warnings

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, special, stats

from sdpa.statistics import (
    DISTRIBUTIONS,
    Premises,
    effective_keys,
    entropy,
    freezing_temperature,
    gradient_statistics,
    overflow_probability,
    sample_rows,
    sample_scores,
    score_density,
    score_excess_kurtosis,
    score_mean,
    score_tail,
    score_variance,
    typical_scores,
)

N = 100_000
FIVE = 5.0  # standard errors: a fixed seed, so a failure means a wrong law, not bad luck


def assert_mean_and_variance(scores, mean, variance):
    """Within five standard errors; that of a variance is √((m₄ − v²)/n), m₄ from the sample."""
    n = scores.size
    assert abs(scores.mean() - mean) <= FIVE * math.sqrt(variance / n) + 1e-12
    fourth = ((scores - scores.mean()) ** 4).mean()
    error = math.sqrt(max(fourth - variance**2, 0) / n)
    assert abs(scores.var() - variance) <= FIVE * error + 1e-9 * variance


def assert_quantile(values, order, quoted, rounding, other_n):
    """The quoted value, rounded, lies where the sample has its quantile.

    Its rank varies by √(order(1 − order)/n) in the sample and likewise in the quoted one.
    """
    error = FIVE * math.sqrt(order * (1 - order) * (1 / values.size + 1 / other_n))
    assert (values < quoted - rounding).mean() <= order + error
    assert (values <= quoted + rounding).mean() >= order - error


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


# Entropy ------------------------------------------------------------------------------------


def test_entropy_of_the_standard_example_is_the_fifty_digit_value():
    # mpmath: p = [exp(x)/sum(exp(y) for y in (1, .5, 0)) for x in (1, .5, 0)]; -sum(x*log(x) ...)
    weights = softmax(np.array([1.0, 0.5, 0.0]))
    assert entropy(weights) == pytest.approx(1.0201913367268, rel=1e-12)
    assert effective_keys(weights) == pytest.approx(math.exp(1.0201913367268), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(0, 1)))
def test_entropy_agrees_with_scipy_and_lies_between_0_and_ln_n(raw):
    raw[:, 0] += 0.1
    weights = raw / raw.sum(axis=1, keepdims=True)
    h = entropy(weights)
    np.testing.assert_allclose(h, stats.entropy(weights, axis=1), rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(h, entropy(weights.T, axis=0))
    assert (h >= 0).all()
    assert (h <= math.log(weights.shape[1]) + 1e-12).all()
    assert (effective_keys(weights) >= 1).all()


def test_one_key_has_no_entropy_and_n_equal_keys_count_as_n():
    h = entropy([0, 1, 0])
    assert h == 0
    assert math.copysign(1, h) == 1
    assert h.dtype == np.float64
    assert effective_keys(np.full(7, 1 / 7)) == pytest.approx(7)


def test_a_fully_masked_query_has_no_entropy_and_no_keys():
    weights = np.array([[0.0, 0.0], [0.5, 0.5]])
    np.testing.assert_allclose(entropy(weights), [0, math.log(2)])
    np.testing.assert_allclose(effective_keys(weights), [0, 2])
    assert effective_keys(np.zeros((3, 0))).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "dtype",
    [np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn],
)
def test_entropy_keeps_the_dtype_and_rounds_once(dtype):
    weights = np.array([[0.5, 0.25, 0.125, 0.125], [1, 0, 0, 0], [0, 0, 0, 0]]).astype(dtype)
    h = entropy(weights)
    assert h.dtype == effective_keys(weights).dtype == np.dtype(dtype)
    # 1.75 ln 2, in float32 and rounded to the format
    expected = np.array([1.75 * math.log(2), 0, 0]).astype(dtype)
    np.testing.assert_allclose(h.astype(float), expected.astype(float), rtol=1e-6)
    keys = np.array([2**1.75, 1, 0]).astype(dtype)
    np.testing.assert_allclose(effective_keys(weights).astype(float), keys.astype(float), rtol=1e-6)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([0.5, 0.4], r"must sum to 1, or be all 0, within 0.01, got sum 0.9"),
        ([[0.5, 0.5], [0.9, 0.2]], "got sum 1.1"),
        ([1.5, -0.5], "must be finite and ≥ 0, got -0.5"),
        ([np.nan, 1.0], "got nan"),
        ([np.inf, 1.0], "got inf"),
        ([1j, 1.0], "must be an array of real numbers"),
        (1.0, "must be an array of real numbers, got 1.0"),
    ],
)
def test_what_is_no_set_of_weights_is_refused(weights, text):
    for function in (entropy, effective_keys):
        with pytest.raises(ValueError, match=text):
            function(weights)


def test_one_byte_weights_may_be_off_by_more():
    weights = np.full(9, 1 / 9).astype(ml_dtypes.float8_e4m3fn)  # 9 · 0.109375 = 0.984
    assert float(entropy(weights)) == pytest.approx(math.log(9), rel=0.1)
    entropy(np.array([0.5, 0.5, 0.125]).astype(ml_dtypes.float8_e5m2))
    with pytest.raises(ValueError, match=r"within 0.01, got sum 1.125"):
        entropy([0.5, 0.5, 0.125])


# Laws ---------------------------------------------------------------------------------------

BOTH = {"correlation_q": 0.3, "correlation_k": 0.3}
HALVES = {"mean_q": 0.5, "mean_k": 0.5}
LAWS = [  # premises, mean and variance at d_k = 64, by hand
    ({}, 0, 64),
    ({"std_q": 2.0}, 0, 256),
    ({"std_q": 0.5, "std_k": 0.5}, 0, 4),
    ({"std_q": 2.0, "std_k": 2.0}, 0, 1024),
    (HALVES, 16, 96),
    ({"mean_q": 1.0, "mean_k": 1.0}, 64, 192),
    ({"correlation_q": 0.05, "correlation_k": 0.05}, 0, 64 * (1 + 63 * 0.0025)),  # 74.08
    ({"correlation_q": 0.1, "correlation_k": 0.1}, 0, 104.32),
    (BOTH, 0, 64 * (1 + 63 * 0.09)),  # 426.88
    ({"correlation_q": 0.3}, 0, 64),
    ({"alignment": 0.3}, 19.2, 69.76),
    ({"alignment": 1.0}, 64, 128),
    ({"alignment": -0.5}, -32, 80),
    ({"normalise": "unit"}, 0, 1 / 64),
    ({"normalise": "layer"}, 0, 64**2 / 63),
    ({"normalise": "rms"}, 0, 64),
    ({"distribution": "laplace"}, 0, 64),
    ({"distribution": "student_t5"}, 0, 64),
    ({"distribution": "rademacher"}, 0, 64),
    ({"distribution": "uniform"}, 0, 64),
    # aligned: d (a²(m₄ − 1) + 1 − a²)
    ({"distribution": "laplace", "alignment": 0.5}, 32, 64 * (0.25 * 5 + 0.75)),
    ({"distribution": "rademacher", "alignment": 1.0}, 64, 0),
    # aligned and equicorrelated: 2 tr C², and for ±1 less 2 ((ρd)² + d(1 − ρ)²), is 4dρ(1 − ρ)
    ({"alignment": 1.0, **BOTH}, 64, 2 * 64 * (1 + 63 * 0.09)),
    ({"alignment": 1.0, **BOTH, "distribution": "rademacher"}, 64, 4 * 64 * 0.3 * 0.7),
    # everything: 2.25 [1.25 tr C²] + .25·2.25 1ᵀC1 + 1·1 1ᵀC1 + 2·½·½·1·1.5·1 1ᵀC1 with signs
    (
        {"mean_q": 0.5, "mean_k": -1.0, "std_k": 1.5, "alignment": 0.5, **BOTH},
        64 * (-0.5 + 0.75),
        2.25 * 1.25 * 64 * 6.67 + (0.5625 + 1.0 - 0.75) * 64 * 19.9,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("premises", "mean", "variance"), LAWS)
def test_sampled_products_obey_the_law(premises, mean, variance):
    assert score_mean(64, **premises) == pytest.approx(mean, rel=1e-12, abs=1e-12)
    assert score_variance(64, **premises) == pytest.approx(variance, rel=1e-12, abs=1e-12)
    scores = sample_scores(64, N // 4, seed=1, method="product", **premises)
    assert_mean_and_variance(scores, mean, variance)


MIXED = [
    {"distribution": "laplace", "correlation_q": 0.5, "correlation_k": 0.2, **HALVES},
    {"distribution": "uniform", "alignment": 0.8, **BOTH, "mean_q": 1.0, "std_k": 0.5},
    {"distribution": "laplace", "alignment": 0.8, **BOTH},
    {"distribution": "laplace", "alignment": -0.6, "mean_k": 0.7, "std_q": 2.0},
    {"std_q": 0.0, "mean_q": 1.0},
    {"std_q": 3.0, "normalise": "unit"},
    {"distribution": "cauchy", "normalise": "unit"},
    {"distribution": "cauchy", "normalise": "rms"},
    {"distribution": "laplace", "normalise": "layer"},
    {"distribution": "rademacher", "normalise": "layer"},
]


@pytest.mark.parametrize("premises", MIXED)
@pytest.mark.parametrize("d_k", [2, 3, 5])
def test_laws_hold_for_mixed_premises_in_few_dimensions(premises, d_k):
    scores = sample_scores(d_k, 2 * N, seed=2, **premises)
    law = score_mean(d_k, **premises), score_variance(d_k, **premises)
    assert_mean_and_variance(scores, *law)


@settings(max_examples=60, deadline=None)
@given(
    d_k=st.integers(1, 40), a=st.floats(-1, 1), rho=st.floats(0, 1), mean_q=st.floats(-3, 3),
    mean_k=st.floats(-3, 3), std_q=st.floats(0, 3), std_k=st.floats(0, 3),
)  # fmt: skip
def test_gaussian_law_is_the_trace_formula_written_with_matrices(
    d_k, a, rho, mean_q, mean_k, std_q, std_k
):
    c = (1 - rho) * np.eye(d_k) + rho * np.ones((d_k, d_k))
    cov_q, cov_k, cross = std_q**2 * c, std_k**2 * c, a * std_q * std_k * c
    m_q, m_k = np.full(d_k, mean_q), np.full(d_k, mean_k)
    # Isserlis: var qᵀk = tr(S_q S_k) + tr(S_qk²) + m_qᵀS_k m_q + m_kᵀS_q m_k + 2 m_qᵀS_kq m_k
    variance = np.trace(cov_q @ cov_k) + np.trace(cross @ cross)
    variance += m_q @ cov_k @ m_q + m_k @ cov_q @ m_k + 2 * m_q @ cross @ m_k
    premises = {
        "mean_q": mean_q, "mean_k": mean_k, "std_q": std_q, "std_k": std_k,
        "alignment": a, "correlation_q": rho, "correlation_k": rho,
    }  # fmt: skip
    assert score_variance(d_k, **premises) == pytest.approx(variance, rel=1e-9, abs=1e-9)
    assert score_mean(d_k, **premises) == pytest.approx(m_q @ m_k + np.trace(cross), abs=1e-9)


def test_dividing_by_the_root_of_d_k_leaves_unit_variance_at_every_width():
    for d_k in (1, 4, 64, 1024, 10**6):
        scaled = sample_scores(d_k, N, seed=3) / math.sqrt(d_k)
        assert_mean_and_variance(scaled, 0, 1)
        assert score_variance(d_k) == d_k


def test_cauchy_components_have_neither_mean_nor_variance_unless_they_do_not_matter():
    assert math.isnan(score_mean(64, distribution="cauchy"))
    assert score_variance(64, distribution="cauchy") == math.inf
    assert score_variance(64, distribution="cauchy", std_q=0.0, mean_q=1.0) == math.inf
    assert score_variance(64, distribution="cauchy", std_q=0.0, std_k=0.0, mean_q=1.0) == 0
    spread = [
        np.ptp(np.quantile(sample_scores(d, N // 10, seed=4, distribution="cauchy"), [0.25, 0.75]))
        for d in (16, 256)
    ]
    assert spread[1] / spread[0] > 8  # √d_k would give 4


@pytest.mark.parametrize(
    ("name", "numerator"),
    [("gaussian", 6), ("laplace", 33), ("student_t5", 78), ("rademacher", -2), ("uniform", 0.24)],
)
def test_excess_kurtosis_falls_like_1_over_d_k(name, numerator):
    assert score_excess_kurtosis(64, name) == pytest.approx(numerator / 64, rel=1e-12)
    if name == "student_t5":  # the eighth moment is infinite: no sample would settle
        return
    scores = sample_scores(16, 4 * N, seed=5, method="product", distribution=name)
    z = (scores / scores.std()) ** 2
    kurtosis = (z**2).mean() - 3
    # Delta method: the kurtosis m₄/v² has influence z⁴ − m₄ − 2 m₄ (z² − 1).
    error = (z**2 - 2 * (kurtosis + 3) * z).std() / math.sqrt(z.size)
    assert abs(kurtosis - score_excess_kurtosis(16, name)) <= FIVE * error


# Sampling -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d_k", [1, 2, 64])
def test_exact_law_and_products_are_one_distribution(d_k):
    exact = sample_scores(d_k, N // 2, seed=6, method="exact")
    product = sample_scores(d_k, N // 2, seed=7, method="product")
    assert stats.ks_2samp(exact, product).pvalue > 1e-3
    assert_mean_and_variance(exact, 0, d_k)
    assert_mean_and_variance(product, 0, d_k)
    scaled = sample_scores(d_k, N // 2, seed=6, method="exact", std_q=2.0, std_k=3.0)
    np.testing.assert_allclose(scaled, 6 * exact, rtol=1e-12)


def test_exact_law_is_taken_exactly_where_it_holds():
    def same(**premises):
        auto = sample_scores(8, 50, seed=8, **premises)
        return np.array_equal(auto, sample_scores(8, 50, seed=8, method="product", **premises))

    assert not same()
    assert not same(std_q=2.0, std_k=0.5)
    others = [
        {"mean_q": 1.0}, {"correlation_k": 0.1}, {"alignment": 0.1}, {"normalise": "unit"},
        {"distribution": "laplace"},
    ]  # fmt: skip
    for premises in others:
        assert same(**premises)
        with pytest.raises(ValueError, match='method="exact" must have default premises'):
            sample_scores(8, 50, seed=8, method="exact", **premises)


def test_same_seed_same_scores_and_no_global_state():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for method in ("exact", "product"):
        first, second, other = (
            sample_scores(16, 100, seed=seed, method=method) for seed in (1, 1, 2)
        )
        assert np.array_equal(first, second)
        assert not np.array_equal(first, other)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_product_sampling_does_not_change_at_the_seams_of_its_chunks():
    d_k = 2**19  # two rows to a chunk
    scores = sample_scores(d_k, 5, seed=9, method="product")
    assert scores.shape == (5,)
    assert np.all(np.abs(scores) < 6 * math.sqrt(d_k))
    assert len(set(scores)) == 5


@pytest.mark.parametrize("method", ["exact", "product"])
def test_no_scores_are_an_empty_array(method):
    assert sample_scores(4, 0, seed=0, method=method).shape == (0,)


def test_twenty_thousand_scores_cost_a_few_milliseconds_at_any_width():
    start = time.perf_counter()
    for _ in range(5):
        sample_scores(2**20, 20_000, seed=0)
    assert (time.perf_counter() - start) / 5 < 0.02


def test_normalised_rows_give_bounded_scores():
    for how, bound in (("unit", 1), ("rms", 8), ("layer", 8)):
        scores = sample_scores(8, 1000, seed=10, normalise=how, alignment=1.0)
        np.testing.assert_allclose(scores, bound, rtol=1e-12)
    # equal components, whatever the rounding of their mean, have nothing to scale up
    flat = sample_scores(7, 100, seed=11, normalise="layer", correlation_q=1.0, mean_q=0.1)
    np.testing.assert_array_equal(flat, 0)


def test_a_row_of_scores_is_normal_with_the_length_of_its_query_as_spread():
    rows = sample_rows(64, 1000, 200, seed=12)
    lengths = rows.std(axis=1)
    # ‖q‖ = √64 ± 0.71, plus ‖q‖/√2000 ≈ 0.18 from the estimate
    assert lengths.std() == pytest.approx(math.hypot(0.71, 0.18), rel=0.2)
    z = (rows - rows.mean(axis=1, keepdims=True)) / lengths[:, None]
    assert stats.kstest(z.ravel()[::7], "norm").pvalue > 1e-3
    assert_mean_and_variance(rows[:, 0], 0, 64)


def test_a_sweep_over_d_k_moves_the_same_directions():
    narrow, wide = (sample_rows(d_k, 4, 10, seed=13) for d_k in (16, 256))
    ratio = wide / narrow
    np.testing.assert_allclose(ratio, ratio[:, :1].repeat(4, axis=1), rtol=1e-12)
    signs = [np.sign(sample_scores(d_k, 100, seed=13)) for d_k in (16, 256)]
    assert np.array_equal(*signs)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 16, 100])
def test_typical_scores_are_near_the_mean_order_statistics_of_normal_draws(n):
    def mean_of_rank(i):  # of the i-th largest; n = 4: 1.02938, 0.29701 (Harter 1961, table 1)
        def integrand(z):
            return z * stats.norm.pdf(z) * stats.binom.pmf(i - 1, n - 1, stats.norm.sf(z))

        return n * integrate.quad(integrand, -9, 9, limit=200)[0]

    ranks = range(1, n + 1) if n < 20 else (1, 2, n // 2, n)
    exact = np.array([mean_of_rank(i) for i in ranks])
    if n == 4:
        np.testing.assert_allclose(exact[:2], [1.02938, 0.29701], atol=1e-5)
    typical = typical_scores(64, n)
    np.testing.assert_allclose(typical[[i - 1 for i in ranks]] / 8, exact, atol=0.03)
    np.testing.assert_allclose(typical, -typical[::-1], atol=1e-12)
    np.testing.assert_allclose(typical_scores(256, n), 2 * typical)


# Exact law ----------------------------------------------------------------------------------


def closed_form(s, d_k):
    nu = (d_k - 1) / 2
    log = nu * np.log(s) + np.log(special.kve(nu, s)) - s
    return np.exp(log - 0.5 * np.log(np.pi) - nu * np.log(2) - special.gammaln(d_k / 2))


@pytest.mark.parametrize("d_k", [1, 2, 3, 4, 16, 64, 256])
def test_density_is_the_variance_gamma_law(d_k):
    s = np.linspace(0, 6 * math.sqrt(d_k), 60)[1:]
    # 1e-12 is what gammaln and kve leave of the reference at d_k = 256
    np.testing.assert_allclose(score_density(s, d_k), closed_form(s, d_k), rtol=2e-12)
    np.testing.assert_array_equal(score_density(-s, d_k), score_density(s, d_k))


@pytest.mark.parametrize("sigmas", [0.01, 1, 3, 6])
def test_density_at_1024_agrees_with_thirty_digits(sigmas):
    with mpmath.workdps(30):  # kve overflows in double precision
        s, nu = mpmath.mpf(32 * sigmas), mpmath.mpf(1023) / 2
        exact = s**nu * mpmath.besselk(nu, s) / mpmath.sqrt(mpmath.pi)
        exact /= mpmath.mpf(2) ** nu * mpmath.gamma(512)
    assert float(score_density(32 * sigmas, 1024)) == pytest.approx(float(exact), rel=1e-11)


def test_density_of_two_dimensions_is_laplace_and_of_one_has_a_logarithmic_pole():
    s = np.array([0, 1e-9, 0.3, -2, 5])
    np.testing.assert_allclose(score_density(s, 2), np.exp(-np.abs(s)) / 2, rtol=1e-12)
    tiny = np.array([1e-300, 1e-12, 0.99e-8, 1.01e-8, 1e-6, 1e-4, 5e-3])
    np.testing.assert_allclose(score_density(tiny, 1), special.k0(tiny) / np.pi, rtol=1e-12)
    assert score_density(0.0, 1) == math.inf
    assert np.isnan(score_density(np.nan, 4))
    assert score_density([1e200, -np.inf], 4).tolist() == [0, 0]
    assert score_density(np.zeros((2, 3)), 4).shape == (2, 3)


@pytest.mark.parametrize("d_k", [2, 4, 16, 64])
def test_density_has_mass_1_variance_d_k_and_excess_kurtosis_6_over_d_k(d_k):
    # Gauss-Legendre in t, s = 40σ t²: smooth even for the kink of d_k = 2
    t, w = (x / 2 for x in np.polynomial.legendre.leggauss(400))
    t = t + 0.5
    s = 40 * math.sqrt(d_k) * t**2
    mass = 2 * score_density(s, d_k) * 80 * math.sqrt(d_k) * t * w
    moments = [(mass * s**p).sum() for p in (0, 2, 4)]
    assert moments[0] == pytest.approx(1, rel=1e-11)
    assert moments[1] == pytest.approx(d_k, rel=1e-11)
    assert moments[2] / moments[1] ** 2 - 3 == pytest.approx(6 / d_k, rel=1e-10)


@pytest.mark.parametrize(
    ("d_k", "quoted"), [(4, 0.00992), (16, 0.00494), (64, 0.00330), (256, 0.00285)]
)
def test_tail_beyond_three_deviations_is_heavier_than_normal(d_k, quoted):
    limit = 3 * math.sqrt(d_k)
    assert score_tail(limit, d_k) == pytest.approx(quoted, abs=5e-6)
    integral = 2 * integrate.quad(closed_form, limit, np.inf, args=(d_k,), epsrel=1e-11)[0]
    assert score_tail(limit, d_k) == pytest.approx(integral, rel=1e-9)
    assert score_tail(limit, d_k) > special.erfc(3 / math.sqrt(2))


def test_tail_is_1_at_and_below_0_and_falls_to_0():
    tail = score_tail([[-5.0, 0.0], [1e-3, np.inf]], 16)
    assert tail.shape == (2, 2)
    np.testing.assert_allclose(tail.ravel(), [1, 1, tail[1, 0], 0], rtol=1e-12)


def test_law_is_accurate_far_out():
    # two dimensions: P(|s| > t) = e^−t
    np.testing.assert_allclose(
        score_tail([1.0, 30.0, 100.0], 2), np.exp([-1, -30, -100]), rtol=1e-11
    )
    for d_k in (1, 4, 64):
        s = np.array([30.0, 100.0, 200.0])
        np.testing.assert_allclose(score_density(s, d_k), closed_form(s, d_k), rtol=1e-11)


@pytest.mark.parametrize("d_k", [2, 64])
def test_sampled_scores_follow_the_exact_tail(d_k):
    scores = np.abs(sample_scores(d_k, N, seed=14))
    for sigmas in (0.5, 1, 3):
        p = float(score_tail(sigmas * math.sqrt(d_k), d_k))
        error = FIVE * math.sqrt(p * (1 - p) / N)
        assert abs((scores > sigmas * math.sqrt(d_k)).mean() - p) <= error


FP16, FP32 = math.log(65504), math.log(3.4028234663852886e38)


@pytest.mark.parametrize(
    ("d_k", "n_keys", "threshold", "quoted"),
    [  # mpmath.quad of 1 − Φ(t/√r)ⁿ times the chi-squared density
        (64, 16, FP16, 0.733180633),
        (64, 1024, FP16, 0.999999999801),
        (256, 16, FP32, 4.97834887e-7),
        (256, 1024, FP32, 3.18594812e-5),
        (1024, 16, FP32, 0.0439568257),
        (1024, 1024, FP32, 0.935595342),
        (64, 16, 8 * FP16, 1.12475182e-18),
    ],
)
def test_overflow_probability_is_the_integral_over_the_length_of_the_query(
    d_k, n_keys, threshold, quoted
):
    def integrand(r):
        none = n_keys * stats.norm.logcdf(threshold / math.sqrt(r))
        return -math.expm1(none) * stats.chi2.pdf(r, d_k)

    middle, width = d_k, math.sqrt(2 * d_k)
    points = (0, middle - 6 * width, middle, middle + 6 * width, middle + 40 * width)
    pieces = [max(x, 0) for x in points]
    exact = sum(
        integrate.quad(integrand, *ends, epsabs=0, epsrel=1e-10)[0]
        for ends in itertools.pairwise(pieces)
        if ends[1] > ends[0]
    )
    got = overflow_probability(d_k, n_keys, threshold)
    assert got == pytest.approx(exact, rel=1e-7)
    assert got == pytest.approx(quoted, rel=1e-8)


def test_overflow_probability_is_the_share_of_sampled_rows():
    rows = sample_rows(64, 16, 20_000, seed=15)
    for divisor in (1.0, 0.7, 2.0):
        p = overflow_probability(64, 16, FP16, divisor=divisor)
        share = (rows.max(axis=1) / divisor > FP16).mean()
        assert abs(share - p) <= FIVE * math.sqrt(p * (1 - p) / 20_000)


def test_overflow_probability_of_one_key_is_half_the_tail_and_grows_with_keys():
    for divisor in (1.0, 8.0):
        half = float(score_tail(FP16 * divisor, 64)) / 2
        assert overflow_probability(64, 1, FP16, divisor=divisor) == pytest.approx(half, rel=1e-12)
    chances = [overflow_probability(64, n, FP16, divisor=8) for n in (1, 10, 100)]
    np.testing.assert_allclose(np.divide(chances, chances[0]), [1, 10, 100], rtol=1e-6)
    assert overflow_probability(64, 4, -1e6) == pytest.approx(1)


# Softmax of whole rows ----------------------------------------------------------------------

ROWS = {2: 20_000, 8: 20_000, 16: 20_000, 64: 20_000, 256: 4000, 1024: 4000}  # as quoted
SOFTMAX = [  # n, d_k, scaled, then E p_max, E H, E exp(H), E tr J and median tr J, as text
    (2, 64, False, ".949", ".118", "1.15", ".0723", "1.2e-3"),
    (2, 64, True, ".724", ".541", "1.74", ".365", ".403"),
    (2, 256, False, ".975", ".059", "1.08", ".0358", "5.5e-7"),
    (8, 64, False, ".875", ".319", "1.47", ".178", ".071"),
    (8, 64, True, ".359", "1.725", "5.72", ".769", ".792"),
    (16, 16, False, ".684", ".906", "2.84", ".430", ".477"),
    (16, 64, False, ".843", ".414", "1.65", ".222", ".134"),
    (16, 256, False, ".923", ".192", "1.27", ".110", "6.5e-3"),
    (16, 1024, False, ".961", ".095", "1.13", ".056", "1.9e-5"),
    (16, 64, True, ".245", "2.36", "10.8", ".867", ".882"),
    (64, 64, False, ".792", ".579", "2.03", ".289", ".248"),
    (64, 64, True, ".107", "3.69", "40.3", ".961", ".965"),
    (256, 64, False, ".740", ".765", "2.55", ".358", ".372"),
    (256, 64, True, ".043", "5.05", "157", ".990", ".990"),
    (1024, 64, False, ".707", ".908", "3.08", ".401", ".430"),
    (1024, 256, False, ".855", ".389", "1.63", ".204", ".090"),
    (1024, 64, True, ".016", "6.43", "625", ".997", ".997"),
]


def half_digit(text):
    """Half a unit of the last digit in which a value is quoted."""
    mantissa, _, exponent = text.partition("e")
    return 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


@pytest.mark.parametrize(("n", "d_k", "scaled", "p_max", "h", "keys", "trace", "median"), SOFTMAX)
def test_softmax_of_random_rows_has_the_quoted_sharpness(
    n, d_k, scaled, p_max, h, keys, trace, median
):
    rows = sample_rows(d_k, n, ROWS[n], seed=16) / (math.sqrt(d_k) if scaled else 1)
    weights = softmax(rows)
    traces = 1 - (weights**2).sum(axis=1)
    measured = (weights.max(axis=1), entropy(weights), effective_keys(weights), traces)
    for values, quoted in zip(measured, (p_max, h, keys, trace), strict=True):
        # the quoted mean has the same standard error, hence √2
        error = FIVE * math.sqrt(2) * values.std() / math.sqrt(values.size)
        assert abs(values.mean() - float(quoted)) <= error + half_digit(quoted)
    assert_quantile(traces, 0.5, float(median), half_digit(median), ROWS[n])


def test_scaled_attention_over_many_keys_has_the_closed_forms_of_the_liquid_phase():
    weights = softmax(sample_rows(256, 1024, 2000, seed=17) / 16)
    assert entropy(weights).mean() == pytest.approx(math.log(1024) - 0.5, rel=2e-3)
    assert 1 / (weights**2).sum(axis=1).mean() == pytest.approx(1024 / math.e, rel=0.05)


GRADIENTS = [  # d_k, divisor, mean, median, lower decile, dead share of 50,000 rows of 16 keys
    (16, 1, ".429", ".475", ".052", 0.007),
    (16, 4, ".217", ".221", ".201", 0),
    (64, 1, ".222", ".132", "5.7e-4", 0.12),
    (64, 8, ".108", ".110", ".101", 0),
    (256, 1, ".110", "6.7e-3", "9e-8", 0.39),
    (256, 16, ".054", ".055", ".051", 0),
    (1024, 1, ".055", "1.7e-5", "4e-15", 0.64),
    (1024, 32, ".027", ".028", ".025", 0),
    (256, 256, ".0037", ".0037", ".0037", 0),
]


def plain_traces(d_k, divisor, n_rows, seed):
    """(1/T) Σ p(1 − p), with 1 − p as the sum of the others, pair by pair."""
    weights = softmax(sample_rows(d_k, 16, n_rows, seed=seed) / divisor)
    others = np.einsum("ri,rj,ij->r", weights, weights, 1 - np.eye(16))
    return others / divisor


@pytest.mark.parametrize(("d_k", "divisor", "mean", "median", "decile", "dead"), GRADIENTS)
def test_mean_and_typical_gradient_are_the_quoted_ones(d_k, divisor, mean, median, decile, dead):
    n = 50_000
    got = gradient_statistics(d_k, 16, divisor=divisor, n_rows=n, seed=18)
    traces = plain_traces(d_k, divisor, n, 18)
    assert got.mean == pytest.approx(traces.mean(), rel=1e-12)
    assert got.median == pytest.approx(np.quantile(traces, 0.5), rel=1e-9)
    assert got.lower_decile == pytest.approx(np.quantile(traces, 0.1), rel=1e-9)
    assert got.dead_share == (traces < 1e-3).mean()

    error = FIVE * math.sqrt(2) * traces.std() / math.sqrt(n)
    assert abs(got.mean - float(mean)) <= error + half_digit(mean)
    assert_quantile(traces, 0.5, float(median), half_digit(median), n)
    assert_quantile(traces, 0.1, float(decile), half_digit(decile), n)
    binomial = FIVE * math.sqrt(2 * dead * (1 - dead) / n)
    assert abs(got.dead_share - dead) <= binomial + 0.005


def test_without_scaling_the_mean_gradient_is_larger_and_the_typical_one_gone():
    raw = gradient_statistics(256, 16, divisor=1, n_rows=20_000, seed=19)
    scaled = gradient_statistics(256, 16, divisor=16, n_rows=20_000, seed=19)
    assert raw.mean > 1.8 * scaled.mean
    assert raw.median < scaled.median / 5
    assert raw.dead_share > 0.35
    assert scaled.dead_share == 0


def test_two_keys_have_the_mean_and_median_of_the_closed_form():
    # tr J = 2p(1 − p); for scores of fixed σ: E p(1 − p) → 1/(2√π σ), median ¼ sech²(0.477σ).
    # Long queries have ‖q‖ within 0.5 % of √d_k: σ = 128 at d_k = 2¹⁴; E 1/‖q‖ = (1 + 5e-5)/√d_k.
    n, sigma = 200_000, 128
    got = gradient_statistics(sigma**2, 2, divisor=16, n_rows=n, seed=20)
    sigma /= 16  # after division, and 1/16 goes on top of the trace
    mean = 2 * 0.2820948 / sigma / 16

    def moment(power):  # of p(1 − p) = ¼ sech²(gap/2), the gap normal of spread √2 σ
        return 2 * integrate.quad(
            lambda g: (0.25 / math.cosh(g / 2) ** 2) ** power
            * stats.norm.pdf(g, 0, math.sqrt(2) * sigma),
            0,
            60,
        )[0]  # fmt: skip

    first, second = moment(1), moment(2)
    assert first == pytest.approx(0.2820948 / sigma, rel=0.02)  # the limit, at σ = 8
    error = FIVE * 2 * math.sqrt((second - first**2) / n) / 16
    assert abs(got.mean - 2 * first / 16) <= error + 1e-4 * mean
    # 0.477 = Φ⁻¹(¾)/√2; the median gap's rank has error 5·½/√n, its density 2φ(0.6745) = 0.636
    median = 2 * 0.25 / math.cosh(0.4769363 * sigma) ** 2 / 16
    assert math.log(got.median / median) == pytest.approx(
        0, abs=math.sqrt(2) * sigma * 2.5 / math.sqrt(n) / 0.636
    )


def test_one_key_passes_nothing_back():
    got = gradient_statistics(64, 1, divisor=1, n_rows=10, seed=0)
    assert (got.mean, got.median, got.lower_decile, got.dead_share) == (0, 0, 0, 1)
    assert got.top_tenth_share == 0


@pytest.mark.parametrize(
    ("d_k", "divisor", "share"),
    [(16, 1, 0.18), (64, 1, 0.29), (256, 1, 0.48), (1024, 1, 0.76), (16, 4, 0.106)],
)
def test_the_tenth_of_rows_with_the_largest_gradient_holds_the_quoted_share(d_k, divisor, share):
    n = 50_000
    got = gradient_statistics(d_k, 16, divisor=divisor, n_rows=n, seed=22).top_tenth_share
    traces = np.sort(plain_traces(d_k, divisor, n, 22))
    assert got == pytest.approx(traces[-n // 10 :].sum() / traces.sum(), rel=1e-9)
    assert got == pytest.approx(share, abs=0.01)


def test_the_tenth_of_few_rows_is_at_least_one():
    few = gradient_statistics(64, 4, divisor=8, n_rows=1, seed=0)
    assert few.top_tenth_share == 1


def test_saturated_rows_keep_a_gradient_of_full_relative_accuracy():
    got = gradient_statistics(4096, 16, divisor=1, n_rows=10_001, seed=21)
    rows = np.sort(sample_rows(4096, 16, 10_001, seed=21), axis=1)
    assert 0 < got.lower_decile < 1e-25
    # so far out the trace is 2 exp(−gap) of the two largest
    gap = np.quantile(rows[:, -1] - rows[:, -2], 0.9, method="nearest")
    assert got.lower_decile == pytest.approx(2 * math.exp(-gap), rel=1e-6)


def test_freezing_temperature_is_below_the_root_of_d_k_for_two_keys_or_more():
    for n, ratio in ((2, 0.85), (16, 0.42), (1024, 0.27), (131072, 0.21)):
        assert freezing_temperature(64, n) / 8 == pytest.approx(ratio, abs=0.005)
    assert freezing_temperature(256, 16) == pytest.approx(16 / math.sqrt(2 * math.log(16)))


# Bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, "64", None])
def test_a_d_k_that_is_no_positive_integer_is_refused(wrong):
    calls = (
        lambda d: sample_scores(d, 3, seed=0), score_mean, score_variance, score_excess_kurtosis,
        lambda d: sample_rows(d, 2, 2, seed=0), lambda d: score_density(1.0, d),
        lambda d: score_tail(1.0, d), lambda d: overflow_probability(d, 2, 1.0),
        lambda d: freezing_temperature(d, 2),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match="d_k must be an integer ≥ 1, got"):
            call(wrong)
    assert score_variance(np.int64(64)) == 64


@pytest.mark.parametrize(
    ("premises", "text"),
    [
        ({"correlation_q": 1.2}, r"correlation_q must be a finite number in \[0, 1\], got 1.2"),
        ({"correlation_k": -0.1}, r"correlation_k must be .* got -0.1"),
        ({"alignment": -1.5}, r"alignment must be a finite number in \[-1, 1\], got -1.5"),
        ({"std_q": -1.0}, r"std_q must be .* got -1.0"),
        ({"mean_k": math.nan}, "mean_k must be a finite number"),
        ({"std_k": "wide"}, "std_k must be .* got 'wide'"),
        ({"distribution": "normal"}, "must be one of 'gaussian', .*'cauchy', got 'normal'"),
        ({"normalise": "batch"}, "must be one of None, 'unit', 'layer', 'rms', got 'batch'"),
        ({"alignment": 0.1, "correlation_q": 0.2}, "must be equal .* got 0.2 and 0.0"),
    ],
)
def test_premises_out_of_range_are_refused_everywhere(premises, text):
    for call in (score_mean, score_variance, lambda d, **p: sample_scores(d, 3, seed=0, **p)):
        with pytest.raises(ValueError, match=text):
            call(8, **premises)


def test_an_unknown_premise_is_a_type_error_that_names_it():
    for call in (score_mean, score_variance, lambda d, **p: sample_scores(d, 3, seed=0, **p)):
        with pytest.raises(TypeError, match="unexpected keyword argument 'sigma'"):
            call(8, sigma=2.0)


@pytest.mark.parametrize(
    "premises", [{"mean_q": 0.5}, {"correlation_k": 0.5}, {"alignment": 0.5}, {"std_q": 0.0}]
)
def test_normalised_scores_outside_their_law_can_be_drawn_but_have_none(premises):
    for how in ("unit", "layer", "rms"):
        scores = (
            sample_scores(8, 10, seed=0, normalise=how, **{**BOTH, **premises})
            if "alignment" in premises
            else sample_scores(8, 10, seed=0, normalise=how, **premises)
        )
        assert np.isfinite(scores).all()
        for law in (score_mean, score_variance):
            with pytest.raises(ValueError, match="the law of normalised scores must have means"):
                law(8, normalise=how, **premises)


def test_other_values_out_of_range_are_refused():
    bad = {
        "n must be an integer ≥ 0, got -1": lambda: sample_scores(4, -1, seed=0),
        "method must be one of": lambda: sample_scores(4, 1, seed=0, method="fast"),
        "d_k must be an integer ≥ 2, got 1": lambda: score_variance(1, normalise="layer"),
        "one of 'gaussian', .*'uniform', got 'cauchy'": lambda: score_excess_kurtosis(4, "cauchy"),
        "n_keys must be an integer ≥ 1": lambda: sample_rows(4, 0, 1, seed=0),
        "n_rows must be an integer ≥ 0": lambda: sample_rows(4, 1, -1, seed=0),
        "n_rows must be an integer ≥ 1":
            lambda: gradient_statistics(4, 2, divisor=1, n_rows=0, seed=0),
        "divisor must be above 0, got 0":
            lambda: gradient_statistics(4, 2, divisor=0, n_rows=1, seed=0),
        "divisor must be a finite number": lambda: overflow_probability(4, 2, 1.0, divisor=-1),
        "threshold must be a finite number": lambda: overflow_probability(4, 2, math.nan),
        "n_keys must be an integer ≥ 2, got 1": lambda: freezing_temperature(4, 1),
    }  # fmt: skip
    for text, call in bad.items():
        with pytest.raises(ValueError, match=text):
            call()


def test_premises_default_to_the_papers():
    assert Premises() == Premises(mean_q=0.0, std_k=1.0, distribution="gaussian", normalise=None)
    assert DISTRIBUTIONS[0] == "gaussian"


def test_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for distribution in DISTRIBUTIONS:
            sample_scores(3, 1000, seed=0, distribution=distribution, std_q=1e200, std_k=1e200)
        gradient_statistics(10**8, 4, divisor=1e-3, n_rows=100, seed=0)
        overflow_probability(1, 3, 1e300)
        score_density([0.0, 1e300], 1)
