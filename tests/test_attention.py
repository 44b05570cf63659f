from dataclasses import FrozenInstanceError
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from sdpa.attention import (
    attention,
    log_softmax,
    naive_softmax,
    scaled_scores,
    scores,
    softmax,
)

INF, NAN = np.inf, np.nan
LEADING_Q, LEADING_K, LEADING_V = (2, 1), (4,), (2, 4)
N_Q, N_K, D_K, D_V = 3, 5, 7, 2  # no two axes of one size: a swapped axis cannot go unseen
EPS = {  # unit roundoff: half the distance from 1 to the next number
    np.float16: 2.0**-11,
    ml_dtypes.bfloat16: 2.0**-8,
    np.float32: 2.0**-24,
    np.float64: 2.0**-53,
}
EVERY_FORMAT = pytest.mark.parametrize("dtype", EPS)


def qkv(seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((*LEADING_Q, N_Q, D_K))
    k = rng.standard_normal((*LEADING_K, N_K, D_K))
    v = rng.standard_normal((*LEADING_V, N_K, D_V))
    return q.astype(dtype), k.astype(dtype), v.astype(dtype)


def by_loops(q, k, v, *, scale, allowed, bias=0.0, softcap=None):
    """Attention from its definition, entry by entry, with Python's exact sums."""
    bias = np.broadcast_to(bias, (q.shape[0], k.shape[0]))
    weights = np.zeros((q.shape[0], k.shape[0]))
    for i, j in np.ndindex(weights.shape):
        s = sum(q[i, c] * k[j, c] for c in range(q.shape[1])) * scale
        s = s if softcap is None else softcap * np.tanh(s / softcap)
        weights[i, j] = np.exp(s + bias[i, j]) if allowed[i, j] else 0.0
    total = weights.sum(axis=1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return weights, np.einsum("ij,jd->id", weights, v)


finite_scores = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6),
    elements=st.floats(-1e4, 1e4),
)


# --- scores ---


def test_a_score_is_the_dot_product_of_its_query_and_its_key():
    q, k, _ = qkv()
    expected = np.einsum("...ic,...jc->...ij", q, k)
    assert scores(q, k).shape == (2, 4, N_Q, N_K)
    assert_allclose(scores(q, k), expected, rtol=1e-13, atol=1e-14)


def test_scores_of_integers_are_exact_float64():
    q = [[1, 2, 3], [-4, 5, 6]]
    k = [[7, 8, 9]]
    assert_array_equal(scores(q, k), [[50.0], [66.0]])  # 7 + 16 + 27, −28 + 40 + 54
    assert scores(q, k).dtype == np.float64
    assert scores(np.array(q) > 0, np.uint8(k)).dtype == np.float64


@EVERY_FORMAT
def test_scores_keep_the_floating_dtype(dtype):
    q, k, _ = qkv(dtype=dtype)
    assert scores(q, k).dtype == dtype
    assert scaled_scores(q, k).dtype == dtype


def test_mixed_floats_meet_in_the_wider_one():
    q, k, _ = qkv()
    assert scores(q.astype(np.float16), k.astype(np.float32)).dtype == np.float32
    assert scores(q.astype(ml_dtypes.bfloat16), k.astype(np.float32)).dtype == np.float32
    assert scores(q.astype(np.float16), np.ones((N_K, D_K), int)).dtype == np.float64
    assert scores(q.astype(np.longdouble), k).dtype == np.longdouble


def test_float16_and_bfloat16_have_no_common_dtype():
    q, k, _ = qkv()
    with pytest.raises(ValueError, match="q, k must have a common dtype, got q float16, k bfloat1"):
        scores(q.astype(np.float16), k.astype(ml_dtypes.bfloat16))


def test_a_narrow_product_is_rounded_once():
    # 2048 + 1 + 1: float16 spaces its numbers 2 apart from 2048 on, so rounding after each
    # addition would stay at 2048.
    q = np.float16([[2048, 1, 1]])
    assert scores(q, np.ones((1, 3), np.float16)) == 2050
    rng = np.random.default_rng(1)
    q, k = (rng.standard_normal((n, 64)).astype(np.float16) for n in (3, 5))
    exact = [
        [float(sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y, strict=True)))
         for y in k]
        for x in q
    ]  # fmt: skip
    assert_allclose(scores(q, k).astype(float), exact, rtol=EPS[np.float16] * 1.001)


def test_the_accumulator_of_a_narrow_product_is_float32_and_no_wider():
    q = np.array([[2e38, -2e38]], ml_dtypes.bfloat16)  # 4e38 is beyond float32, 0 would not be
    assert not np.isfinite(scores(q, np.full((1, 2), 2, q.dtype)))


def test_q_k_beyond_65504_is_inf_in_float16_and_scaling_later_does_not_help():
    q = np.full((1, 64), 40, np.float16)  # 64 · 1600 = 102400
    assert scores(q, q) == INF
    assert scaled_scores(q, q) == INF
    assert scores(q / np.float16(8), q) == 12800  # scaling q first does
    assert scores(q, -q) == -INF


@pytest.mark.parametrize("d_k", [1, 7, 64, 512])
def test_the_default_scale_is_one_over_root_d_k(d_k):
    q, k = np.random.default_rng(2).standard_normal((2, 3, d_k))
    assert_allclose(scaled_scores(q, k), q @ k.T / d_k**0.5, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [0, -2, 0.125, 1 / 3, np.float32(0.5), np.array(3.0)])
def test_any_finite_scale_is_one_factor_on_the_scores(scale):
    q, k, v = qkv()
    assert_array_equal(scaled_scores(q, k, scale=scale), scores(q, k) * float(scale))
    assert_array_equal(attention(q, k, v, scale=scale).scaled, scores(q, k) * float(scale))


@pytest.mark.parametrize("scale", [NAN, INF, -INF, "2", 1j, [1.0, 2.0]])
def test_a_scale_that_is_not_one_finite_number_is_refused(scale):
    q, k, v = qkv()
    with pytest.raises(ValueError, match="scale must"):
        scaled_scores(q, k, scale=scale)
    with pytest.raises(ValueError, match="scale must"):
        attention(q, k, v, scale=scale)


@pytest.mark.parametrize(
    ("q", "k", "message"),
    [
        ((64,), (4, 64), r"q must have shape \(\.\.\., n_q, d_k\), got \(64,\)"),
        ((3, 64), (64,), r"k must have shape \(\.\.\., n_k, d_k\), got \(64,\)"),
        ((3, 64), (4, 32), r"k must have d_k=64 columns like q, got shape \(4, 32\)"),
        ((3, 0), (4, 0), r"q must have d_k of at least 1, got shape \(3, 0\)"),
        ((2, 3, 7), (4, 5, 7), r"must broadcast, got q \(2, 3, 7\), k \(4, 5, 7\)"),
    ],
)
def test_shapes_that_do_not_fit_are_named(q, k, message):
    with pytest.raises(ValueError, match=message):
        scores(np.ones(q), np.ones(k))
    with pytest.raises(ValueError, match=message):
        scaled_scores(np.ones(q), np.ones(k))


@pytest.mark.parametrize(
    "bad",
    [[[1j, 2]], [["a", "b"]], [[None, 1.0]], np.zeros((1, 2), "M8[s]"), np.zeros((1, 2), "V4")],
)
def test_what_is_not_real_is_refused_with_its_dtype(bad):
    dtype = str(np.asarray(bad).dtype)
    for call in (softmax, log_softmax, naive_softmax):
        with pytest.raises(ValueError, match="scores must hold real numbers, got dtype ") as error:
            call(bad)
        assert dtype in str(error.value)
    with pytest.raises(ValueError, match="k must hold real numbers"):
        scores([[1.0, 2.0]], bad)
    with pytest.raises(ValueError, match="v must hold real numbers"):
        attention([[1.0]], [[1.0]], bad)


# --- softmax ---


# mpmath, 40 digits: e = [mp.e**(mpf(x)/T) for x in s]; [x/sum(e) for x in e]
@pytest.mark.parametrize(
    ("s", "temperature", "expected"),
    [
        ([0.2, 0.1, 0], 1, [0.36716540111092547, 0.33222499353334724, 0.30060960535572729]),
        ([20, 10, 0], 1, [0.99995460007033109, 4.5397868608866661e-5, 2.0610600462090623e-9]),
        ([8, 4, 0], 1, [0.98169039282550456, 0.017980286735531545, 0.00032932043896389291]),
        ([8, 4, 0], 8, [0.50648039105565403, 0.3071958857184984, 0.18632372322584758]),
        ([40, 0], 1, [1.0, 4.248354255291589e-18]),
    ],
)
def test_softmax_of_the_lesson_s_numbers(s, temperature, expected):
    assert_allclose(softmax(s, temperature=temperature), expected, rtol=1e-14)
    assert_allclose(
        log_softmax(s, temperature=temperature), np.log(expected), rtol=1e-13, atol=1e-16
    )


@given(finite_scores, st.data())
@settings(deadline=None)
def test_softmax_agrees_with_scipy(s, data):
    axis = data.draw(st.integers(-s.ndim, s.ndim - 1))
    assert_allclose(softmax(s, axis), scipy.special.softmax(s, axis), rtol=1e-12)
    assert_allclose(
        log_softmax(s, axis), scipy.special.log_softmax(s, axis), rtol=1e-12, atol=1e-12
    )


@given(finite_scores, st.data())
@settings(deadline=None)
def test_weights_are_shares_of_one(s, data):
    axis = data.draw(st.integers(-s.ndim, s.ndim - 1))
    p = softmax(s, axis)
    assert p.shape == s.shape
    assert ((p >= 0) & (p <= 1)).all()
    assert_allclose(p.sum(axis), 1, rtol=1e-14)


@given(finite_scores, st.integers(-1000, 1000))
@settings(deadline=None)
def test_a_common_offset_changes_no_weight(s, offset):
    assert_allclose(softmax(s + offset), softmax(s), rtol=1e-10, atol=1e-300)


@given(hnp.arrays(np.float64, (2, 5), elements=st.floats(-50, 50)))
@settings(deadline=None)
def test_subtracting_the_maximum_changes_no_weight(s):
    assert_allclose(softmax(s), naive_softmax(s), rtol=1e-13)


@given(hnp.arrays(np.float64, 5, elements=st.floats(-50, 50)), st.floats(0.01, 100))
@settings(deadline=None)
def test_temperature_divides_the_scores_and_keeps_their_ranking(s, temperature):
    p = softmax(s, temperature=temperature)
    assert_allclose(p, softmax(s / temperature), rtol=1e-10, atol=1e-300)
    assert (np.diff(p[np.argsort(s)]) >= 0).all()


def test_the_hottest_softmax_is_uniform_and_the_coldest_takes_the_maximum():
    s = [8.0, 4.0, 0.0]
    assert_allclose(softmax(s, temperature=1e308), np.full(3, 1 / 3), rtol=1e-15)
    for dtype in (np.float16, np.float32, np.float64):
        for tiny in (1e-5, 1e-50, 5e-324):
            assert_array_equal(softmax(dtype(s), temperature=tiny), [1, 0, 0])
            assert_array_equal(softmax(dtype([5, 5]), temperature=tiny), [0.5, 0.5])
            assert_array_equal(log_softmax(dtype(s), temperature=5e-324), [0, -INF, -INF])
    # A T beyond float32 stays a T: nothing turns into −inf/inf.
    assert_array_equal(softmax(np.float32([1, -INF]), temperature=1e300), [1, 0])


def test_an_array_of_temperatures_sweeps():
    s, temperatures = np.array([8.0, 4.0, 0.0]), np.array([1.0, 2.0, 8.0, 64.0])
    swept = softmax(s, temperature=temperatures[:, None])
    assert_array_equal(swept, [softmax(s, temperature=t) for t in temperatures])
    swept = log_softmax(s[:, None], axis=0, temperature=temperatures.reshape(4, 1, 1))
    assert_array_equal(swept[..., 0], [log_softmax(s, temperature=t) for t in temperatures])
    assert softmax(np.float32(s), temperature=temperatures[:, None]).dtype == np.float32


@pytest.mark.parametrize("temperature", [0, -1, NAN, INF, [[1.0], [-2.0]], "1", None, 1j])
@pytest.mark.parametrize("call", [softmax, log_softmax])
def test_a_temperature_must_be_positive_and_finite(call, temperature):
    with pytest.raises(ValueError, match="temperature must"):
        call([1.0, 2.0], temperature=temperature)


def test_a_bad_temperature_is_named_with_its_place():
    with pytest.raises(ValueError, match=r"positive and finite, got -1\.0$"):
        softmax([1.0, 2.0], temperature=-1)
    with pytest.raises(ValueError, match=r"got -2\.0 at index \(1, 0\)"):
        softmax([1.0, 2.0], temperature=[[1.0], [-2.0]])


def test_one_row_has_one_temperature():
    with pytest.raises(ValueError, match=r"size 1 along axis -1, got shape \(2,\)"):
        softmax([1.0, 2.0], temperature=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"size 1 along axis -2, got shape \(3, 1\)"):
        softmax(np.ones((3, 2)), axis=0, temperature=np.ones((3, 1)))


# The test cases of ONNX's Softmax and LogSoftmax operators.
LARGE = np.float32([[0, 1, 2, 3], [10000, 10001, 10002, 10003]])


def test_onnx_large_numbers():
    expected = [[0.032058604, 0.08714432, 0.23688284, 0.6439143]] * 2
    assert_allclose(softmax(LARGE), expected, rtol=3e-7)
    expected = [[-3.4401896, -2.4401896, -1.4401896, -0.44018966]] * 2
    assert_allclose(log_softmax(LARGE), expected, rtol=3e-7)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_onnx_axes(axis):
    x = np.abs(np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32))
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    expected = e / e.sum(axis=axis, keepdims=True)
    assert softmax(x, axis).dtype == np.float32
    assert_allclose(softmax(x, axis), expected, rtol=1e-6)
    assert_allclose(log_softmax(x, axis), np.log(expected), rtol=1e-5, atol=1e-6)


def test_onnx_default_axis_is_the_last_and_the_example():
    assert_allclose(softmax([[-1.0, 0.0, 1.0]]), [[0.09003058, 0.24472848, 0.66524094]], rtol=1e-6)
    x = np.random.default_rng(0).standard_normal((3, 4, 5))
    assert_array_equal(softmax(x), softmax(x, axis=-1))
    assert_array_equal(log_softmax(x), log_softmax(x, axis=2))
    assert_array_equal(naive_softmax(x), naive_softmax(x, axis=2))


@EVERY_FORMAT
def test_softmax_in_a_format_is_the_exact_one_rounded(dtype):
    s = (np.random.default_rng(3).standard_normal((6, 50)) * 4).astype(dtype)
    p, log_p = softmax(s), log_softmax(s)
    assert p.dtype == log_p.dtype == naive_softmax(s).dtype == dtype
    exact = scipy.special.softmax(s.astype(np.float64), axis=-1)
    tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    u = EPS[dtype] * (1.01 if np.dtype(dtype).itemsize < 4 else 40)
    assert_allclose(p.astype(np.float64), exact, rtol=u, atol=tiny)
    # float64's atol: the logarithm subtracts, so its error is that of the larger terms
    assert_allclose(log_p.astype(np.float64), np.log(exact), rtol=u, atol=8 * u)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_the_sum_of_many_entries_neither_overflows_nor_stalls(dtype):
    n = 100_000  # beyond float16's 65504; bfloat16 cannot count past 256 by ones
    p = softmax(np.zeros(n, dtype))
    assert_array_equal(p, np.full(n, 1 / n).astype(dtype))
    assert_allclose(float(log_softmax(np.zeros(n, dtype))[0]), -np.log(n), rtol=2 * EPS[dtype])


def test_float8_works_by_its_casts_alone():
    for dtype in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn):
        p = softmax(np.array([2, 1, 0], dtype))
        assert p.dtype == dtype
        assert_allclose(p.astype(float), softmax([2.0, 1.0, 0.0]), rtol=0.13)
    assert softmax(np.array([2, 1, 0], ml_dtypes.int4)).dtype == np.float64
    assert softmax(np.array([2, 1, 0], np.uint64)).dtype == np.float64


def test_log_softmax_is_finite_where_the_weight_is_not_there():
    s = np.float32([0, -200])
    assert_array_equal(softmax(s), [1, 0])
    assert_array_equal(log_softmax(s), s)
    assert_allclose(log_softmax([1e300, 0.0]), [0, -1e300])


@pytest.mark.parametrize(("call", "empty"), [(softmax, 0.0), (log_softmax, -INF)])
def test_a_masked_entry_counts_for_nothing_and_a_masked_row_gives_nothing(call, empty):
    s = np.array([[1.0, -INF, 0.0], [-INF, -INF, -INF]])
    p = call(s)
    assert_allclose(p[0, [0, 2]], call([1.0, 0.0]), rtol=1e-15)
    assert p[0, 1] == empty
    assert_array_equal(p[1], [empty] * 3)
    assert_array_equal(call(s.T, axis=0), p.T)
    assert_array_equal(call(np.float16(s))[1], [empty] * 3)
    assert_array_equal(call(s, temperature=[[2.0], [3.0]])[1], [empty] * 3)


@pytest.mark.parametrize("call", [softmax, log_softmax])
@pytest.mark.parametrize(("value", "name"), [(NAN, "nan"), (INF, "inf")])
@EVERY_FORMAT
def test_nan_and_plus_inf_are_refused_with_the_place_of_the_first(call, value, name, dtype):
    s = np.array([[0.0, value], [value, -INF]]).astype(dtype)
    message = rf"scores must be finite or −inf \(masked\), got {name} at index \(0, 1\)"
    with pytest.raises(ValueError, match=message):
        call(s)


@pytest.mark.parametrize("call", [softmax, log_softmax, naive_softmax])
def test_a_single_number_and_a_missing_axis_are_refused(call):
    with pytest.raises(ValueError, match="at least 1 axis"):
        call(1.0)
    for axis in (2, -3):
        with pytest.raises(ValueError, match=f"axis {axis} is out of bounds"):
            call(np.ones((2, 3)), axis)


@pytest.mark.parametrize("call", [softmax, log_softmax, naive_softmax])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
def test_an_empty_axis_stays_empty(call, shape):
    for axis in range(len(shape)):
        assert call(np.ones(shape, np.float32), axis).shape == shape


@pytest.mark.parametrize("call", [softmax, log_softmax, naive_softmax])
@EVERY_FORMAT
def test_the_input_is_not_written_to(call, dtype):
    s = np.array([[1.0, 2.0], [-INF, -INF]]).astype(dtype)
    before = s.copy()
    call(s)[...] = 7
    assert_array_equal(s, before)


# --- naive softmax ---


@pytest.mark.parametrize(
    ("s", "expected"),
    [
        (np.float32([89, 88, 87]), [NAN, 0, 0]),  # exp overflows above 88.7228
        (np.float64([710, 709, 0]), [NAN, 0, 0]),  # above 709.7827
        (np.float16([12, 11, 10]), [NAN, 0, 0]),  # above 11.0899
        (np.float64([1000, 999, 998]), [NAN] * 3),
        (np.float32([-104, -105, -106]), [NAN] * 3),  # 0/0
        (np.float16([-20, -21, -22]), [NAN] * 3),
        (np.float64([NAN, 0]), [NAN, NAN]),
        (np.float64([-INF, -INF]), [NAN, NAN]),
        (np.float64([INF, 0]), [NAN, 0]),
    ],
)
def test_the_naive_softmax_breaks_where_its_format_ends(s, expected):
    assert_array_equal(naive_softmax(s), expected)


def test_the_stable_softmax_does_not():
    expected = softmax([2.0, 1.0, 0.0])
    for s in (np.float32([89, 88, 87]), np.float16([12, 11, 10]), np.float64([1e3, 999, 998])):
        assert_allclose(softmax(s), expected, rtol=2 * EPS[s.dtype.type])
        assert_allclose(softmax(-s[::-1]), expected, rtol=2 * EPS[s.dtype.type])


def test_the_naive_sum_is_held_in_its_own_format():
    ones = np.zeros(100_000, np.float16)
    assert_array_equal(naive_softmax(ones), np.zeros_like(ones))  # 1/inf
    assert naive_softmax(np.zeros(1000, ml_dtypes.bfloat16))[0] != np.array(
        1e-3, ml_dtypes.bfloat16
    )


# --- attention ---


def test_attention_follows_its_definition_on_every_leading_index():
    q, k, v = qkv()
    got = attention(q, k, v)
    for i, j in np.ndindex(2, 4):
        weights, output = by_loops(
            q[i, 0], k[j], v[i, j], scale=7**-0.5, allowed=np.ones((N_Q, N_K), bool)
        )
        assert_allclose(got.weights[i, j], weights, rtol=1e-13)
        assert_allclose(got.output[i, j], output, rtol=1e-12, atol=1e-15)


def test_the_steps_are_raw_scaled_logits_weights_output():
    q, k, v = qkv()
    got = attention(q, k, v, softcap=0.7, causal=True)
    assert_array_equal(got.scores, scores(q, k))
    assert_array_equal(got.scaled, scaled_scores(q, k))
    visible = np.arange(N_K) <= np.arange(N_Q)[:, None]
    assert_array_equal(got.logits, np.where(visible, 0.7 * np.tanh(got.scaled / 0.7), -INF))
    assert_array_equal(got.weights, softmax(got.logits))
    assert_array_equal(got.output, got.weights @ v)
    with pytest.raises(FrozenInstanceError):
        got.output = 0


@given(
    seed=st.integers(0, 1000),
    scale=st.none() | st.floats(-2, 2),
    causal=st.booleans(),
    softcap=st.none() | st.floats(0.1, 50),
    kind=st.sampled_from(["none", "boolean", "additive"]),
)
@settings(max_examples=60, deadline=None)
def test_every_combination_of_options_follows_the_definition(seed, scale, causal, softcap, kind):
    rng = np.random.default_rng(seed)
    q, k, v = (rng.standard_normal(s) for s in ((N_Q, D_K), (N_K, D_K), (N_K, D_V)))
    allowed = rng.random((N_Q, N_K)) < 0.6
    bias = np.where(allowed, rng.standard_normal((N_Q, N_K)), -INF)
    mask = {"none": None, "boolean": allowed, "additive": bias}[kind]
    got = attention(q, k, v, scale=scale, mask=mask, causal=causal, softcap=softcap)
    seen = allowed if kind != "none" else np.ones((N_Q, N_K), bool)
    if causal:
        seen = seen & np.array([[j <= i for j in range(N_K)] for i in range(N_Q)])
    weights, output = by_loops(
        q, k, v,
        scale=7**-0.5 if scale is None else scale,
        allowed=seen,
        bias=np.where(allowed, bias, 0) if kind == "additive" else 0.0,
        softcap=softcap,
    )  # fmt: skip
    assert_allclose(got.weights, weights, rtol=1e-11, atol=1e-300)
    assert_allclose(got.output, output, rtol=1e-10, atol=1e-12)


def test_causal_is_aligned_at_the_top_left_whatever_the_shape():
    q, k, v = qkv()
    wide = attention(q, k, v, causal=True).weights > 0  # 3 queries, 5 keys
    assert_array_equal(wide[0, 0], [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]])
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, 7)) for n in (5, 3, 3))
    tall = attention(q, k, v, causal=True).weights > 0
    assert_array_equal(tall, [[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def test_a_mask_and_causal_must_both_allow():
    q, k, v = qkv()
    mask = np.array([1, 0, 1, 1, 1], bool)
    seen = attention(q, k, v, mask=mask, causal=True).weights[1, 3] > 0
    assert_array_equal(seen, [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 0, 1, 0, 0]])


def test_boolean_and_additive_masks_say_the_same():
    q, k, v = qkv()
    allowed = np.random.default_rng(4).random((N_Q, N_K)) < 0.5
    boolean = attention(q, k, v, mask=allowed)
    additive = attention(q, k, v, mask=np.where(allowed, 0.0, -INF))
    assert_array_equal(boolean.logits, additive.logits)
    assert_array_equal(boolean.output, additive.output)


def test_an_additive_mask_shifts_the_logits():
    q, k, v = qkv(dtype=np.float32)
    bias = np.random.default_rng(5).standard_normal((N_Q, N_K))
    got = attention(q, k, v, mask=bias)
    assert got.logits.dtype == np.float32  # a float64 mask does not widen the result
    assert_allclose(got.logits, got.scaled + bias, rtol=1e-6, atol=1e-6)
    narrow = attention(q, k, v, mask=bias.astype(ml_dtypes.bfloat16))
    assert_allclose(narrow.logits, got.logits, atol=0.02)


def test_the_softcap_comes_before_the_mask():
    q, k, v = qkv()
    got = attention(10 * q, 10 * k, v, softcap=2.0, mask=np.full((N_Q, N_K), 5.0))
    assert np.abs(got.logits - 5).max() <= 2
    assert np.abs(got.logits).max() > 5
    got = attention(q, k, v, softcap=2.0, causal=True)
    assert (got.weights[..., 0, 1:] == 0).all()  # −inf, not −2


@pytest.mark.parametrize("softcap", [0, -1, NAN, INF, "5", [1.0]])
def test_a_softcap_must_be_positive_and_finite(softcap):
    with pytest.raises(ValueError, match="softcap must "):
        attention(*qkv(), softcap=softcap)


def test_a_huge_softcap_changes_nothing_and_a_tiny_one_overflows_nothing():
    q, k, v = qkv()
    assert_allclose(attention(q, k, v, softcap=1e9).logits, scaled_scores(q, k), rtol=1e-12)
    assert_allclose(attention(q, k, v, softcap=5e-324).weights, 1 / N_K, rtol=1e-12)


def test_a_fully_masked_query_has_no_weights_and_no_output():
    q, k, v = qkv()
    mask = np.ones((N_Q, N_K), bool)
    mask[1] = False
    for m in (mask, np.where(mask, 0.0, -INF)):
        got = attention(q, k, v, mask=m)
        assert (got.weights[..., 1, :] == 0).all()
        assert (got.output[..., 1, :] == 0).all()
        plain = attention(q, k, v)
        assert_array_equal(got.output[..., [0, 2], :], plain.output[..., [0, 2], :])


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_mask_hides_even_a_score_that_is_not_finite(value):
    q, k, v = qkv()
    k[:, 3, :] = value
    mask = np.array([1, 1, 1, 0, 1], bool)
    for m in (mask, np.where(mask, 0.0, -INF)):
        got = attention(q, k, v, mask=m)
        without = attention(q, k[:, mask], v[..., mask, :])
        assert_allclose(got.weights[..., mask], without.weights, rtol=1e-14)
        assert_allclose(got.output, without.output, rtol=1e-13, atol=1e-15)


def test_a_hidden_value_that_is_nan_is_not_hidden():
    out = attention([[1.0]], [[1.0], [1.0]], [[2.0], [NAN]], mask=[True, False]).output
    assert np.isnan(out).all()  # as the docstring says


def test_masks_broadcast_and_may_bring_leading_axes():
    q, k, v = qkv()
    allowed = np.random.default_rng(6).random((6, 1, 1, N_Q, N_K)) < 0.7
    got = attention(q, k, v, mask=allowed)
    assert got.output.shape == (6, 2, 4, N_Q, D_V)
    for i in range(6):
        assert_array_equal(got.output[i], attention(q, k, v, mask=allowed[i, 0, 0]).output)
    by_query = attention(q, k, v, mask=[[True], [False], [True]])
    assert_array_equal(by_query.weights.sum(-1).round(12)[0, 0], [1, 0, 1])
    assert attention(q, k, v, mask=True).weights.all()


@pytest.mark.parametrize("shape", [(N_Q, 4), (4, N_K), (N_K, N_Q), (3, 1, N_Q, N_K)])
def test_a_mask_that_does_not_fit_is_named_with_both_shapes(shape):
    with pytest.raises(ValueError, match=r"\(2, 4, 3, 5\), got shape ") as error:
        attention(*qkv(), mask=np.ones(shape, bool))
    assert str(shape) in str(error.value)
    with pytest.raises(ValueError, match=r"=\(1, 5\), got shape \(3, 5\)"):  # more queries
        attention(np.ones((1, 7)), np.ones((5, 7)), np.ones((5, 2)), mask=np.ones((3, 5), bool))


def test_a_mask_of_integers_is_refused():
    with pytest.raises(ValueError, match=r"boolean .* or floating .*, got int64"):
        attention(*qkv(), mask=np.ones((N_Q, N_K), int))


@pytest.mark.parametrize("value", [NAN, INF])
def test_an_additive_mask_holds_no_nan_and_no_plus_inf(value):
    mask = np.zeros((N_Q, N_K))
    mask[2, 3] = value
    with pytest.raises(ValueError, match=rf"additive mask .* got {value} at index \(2, 3\)"):
        attention(*qkv(), mask=mask)
    with pytest.raises(ValueError, match="mask must hold real numbers"):
        attention(*qkv(), mask=np.full((N_Q, N_K), "x"))


def test_v_must_fit():
    q, k, _ = qkv()
    with pytest.raises(ValueError, match=r"v must have n_k=5 rows like k, got shape \(3, 8\)"):
        attention(q, k, np.ones((3, 8)))
    with pytest.raises(ValueError, match=r"v must have shape \(\.\.\., n_k, d_v\), got \(5,\)"):
        attention(q, k, np.ones(5))
    with pytest.raises(ValueError, match=r"must broadcast, got .* v \(3, 5, 2\)"):
        attention(q, k, np.ones((3, 5, 2)))


def test_no_keys_give_no_weights_and_zero_output():
    for causal in (False, True):
        got = attention(np.ones((3, 7)), np.ones((0, 7)), np.ones((0, 2)), causal=causal)
        assert got.weights.shape == (3, 0)
        assert_array_equal(got.output, np.zeros((3, 2)))
    assert attention(np.ones((0, 7)), np.ones((5, 7)), np.ones((5, 2))).output.shape == (0, 2)


@given(st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_attention_does_not_mind_the_order_of_the_keys(seed):
    q, k, v = qkv(seed)
    order = np.random.default_rng(seed).permutation(N_K)
    got, shuffled = attention(q, k, v), attention(q, k[:, order], v[..., order, :])
    assert_allclose(shuffled.weights, got.weights[..., order], rtol=1e-12)
    assert_allclose(shuffled.output, got.output, rtol=1e-11, atol=1e-13)


@given(st.integers(0, 1000), st.floats(0.1, 100))
@settings(max_examples=25, deadline=None)
def test_the_output_is_a_mixture_of_the_values(seed, size):
    q, k, v = qkv(seed)
    out = attention(size * q, k, v).output
    assert (out <= v.max(axis=-2, keepdims=True) + 1e-12).all()
    assert (out >= v.min(axis=-2, keepdims=True) - 1e-12).all()


@EVERY_FORMAT
def test_attention_in_a_format_is_float64_s_within_its_rounding(dtype):
    q, k, v = qkv(dtype=dtype)
    options = {"causal": True, "mask": [1.0, 0.5, 0.0, -INF, 0.0], "softcap": 3.0}
    got = attention(q, k, v, **options)
    exact = attention(*(x.astype(np.float64) for x in (q, k, v)), **options)
    u = EPS[dtype]
    size = np.abs(exact.scores).max()
    for step, bound in [
        ("scores", u * size),
        ("scaled", 2 * u * size),
        ("logits", 4 * u * size),
        ("weights", 9 * u * size),  # dp ≤ 2 max|ds| p(1−p), plus its own rounding
        ("output", 40 * u * size),
    ]:
        a, b = getattr(got, step), getattr(exact, step)
        assert a.dtype == dtype
        assert a.shape == b.shape
        # atol also carries float32 and float64's own summation error, a few units each
        assert_allclose(a.astype(np.float64), b, rtol=0, atol=4 * bound)


def test_each_narrow_step_is_held_in_the_format():
    q, k, v = qkv(dtype=ml_dtypes.bfloat16)
    got = attention(q, k, v)
    f = np.float32
    raw = (q.astype(f) @ k.astype(f).mT).astype(q.dtype)
    assert_array_equal(got.scores, raw)
    scaled = (raw.astype(f) / np.sqrt(7)).astype(q.dtype)
    assert_array_equal(got.scaled, scaled)
    assert_array_equal(got.weights, softmax(scaled))
    assert_array_equal(got.output, (got.weights.astype(f) @ v.astype(f)).astype(q.dtype))


def test_overflow_of_q_k_in_float16_is_explained():
    q = np.full((1, 64), 40, np.float16)
    k, v = np.stack([q[0], np.zeros(64, np.float16)]), np.ones((2, 1), np.float16)
    message = r"logits must .* got inf at index \(0, 0\); q kᵀ is not finite in float16: scale q"
    with pytest.raises(ValueError, match=message):
        attention(q, k, v)
    assert attention(q / np.float16(8), k, v, scale=1).weights[0, 0] == 1
    wider = attention(*(x.astype(ml_dtypes.bfloat16) for x in (q, k, v)))
    assert wider.weights[0, 0] == 1
    assert attention(q, k, v, mask=[False, True]).weights[0, 1] == 1


def test_a_row_sunk_by_overflow_is_not_taken_for_a_masked_one():
    q = np.full((1, 64), 40, np.float16)
    with pytest.raises(ValueError, match=r"got -inf at index \(0, 0\); q kᵀ is not finite"):
        attention(q, -q, np.ones((1, 1), np.float16))
    k = np.stack([-q[0], 0 * q[0]])
    got = attention(q, k, np.ones((2, 1), np.float16))
    assert_array_equal(got.weights, [[0, 1]])  # beside a larger score it is right


def test_a_row_sunk_by_its_additive_mask_is_a_masked_one():
    q, k, v = qkv(dtype=np.float16)
    got = attention(q, k, v, mask=np.full((N_Q, N_K), -1e9))  # −inf once it is held in float16
    assert (got.logits == -INF).all()
    assert (got.output == 0).all()


def test_nan_in_q_is_not_called_an_overflow_alone():
    q, k, v = qkv()
    q[1, 0, 2, 0] = NAN
    with pytest.raises(ValueError, match=r"nan at index \(1, 0, 2, 0\).*unless q or k itself"):
        attention(q, k, v)


def test_a_format_without_inf_cannot_be_masked():
    q = np.ones((2, 2), ml_dtypes.float8_e4m3fn)
    assert_allclose(attention(q, q, q).weights.astype(float), 0.5)
    with pytest.raises(ValueError, match="format that has −inf, got float8_e4m3fn"):
        attention(q, q, q, causal=True)
    q = np.ones((2, 2), ml_dtypes.float8_e5m2)
    assert_array_equal(attention(q, q, q, causal=True).weights.astype(float), [[1, 0], [0.5, 0.5]])


def test_8_4_0_is_a_draw_at_d_k_64():
    k = np.zeros((3, 64))
    k[:, 0] = [8, 4, 0]
    q = np.zeros((1, 64))
    q[0, 0] = 1
    got = attention(q, k, np.eye(3))
    assert_array_equal(got.scores, [[8, 4, 0]])
    assert_array_equal(got.scaled, [[1, 0.5, 0]])
    assert_array_equal(attention(q, k, np.eye(3), scale=1).output.round(3), [[0.982, 0.018, 0]])
    assert_array_equal(got.output.round(3), [[0.506, 0.307, 0.186]])


@example(d_k=1)
@given(st.integers(1, 300))
@settings(max_examples=20, deadline=None)
def test_scaling_q_first_gives_the_same_weights(d_k):
    q, k, v = (np.random.default_rng(d_k).standard_normal((n, d_k)) for n in (3, 5, 5))
    first = attention(q / np.sqrt(d_k), k, v, scale=1)
    assert_allclose(first.weights, attention(q, k, v).weights, rtol=1e-11)


def test_no_warning_leaks_even_if_the_caller_raises_on_all():
    big = np.full((2, 3), 3e38, np.float32)
    with np.errstate(all="raise"):
        assert (scores(big, big) == INF).all()
        naive_softmax(big)
        softmax(big * [[1], [-1]], temperature=1e-30)
        log_softmax(np.float32([-3e38, 3e38]))
        attention(big, big, big, scale=0, mask=False)
        with pytest.raises(ValueError, match="q kᵀ is not finite"):
            attention(big, big, big)
