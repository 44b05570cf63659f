import ml_dtypes
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from sdpa.attention import attention, softmax
from sdpa.jacobian import (
    attention_gradients,
    frobenius_norm,
    norms,
    softmax_jacobian,
    softmax_jvp,
)

INF, NAN = np.inf, np.nan
N_Q, N_K, D_K, D_V = 3, 5, 7, 2  # no two axes of one size
LEADING_Q, LEADING_K, LEADING_V = (2, 1), (4,), (2, 4)

DIGITS = 350  # 1 − p_max of a gap of 600 starts at the 261st

rows_of_scores = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6),
    elements=st.floats(-30, 30),
)
temperatures = st.floats(0.05, 50)


def weights(seed=0, shape=(4, 5), size=2.0, temperature=1.0):
    return softmax(
        np.random.default_rng(seed).standard_normal(shape) * size, temperature=temperature
    )


def exact_jacobian(s, temperature=1):
    """∂p/∂s from the scores in so many digits that 1 − p_max keeps its own."""
    with mp.workdps(DIGITS):
        e = [mp.exp(mp.mpf(float(x)) / temperature) for x in s]
        p = [x / mp.fsum(e) for x in e]
        n = range(len(p))
        return mp.matrix([[((i == j) * p[i] - p[i] * p[j]) / temperature for j in n] for i in n])


def exact_norms(s, temperature=1):
    with mp.workdps(DIGITS):
        j = exact_jacobian(s, temperature)
        trace = mp.fsum(j[i, i] for i in range(j.rows))
        frobenius = mp.sqrt(mp.fsum(x * x for x in j))
        spectral = max(mp.eigsy(j, eigvals_only=True))
        return [float(trace), float(frobenius), float(spectral)]


# --- the Jacobian ---


def test_the_jacobian_of_8_4_0_entry_by_entry():
    # mpmath, 40 digits: p as for softmax([8, 4, 0]); p[i]*(1 - p[i]) and -p[i]*p[j]
    with mp.workdps(40):
        p = [mp.exp(x) / mp.fsum(mp.exp(y) for y in (8, 4, 0)) for x in (8, 4, 0)]
        expected = [[float((i == j) * p[i] - p[i] * p[j]) for j in range(3)] for i in range(3)]
    got = softmax_jacobian(softmax([8, 4, 0]))
    assert_allclose(got, expected, rtol=1e-13)
    assert_allclose(np.diag(got).round(5), [0.01797, 0.01766, 0.00033])


@given(rows_of_scores, temperatures)
@settings(deadline=None)
def test_the_jacobian_is_the_complex_step_derivative_of_softmax(s, temperature):
    # Im f(s + ih)/h has no cancellation, so it is exact to rounding.
    h = 1e-30
    stepped = s[..., None, :] + 1j * h * np.eye(s.shape[-1])
    z = (stepped - s.max(axis=-1)[..., None, None]) / temperature
    derivative = (np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)).imag / h
    got = softmax_jacobian(softmax(s, temperature=temperature), temperature=temperature)
    assert_allclose(got, derivative.mT, rtol=1e-9, atol=1e-14 / temperature)


@given(rows_of_scores, temperatures)
@settings(deadline=None)
def test_the_jacobian_is_symmetric_positive_semidefinite_and_sums_to_zero(s, temperature):
    j = softmax_jacobian(softmax(s, temperature=temperature), temperature=temperature)
    assert j.shape == (*s.shape, s.shape[-1])
    assert_array_equal(j, j.mT)
    assert_allclose(j.sum(axis=-1), 0, atol=1e-15 / temperature)
    assert (np.linalg.eigvalsh(j) >= -1e-15 / temperature).all()


def test_the_jacobian_has_rank_n_minus_1_and_uniform_eigenvalues_1_over_n():
    eigenvalues = np.linalg.eigvalsh(softmax_jacobian(np.full(5, 0.2)))
    assert_allclose(eigenvalues, [0, 0.2, 0.2, 0.2, 0.2], atol=1e-16)
    assert np.linalg.matrix_rank(softmax_jacobian(weights(shape=5))) == 4


def test_temperature_divides_the_jacobian():
    p = weights()
    assert_allclose(softmax_jacobian(p, temperature=8), softmax_jacobian(p) / 8, rtol=1e-15)
    assert_allclose(softmax_jvp(p, p, temperature=8), softmax_jvp(p, p) / 8, rtol=1e-15)
    for part in ("trace", "frobenius", "spectral"):
        assert_allclose(getattr(norms(p, temperature=8), part), getattr(norms(p), part) / 8)


def test_an_array_of_temperatures_sweeps():
    t = np.array([1.0, 2.0, 8.0, 64.0])
    p = softmax([8.0, 4.0, 0.0], temperature=t[:, None])
    each = [softmax_jacobian(a, temperature=b) for a, b in zip(p, t, strict=True)]
    assert_array_equal(softmax_jacobian(p, temperature=t[:, None]), each)
    each = [softmax_jvp(a, [1.0, 2.0, 3.0], temperature=b) for a, b in zip(p, t, strict=True)]
    assert_array_equal(softmax_jvp(p, [1.0, 2.0, 3.0], temperature=t[:, None]), each)
    each = [norms(a, temperature=b).frobenius for a, b in zip(p, t, strict=True)]
    assert_allclose(norms(p, temperature=t[:, None]).frobenius, each, rtol=1e-15)


def test_a_masked_entry_and_a_masked_row_have_no_derivative():
    p = softmax([[1.0, -INF, 0.0], [-INF, -INF, -INF]])
    j = softmax_jacobian(p)
    assert (j[0, 1] == 0).all()
    assert (j[0, :, 1] == 0).all()
    assert (j[1] == 0).all()
    assert (softmax_jvp(p, [1.0, 2.0, 3.0])[1] == 0).all()
    size = norms(p)
    assert size.trace[1] == size.frobenius[1] == size.spectral[1] == 0
    assert_allclose(size.trace[0], norms(softmax([1.0, 0.0])).trace)


# --- the product ---


@given(rows_of_scores, temperatures, st.integers(0, 100))
@settings(deadline=None)
def test_the_product_is_the_jacobian_times_the_tangent(s, temperature, seed):
    p = softmax(s, temperature=temperature)
    t = np.random.default_rng(seed).standard_normal(s.shape)
    expected = np.einsum("...ij,...j->...i", softmax_jacobian(p, temperature=temperature), t)
    got = softmax_jvp(p, t, temperature=temperature)
    assert_allclose(got, expected, rtol=1e-9, atol=1e-14 / temperature)


def test_a_constant_tangent_changes_nothing():
    assert_allclose(softmax_jvp(weights(), np.full(5, 3.0)), 0, atol=1e-15)
    assert_allclose(softmax_jvp(weights(), 3.0), 0, atol=1e-15)


def test_tangents_broadcast():
    p, t = weights(shape=(4, 5)), np.random.default_rng(1).standard_normal((3, 1, 5))
    got = softmax_jvp(p, t)
    assert got.shape == (3, 4, 5)
    for i, j in np.ndindex(3, 4):
        assert_allclose(got[i, j], softmax_jacobian(p[j]) @ t[i, 0], rtol=1e-12, atol=1e-16)
    with pytest.raises(ValueError, match=r"n=5 entries a row, got shape \(4,\)"):
        softmax_jvp(p, np.ones(4))
    with pytest.raises(ValueError, match="tangent must hold real numbers"):
        softmax_jvp(p, ["a"] * 5)


# --- norms ---


# mpmath, 40 digits: J = (diag(p) - p pT)/T for softmax([8, 4, 0]/T); mp.eigsy for the last
@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (1, [0.035960573471063091, 0.035472322820214715, 0.035468915384994921]),
        (2, [0.11731042782619836, 0.10649011074360154, 0.10587425375828066]),
        (8, [0.076798971429624599, 0.056393990998816002, 0.049152188036796121]),
    ],
)
def test_norms_of_8_4_0(temperature, expected):
    got = norms(softmax([8, 4, 0], temperature=temperature), temperature=temperature)
    assert_allclose([got.trace, got.frobenius, got.spectral], expected, rtol=1e-13)
    assert_allclose(exact_norms([8, 4, 0], temperature), expected, rtol=1e-15)


def test_scaling_lifts_the_norm_of_8_4_0_by_12_7_but_with_the_chain_factor_by_1_6():
    sharp, soft = softmax([8, 4, 0]), softmax([8, 4, 0], temperature=8)
    assert round(float(norms(soft).frobenius / norms(sharp).frobenius), 1) == 12.7
    assert round(float(norms(soft, temperature=8).frobenius / norms(sharp).frobenius), 1) == 1.6


@given(rows_of_scores, temperatures)
@settings(deadline=None)
def test_norms_agree_with_linear_algebra_on_the_literal_matrix(s, temperature):
    p = softmax(s, temperature=temperature)
    j = softmax_jacobian(p, temperature=temperature)
    got = norms(p, temperature=temperature)
    assert got.trace.shape == got.frobenius.shape == got.spectral.shape == s.shape[:-1]
    atol = 1e-15 / temperature
    assert_allclose(got.trace, np.trace(j, axis1=-2, axis2=-1), rtol=1e-12, atol=atol * 6)
    assert_allclose(got.trace, (1 - (p**2).sum(-1)) / temperature, rtol=1e-12, atol=atol * 6)
    assert_allclose(got.frobenius, np.linalg.norm(j, axis=(-2, -1)), rtol=1e-12, atol=atol)
    assert_allclose(got.spectral, np.linalg.norm(j, 2, axis=(-2, -1)), rtol=1e-12, atol=atol)


@given(hnp.arrays(np.float64, (20, 5), elements=st.floats(-700, 700)))
@settings(deadline=None)
def test_the_spectral_norm_is_at_most_2_p_max_1_minus_p_max_and_a_half(s):
    p = softmax(s)
    got = norms(p)
    top = p.max(axis=-1)
    rest = np.sort(p, axis=-1)[:, :-1].sum(axis=-1)
    assert (got.spectral <= 2 * top * rest * (1 + 1e-14)).all()
    assert (got.spectral <= 0.5 * (1 + 1e-14)).all()
    assert (got.spectral <= got.frobenius * (1 + 1e-14)).all()
    assert (got.frobenius <= got.trace * (1 + 1e-14)).all()


@pytest.mark.parametrize("gap", [0, 1, 2, 4, 8, 16, 20, 40, 100, 500, 700])
def test_two_keys_have_a_quarter_sech_squared(gap):
    with mp.workdps(40):
        expected = float(mp.sech(mp.mpf(gap) / 2) ** 2 / 4)
    got = norms(softmax([gap, 0.0]))  # eigenvalues 0 and 2 p(1−p)
    assert_allclose([got.trace, got.frobenius, got.spectral], 2 * expected, rtol=1e-13)
    # The derivative of one weight by its score, seen from the smaller one: 1 − p is exact there.
    assert_allclose(softmax_jacobian(softmax([gap, 0.0]))[1, 1], expected, rtol=1e-13)


def test_a_gap_of_40_leaves_4e_minus_18():
    # mpmath, 40 digits: mp.sech(20)**2/4
    assert_allclose(softmax_jacobian(softmax([40.0, 0]))[1, 1], 4.248354255291589e-18, rtol=1e-14)


@pytest.mark.parametrize(
    "s", [[40, 0], [80, 3, 0], [300, 10, 9, 8, 0], [40, 40, 0], [1, 2, 3, 4, 5], [50, 49, 0, 0]]
)
@pytest.mark.parametrize("temperature", [1, 0.5, 8])
def test_norms_of_saturated_rows_keep_every_digit(s, temperature):
    got = norms(softmax(s, temperature=temperature), temperature=temperature)
    expected = exact_norms(s, temperature)
    assert_allclose([got.trace, got.frobenius, got.spectral], expected, rtol=2e-13)


def test_a_row_of_1_and_1e_minus_20_is_not_dead():
    got = norms([1e-20, 1.0])
    assert got.trace == got.frobenius == got.spectral == 2e-20
    got = norms([1.0, 1e-200, 0.0])  # the squares underflow
    assert_allclose([got.trace, got.frobenius, got.spectral], 2e-200, rtol=1e-15)
    got = norms(np.float32([1.0, 1e-30]))
    assert_allclose([got.trace, got.frobenius, got.spectral], 2e-30, rtol=1e-6)


@pytest.mark.parametrize("gap", [100, 300, 700, 709, 712, 720, 740])
def test_the_frobenius_norm_is_exact_down_to_the_last_weight_that_is_no_zero(gap):
    row = np.array([np.exp(-gap) / 3, 1.0, np.exp(-gap), 0.0])
    assert_allclose(frobenius_norm(row), norms(row).frobenius, rtol=1e-14)
    pair = np.array([1.0, np.exp(-gap)])  # both its entries, and both beside the diagonal, are p
    assert frobenius_norm(pair) == 2 * pair[1]


def test_a_uniform_row_has_norms_n_minus_1_over_n_root_n_minus_1_over_n_and_1_over_n():
    got = norms(np.full((3, 16), 1 / 16))
    assert_allclose(got.trace, 15 / 16)
    assert_allclose(got.frobenius, np.sqrt(15) / 16)
    assert_allclose(got.spectral, 1 / 16)


def test_one_key_or_none_has_nothing_to_change():
    for p in ([1.0], np.ones((3, 1)), np.ones((3, 0)), np.ones(0)):
        got = norms(p)
        for part in (got.trace, got.frobenius, got.spectral):
            assert part.shape == np.shape(p)[:-1]
            assert (part == 0).all()
        assert (softmax_jacobian(p) == 0).all()


# --- what counts as weights ---

CALLS = [softmax_jacobian, norms, lambda p, **options: softmax_jvp(p, 1.0, **options)]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([8.0, 4.0, 0.0], r"weights must sum to 1 .*, got 12\.0$"),  # scores
        ([[0.5, 0.5], [0.5, 0.52]], r"weights must sum to 1 .*, got 1\.02 at index \(1,\)"),
        ([1.5, -0.5], r"weights must be finite and ≥ 0, got -0\.5 at index \(1,\)"),
        ([[1.0, 0.0], [NAN, 1.0]], r"weights must be finite .*, got nan at index \(1, 0\)"),
        ([INF, 0.0], r"weights must be finite .*, got inf at index \(0,\)"),
        (1.0, "weights must have at least 1 axis, got a single number"),
        ([1j, 0], "weights must hold real numbers, got dtype complex128"),
        (["a"], "weights must hold real numbers"),
    ],
)
def test_what_is_no_row_of_weights_is_refused(call, p, message):
    with pytest.raises(ValueError, match=message):
        call(p)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("temperature", [0, -1, NAN, INF, "1", [1.0, 2.0]])
def test_a_temperature_must_be_positive_and_finite(call, temperature):
    with pytest.raises(ValueError, match="temperature must"):
        call([0.5, 0.5], temperature=temperature)


@pytest.mark.parametrize("call", CALLS)
def test_weights_rounded_as_in_a_textbook_pass(call):
    call([0.98, 0.02, 0.0003])
    call([0.333, 0.333, 0.333])
    call([1, 0, 0])
    call(np.array([0.6, 0.25, 0.08], ml_dtypes.float8_e4m3fn))


@pytest.mark.parametrize(
    ("dtype", "u"),
    [(np.float16, 2.0**-11), (ml_dtypes.bfloat16, 2.0**-8), (np.float32, 2.0**-24)],
)
def test_the_dtype_is_kept_and_the_result_rounded_to_it(dtype, u):
    p = weights(size=1.0).astype(dtype)
    t = np.random.default_rng(1).standard_normal(5)
    wide = p.astype(np.float64)
    pairs = [
        (softmax_jacobian(p, temperature=2), softmax_jacobian(wide, temperature=2)),
        (softmax_jvp(p, t, temperature=2), softmax_jvp(wide, t, temperature=2)),
        (norms(p).trace, norms(wide).trace),
        (norms(p).frobenius, norms(wide).frobenius),
        (norms(p).spectral, norms(wide).spectral),
    ]
    for got, exact in pairs:
        assert got.dtype == dtype
        assert_allclose(got.astype(np.float64), exact, rtol=3 * u, atol=1e-7)
    assert softmax_jacobian([1, 0]).dtype == norms([True, False]).trace.dtype == np.float64
    assert norms(wide.astype(np.longdouble)).spectral.dtype == np.longdouble


# --- gradients of attention ---


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((*LEADING_Q, N_Q, D_K))
    k = rng.standard_normal((*LEADING_K, N_K, D_K))
    v = rng.standard_normal((*LEADING_V, N_K, D_V))
    return q, k, v, rng.standard_normal((2, 4, N_Q, D_V))


def differences(q, k, v, upstream, **options):
    """Central differences of Σ upstream · output, at every entry of q, k and v."""
    arrays, h = [q, k, v], 1e-5
    gradients = []
    for n, x in enumerate(arrays):
        gradient = np.zeros_like(x)
        for index in np.ndindex(x.shape):
            loss = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[n][index] += sign * h
                loss.append(float((upstream * attention(*moved, **options).output).sum()))
            gradient[index] = (loss[0] - loss[1]) / (2 * h)
        gradients.append(gradient)
    return gradients


MASK = np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 0, 1]], bool)
BIAS = np.where(MASK, np.linspace(-1, 1, 15).reshape(3, 5), -INF)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": 1.0},
        {"scale": -0.3},
        {"causal": True},
        {"mask": MASK},
        {"mask": BIAS, "softcap": 0.8},
        {"softcap": 1.5, "causal": True, "mask": [True, True, False, True, True], "scale": 0.7},
    ],
    ids=str,
)
def test_the_gradients_are_those_of_finite_differences(options):
    args = inputs()
    got = attention_gradients(*args, **options)
    expected = differences(*args, **options)
    for g, e, x in zip(got, expected, args, strict=False):
        assert g.shape == x.shape
        assert_allclose(g, e, rtol=1e-6, atol=1e-8)


def test_a_mask_s_own_leading_axes_are_summed_over():
    q, k, v, _ = inputs()
    mask = np.random.default_rng(2).random((6, 1, 1, N_Q, N_K)) < 0.7
    upstream = np.random.default_rng(3).standard_normal((6, 2, 4, N_Q, D_V))
    got = attention_gradients(q, k, v, upstream, mask=mask)
    each = [
        attention_gradients(q, k, v, u, mask=m[0, 0]) for u, m in zip(upstream, mask, strict=True)
    ]
    for g, parts in zip(got, zip(*each, strict=True), strict=True):
        assert_allclose(g, sum(parts), rtol=1e-11, atol=1e-13)


@given(st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_the_gradients_predict_a_small_step_in_any_direction(seed):
    q, k, v, upstream = inputs(seed)
    rng = np.random.default_rng(seed + 1)
    directions = [rng.standard_normal(x.shape) for x in (q, k, v)]
    predicted = sum(
        (g * d).sum()
        for g, d in zip(attention_gradients(q, k, v, upstream), directions, strict=True)
    )
    loss = []
    for h in (1e-5, -1e-5):
        moved = (x + h * d for x, d in zip((q, k, v), directions, strict=True))
        loss.append((upstream * attention(*moved).output).sum())
    assert_allclose(predicted, (loss[0] - loss[1]) / 2e-5, rtol=1e-5, atol=1e-6)


@given(st.integers(0, 1000), st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=25, deadline=None)
def test_a_common_offset_of_the_keys_gets_no_gradient(seed, size):
    # Σ_j ∂L/∂s_ij = 0, so with one query row a shift of all keys together moves nothing.
    rng = np.random.default_rng(seed)
    q, k, v, u = (rng.standard_normal(s) for s in ((N_Q, D_K), (N_K, D_K), (N_K, D_V), (N_Q, D_V)))
    _, dk, dv = attention_gradients(size * q, k, v, u)
    assert_allclose(dk.sum(axis=0), 0, atol=1e-12 * size)
    assert_allclose(dv.sum(axis=0), u.sum(axis=0), rtol=1e-10, atol=1e-12)


def test_what_is_masked_gets_and_gives_no_gradient():
    q, k, v, upstream = inputs()
    mask = np.ones((N_Q, N_K), bool)
    mask[1], mask[:, 3] = False, False
    dq, dk, dv = attention_gradients(q, k, v, upstream, mask=mask)
    assert (dq[..., 1, :] == 0).all()
    assert (dk[..., 3, :] == 0).all()
    assert (dv[..., 3, :] == 0).all()
    assert (dq[..., 0, :] != 0).all()
    for g in attention_gradients(q, k, v, upstream, mask=False):
        assert (g == 0).all()


def test_the_scale_itself_is_a_factor_of_the_gradient():
    # At q = 0 all weights are equal for any scale, so only the chain factor is left.
    q, k, v, upstream = inputs()
    one = attention_gradients(0 * q, k, v, upstream, scale=1.0)[0]
    eighth = attention_gradients(0 * q, k, v, upstream, scale=0.125)[0]
    assert_allclose(eighth, one / 8, rtol=1e-12)
    assert_allclose(attention_gradients(0 * q, k, v, upstream)[0], one / np.sqrt(D_K), rtol=1e-12)


def test_no_keys_no_gradient():
    q, k, v = np.ones((3, 7)), np.ones((0, 7)), np.ones((0, 2))
    dq, dk, dv = attention_gradients(q, k, v, np.ones((3, 2)))
    assert_array_equal(dq, np.zeros((3, 7)))
    assert dk.shape == (0, 7)
    assert dv.shape == (0, 2)


@pytest.mark.parametrize(
    ("dtype", "u"),
    [(np.float16, 2.0**-11), (ml_dtypes.bfloat16, 2.0**-8), (np.float32, 2.0**-21)],
)
def test_narrow_gradients_are_float64_s_rounded_once(dtype, u):
    args = [x.astype(dtype) for x in inputs()]
    exact = attention_gradients(*(x.astype(np.float64) for x in args), softcap=2.0, causal=True)
    got = attention_gradients(*args, softcap=2.0, causal=True)
    for g, e in zip(got, exact, strict=True):
        assert g.dtype == dtype
        assert_allclose(g.astype(np.float64), e, rtol=1.01 * u, atol=1e-5)


def test_integers_become_float64_and_a_wide_upstream_widens_nothing():
    ones = np.ones((2, 2), int)
    assert all(g.dtype == np.float64 for g in attention_gradients(ones, ones, ones, ones))
    q, k, v, upstream = inputs()
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    assert all(g.dtype == np.float32 for g in attention_gradients(q, k, v, upstream))


def test_errors_of_the_gradients_say_required_and_got():
    q, k, v, upstream = inputs()
    with pytest.raises(ValueError, match=r"output's shape \(2, 4, 3, 2\), got \(3, 2\)"):
        attention_gradients(q, k, v, upstream[0, 0])
    with pytest.raises(ValueError, match="upstream must hold real numbers"):
        attention_gradients(q, k, v, upstream * 1j)
    with pytest.raises(ValueError, match=r"k must have d_k=7 columns like q, got shape \(5, 6\)"):
        attention_gradients(q, k[0, :, :6], v, upstream)
    with pytest.raises(ValueError, match="softcap must be one number, positive"):
        attention_gradients(q, k, v, upstream, softcap=0)


def test_no_warning_leaks_even_if_the_caller_raises_on_all():
    with np.errstate(all="raise"):
        p = softmax([800.0, 0.0, -300.0])
        softmax_jacobian(p, temperature=5e-324)
        softmax_jvp(p, [1e308, -1e308, 1e308], temperature=1e-300)
        norms(np.float16([1.0, 1e-7]), temperature=1e300)
        args = [x * 1e15 for x in inputs()]
        attention_gradients(*args)
        attention_gradients(*args, softcap=1e-300)
