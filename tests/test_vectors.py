import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sdpa.vectors import (
    angle_between,
    from_angle,
    head_width,
    partial_sums,
    polar_score,
    sample_vectors,
    shadow,
    token_vectors,
)

lengths = st.floats(0, 100)
degrees = st.floats(-720, 720)
rows = st.lists(st.floats(-100, 100), min_size=1, max_size=9)


# --- in the plane ---


def test_a_right_angle_scores_exactly_0_and_a_straight_one_the_whole():
    assert_array_equal(
        polar_score(2, 3, [0, 90, 180, 270, -90, -180, 450]), [6, 0, -6, 0, 0, -6, 0]
    )
    assert_array_equal(from_angle(2, [0, 90, 180, 270]), [[2, 0], [0, 2], [-2, 0], [0, -2]])
    assert not np.signbit(polar_score(2, 3, [90, -90, 270])).any()


@given(lengths, degrees)
def test_a_vector_has_its_length_and_the_direction_that_mpmath_gives(length, angle):
    x, y = from_angle(length, angle)
    turn = mpmath.mpf(angle) * mpmath.pi / 180
    expected = [float(length * mpmath.cos(turn)), float(length * mpmath.sin(turn))]
    assert_allclose([x, y], expected, atol=1e-11)


@given(lengths, lengths, degrees, degrees)
def test_lengths_and_angle_give_the_sum_of_the_products(length_q, length_k, of_q, angle):
    q, k = from_angle(length_q, of_q), from_angle(length_k, of_q + angle)
    by_components = q[0] * k[0] + q[1] * k[1]
    assert_allclose(polar_score(length_q, length_k, angle), by_components, atol=1e-9)


def test_60_degrees_halve_the_score():
    # cos 60° = 1/2, cos 120° = −1/2, cos 45° = 0.70710678…
    assert_allclose(polar_score(2, 3, [60, 120, 45]), [3, -3, 6 * 0.7071067811865476], rtol=1e-15)


@given(rows, st.data())
def test_what_the_shadow_leaves_stands_at_a_right_angle_to_q(q, data):
    k = data.draw(st.lists(st.floats(-100, 100), min_size=len(q), max_size=len(q)))
    q = np.array(q) + 0.5
    if np.linalg.norm(q) < 1e-3:
        return
    rest = k - shadow(q, k)
    assert abs(rest @ q) < 1e-7
    # along q: parallel, so the Cauchy–Schwarz inequality is an equality
    along = shadow(q, k)
    assert_allclose(abs(along @ q), np.linalg.norm(along) * np.linalg.norm(q), atol=1e-7)


def test_the_angle_is_the_one_that_was_put_in_even_close_to_0_and_180():
    for angle in (0, 1e-7, 1, 60, 90, 120, 179.9999999, 180):
        q, k = from_angle(2, 30), from_angle(3, 30 + angle)
        assert angle_between(q, k) == pytest.approx(angle, abs=1e-9)
    assert angle_between([1, 1, 1, 1], [1, 1, -1, -1]) == pytest.approx(90)


# --- random ---


def test_components_have_mean_0_variance_1_and_are_independent():
    n = 50_000
    q, k = (sample_vectors(n, 4, seed=1, stream=stream) for stream in (0, 1))
    both = np.hstack([q, k])
    # Five standard errors: 1/√n of a mean and of a correlation, √(2/n) of a variance.
    assert (abs(both.mean(axis=0)) < 5 / math.sqrt(n)).all()
    assert (abs(both.var(axis=0) - 1) < 5 * math.sqrt(2 / n)).all()
    correlations = np.corrcoef(both.T) - np.eye(8)
    assert (abs(correlations) < 5 / math.sqrt(n)).all()
    assert stats.kstest(q.ravel(), "norm").pvalue > 1e-3


def test_a_wider_head_goes_on_where_a_narrower_one_ends():
    wide = sample_vectors(3, 64, seed=5, stream=1)
    for d_k in (1, 4, 63):
        assert_array_equal(wide[:, :d_k], sample_vectors(3, d_k, seed=5, stream=1))


def test_same_seed_and_stream_same_vectors_and_no_global_state():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = sample_vectors(2, 8, seed=3)
    assert_array_equal(first, sample_vectors(2, 8, seed=3))
    assert (first != sample_vectors(2, 8, seed=4)).all()
    assert (first != sample_vectors(2, 8, seed=3, stream=1)).all()
    assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_equal_tokens_share_their_vector_and_others_do_not():
    tokens = ["the", "cat", "sat", "on", "the", "mat"]
    vectors = token_vectors(tokens, 16, seed=0)
    assert vectors.shape == (6, 16)
    for i, one in enumerate(tokens):
        for j, other in enumerate(tokens):
            assert (vectors[i] == vectors[j]).all() == (one == other)
    assert_array_equal(vectors[[0, 1, 2, 3, 5]], sample_vectors(5, 16, seed=0))
    assert token_vectors([], 4, seed=0).shape == (0, 4)


def test_after_i_products_the_sum_has_variance_i():
    n = 20_000
    q, k = (sample_vectors(n, 64, seed=2, stream=stream) for stream in (0, 1))
    _, sums = partial_sums(q, k)
    for i in (1, 4, 16, 64):
        # The variance of an estimated variance v is v²(kurtosis − 1)/n, with kurtosis 3 + 6/i.
        assert abs(sums[:, i - 1].var() - i) < 5 * i * math.sqrt((2 + 6 / i) / n)


def test_four_entries_of_one_2_by_2_product_vary_by_1_and_a_half_on_average():
    # np.var over 4 uncorrelated entries of variance 2 is (1 − 1/4) · 2 on average.
    drawn = np.random.default_rng(0).standard_normal((40_000, 2, 2, 2))
    spread = np.einsum("nid,njd->nij", drawn[:, 0], drawn[:, 1]).reshape(-1, 4).var(axis=1)
    assert abs(spread.mean() - 1.5) < 5 * spread.std() / math.sqrt(len(spread))
    assert np.quantile(spread, [0.1, 0.9]) == pytest.approx([0.10, 3.72], rel=0.05)


# --- sums ---


@given(rows, st.data())
def test_running_sums_are_those_of_a_loop(q, data):
    k = data.draw(st.lists(st.floats(-100, 100), min_size=len(q), max_size=len(q)))
    products, sums = partial_sums(q, k)
    total = 0.0
    for i in range(len(q)):
        total += q[i] * k[i]
        assert products[i] == q[i] * k[i]
        assert sums[i] == pytest.approx(total, abs=1e-9)
    assert sums[-1] == pytest.approx(math.fsum(products), abs=1e-9)


def test_pairs_of_queries_and_keys_broadcast():
    q, k = sample_vectors(3, 5, seed=0), sample_vectors(4, 5, seed=0, stream=1)
    _, sums = partial_sums(q[:, None], k)
    assert_allclose(sums[..., -1], np.einsum("id,jd->ij", q, k), rtol=1e-12)


def test_heads_share_the_model_s_width():
    # Vaswani et al. 2017, section 3.2.2: d_model = 512, h = 8, d_k = 64
    assert head_width(512, 8) == 64
    assert head_width(768, 12) == 64
    assert head_width(7, 1) == 7


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: from_angle(-1, 0), r"length must be at least 0, got -1.0"),
        (lambda: from_angle(1, np.nan), "degrees must be finite, got nan"),
        (lambda: polar_score(1, [1, -2], 0), r"length_k must be at least 0, got -2.0"),
        (lambda: polar_score(np.inf, 1, 0), "length_q must be finite, got inf"),
        (lambda: shadow([0, 0], [1, 1]), "q must not be 0"),
        (lambda: angle_between([1, 0], [0, 0]), "q and k must not be 0"),
        (lambda: partial_sums([1, 2], [1, 2, 3]), r"one length .* got \(2,\) and \(3,\)"),
        (lambda: partial_sums([], []), r"d_k ≥ 1 .* got \(0,\)"),
        (lambda: partial_sums(1, 2), r"got \(\) and \(\)"),
        (lambda: partial_sums(np.ones((2, 3)), np.ones((4, 3))), r"got \(2, 3\) and \(4, 3\)"),
        (lambda: sample_vectors(-1, 4, seed=0), "n must be an integer ≥ 0, got -1"),
        (lambda: sample_vectors(1, 0, seed=0), "d_k must be an integer ≥ 1, got 0"),
        (lambda: sample_vectors(1, 4, seed=-1), "seed must be an integer ≥ 0, got -1"),
        (lambda: sample_vectors(1, 4, seed=0, stream=0.5), "stream must be an integer"),
        (lambda: sample_vectors(True, 4, seed=0), "n must be an integer ≥ 0, got True"),
        (lambda: token_vectors("the cat", 4, seed=0), "sequence of words, got one text 'the cat'"),
        (lambda: head_width(512, 7), "heads must divide d_model=512, got 7"),
        (lambda: head_width(512, 0), "heads must be an integer ≥ 1, got 0"),
    ],
)
def test_what_is_out_of_range_is_refused_with_what_was_required(call, text):
    with pytest.raises(ValueError, match=text):
        call()
