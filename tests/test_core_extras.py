import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from sdpa.jacobian import best_temperature
from sdpa.statistics import typical_scores

INF, NAN = np.inf, np.nan

# A gap at the top: without one the size has no largest.
rows_with_a_gap = st.lists(st.floats(-50, 50), min_size=2, max_size=8).filter(
    lambda row: sorted(row)[-1] - sorted(row)[-2] > 0.01
)


def size(s, t):
    """‖J‖_F/T at many temperatures from the definition, entry by entry of the matrix."""
    s, t = np.asarray(s, dtype=float), np.asarray(t, dtype=float)
    p = special.softmax(s / t[:, None], axis=-1)
    j = np.eye(len(s)) * p[:, None, :] - p[:, :, None] * p[:, None, :]
    return np.sqrt((j**2).sum(axis=(1, 2))) / t


# --- the best temperature ---


def test_the_best_temperature_of_8_4_0_is_2_55():
    # scipy.optimize.minimize_scalar on -size([8, 4, 0], exp(x)): 2.5491
    assert round(best_temperature([8, 4, 0]), 2) == 2.55
    lattice = np.linspace(2, 3, 100_001)
    assert_allclose(
        best_temperature([8, 4, 0]), lattice[size([8, 4, 0], lattice).argmax()], atol=2e-5
    )


def test_at_its_best_the_gradient_of_8_4_0_is_0_113():
    at = best_temperature([8, 4, 0])
    assert_allclose(size([8, 4, 0], [at, 1, 8]).round(4), [0.113, 0.0355, 0.0564], atol=5e-4)


@pytest.mark.parametrize("gap", [1e-9, 0.1, 1, 4, 20, 1e5])
def test_two_keys_are_best_at_their_gap_over_1_5434(gap):
    # p(1 − p)/T ∝ sech²(x/2)·x with x = gap/T: stationary where x·tanh(x/2) = 1.
    with mp.workdps(30):
        x = float(mp.findroot(lambda x: x * mp.tanh(x / 2) - 1, 1.5))
    assert round(x, 4) == 1.5434
    assert_allclose(best_temperature([gap, 0]), gap / x, rtol=1e-6)
    assert_allclose(best_temperature([-3, -3 - gap]), gap / x, rtol=1e-6 + 1e-15 / gap)


@given(rows_with_a_gap)
@settings(max_examples=50, deadline=None)
def test_no_other_temperature_gives_a_larger_gradient(row):
    best = best_temperature(row)
    others = np.geomspace(1e-4, 1e4, 2000)
    assert size(row, [best])[0] >= size(row, others).max() * (1 - 1e-9)
    near = size(row, best * np.array([1 - 1e-3, 1, 1 + 1e-3]))
    assert near.argmax() == 1


@given(rows_with_a_gap, st.floats(0.01, 100), st.floats(-100, 100), st.randoms())
@settings(max_examples=50, deadline=None)
def test_scores_times_c_are_best_at_c_times_as_hot_and_an_offset_changes_nothing(
    row, factor, offset, order
):
    best = best_temperature(row)
    scaled = best_temperature(np.multiply(row, factor))
    # Two hills of one height may swap under rounding; then both temperatures are as good.
    assert_allclose(size(row, [scaled / factor]), size(row, [best]), rtol=1e-9)
    moved = best_temperature(np.add(row, offset))
    assert_allclose(size(row, [moved]), size(row, [best]), rtol=1e-9)
    shuffled = list(row)
    order.shuffle(shuffled)
    assert_allclose(best_temperature(shuffled), best, rtol=1e-6)


@pytest.mark.parametrize("factor", [0.125, 2, 64])
def test_the_best_temperature_scales_with_the_scores(factor):
    assert_allclose(
        best_temperature(np.array([8.0, 4, 0]) * factor),
        best_temperature([8, 4, 0]) * factor,
        rtol=1e-6,
    )
    assert_allclose(best_temperature([8 + factor, 4 + factor, factor]), 2.5491, atol=1e-4)


@pytest.mark.parametrize("row", [[3], [5, 5], [0, 0, 0], [-2, 7, 7], [1e5] * 64, [0.0, -0.0]])
def test_a_tie_at_the_top_and_a_single_key_have_no_best(row):
    assert best_temperature(row) == 0
    # The reason: what is left grows like 1/T.
    if len(row) > 1:
        assert_allclose(size(row, [1e-3])[0], 10 * size(row, [1e-2])[0], rtol=1e-9)


def test_a_tie_below_the_top_does_have_a_best():
    assert best_temperature([4, 0, 0]) > 0
    assert best_temperature(np.float32([8, 4, 0])) == best_temperature([8, 4, 0])
    assert isinstance(best_temperature([8, 4, 0]), float)


@pytest.mark.parametrize("gap", [5e-324, 1e-320, 1e-300, 1e-12])
def test_the_smallest_gap_gives_a_number_and_no_warning(gap):
    with np.errstate(all="raise", under="ignore"):
        got = best_temperature([gap, 0])
    assert np.isfinite(got)
    assert 0 <= got <= gap


@pytest.mark.parametrize("row", [[NAN, 1], [INF, 0], [0, -INF], [], [[1, 2]], 4.0])
def test_what_is_no_row_of_finite_scores_is_refused(row):
    with pytest.raises(ValueError, match=r"scores must .*got"):
        best_temperature(row)


@pytest.mark.parametrize("row", [["a", "b"], [1j, 0]])
def test_scores_must_be_real(row):
    with pytest.raises(ValueError, match="scores must hold real numbers"):
        best_temperature(row)


# --- the typical row ---


def mean_order_statistics(n):
    """Mean of the i-th largest of n standard normal draws, by integration of its density."""

    def weighted(x, i):
        log = special.log_ndtr(x) * (n - i) + special.log_ndtr(-x) * (i - 1)
        ways = special.gammaln(n + 1) - special.gammaln(i) - special.gammaln(n - i + 1)
        return x * stats.norm.pdf(x) * np.exp(log + ways)

    return [integrate.quad(weighted, -12, 12, args=(i,), limit=200)[0] for i in range(1, n + 1)]


def test_the_integration_gives_the_means_that_are_known_in_closed_form():
    assert_allclose(mean_order_statistics(1), [0], atol=1e-12)
    assert_allclose(mean_order_statistics(2), [np.pi**-0.5, -(np.pi**-0.5)])
    assert_allclose(mean_order_statistics(3)[0], 1.5 / np.sqrt(np.pi))


@pytest.mark.parametrize("n", range(2, 17))
def test_a_typical_row_is_within_0_03_standard_deviations_of_the_mean_row(n):
    expected = mean_order_statistics(n)
    assert_allclose(typical_scores(64, n) / 8, expected, atol=0.03)
    assert_allclose(typical_scores(1, n), expected, atol=0.03)


@given(st.integers(1, 4096), st.integers(1, 200))
def test_a_typical_row_falls_is_symmetric_and_grows_like_the_root_of_the_width(d_k, n_keys):
    row = typical_scores(d_k, n_keys)
    assert row.shape == (n_keys,)
    assert row.dtype == np.float64
    assert (np.diff(row) < 0).all()
    assert_allclose(row, -row[::-1], atol=1e-9 * np.sqrt(d_k))
    assert_allclose(row, np.sqrt(d_k) * typical_scores(1, n_keys), rtol=1e-12, atol=1e-12)


def test_a_typical_row_is_blom_s():
    ranks = (8 - np.arange(1, 9) + 0.625) / 8.25
    assert_allclose(typical_scores(64, 8), 8 * stats.norm.ppf(ranks), rtol=1e-12, atol=1e-14)
    assert_array_equal(typical_scores(64, 1), [0])


@pytest.mark.parametrize(("d_k", "n_keys"), [(0, 3), (-1, 3), (2.5, 3), (64, 0), (64, True)])
def test_widths_and_keys_are_counted(d_k, n_keys):
    with pytest.raises(ValueError, match=r"must be an integer ≥ 1, got"):
        typical_scores(d_k, n_keys)
