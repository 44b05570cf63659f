import math

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdpa.formats import (
    FORMATS,
    aligned_component_limit,
    as_format,
    dot_product_steps,
    exp_overflow_threshold,
    exp_underflow_threshold,
    saturation_gap,
    softmax_steps,
)

INF = math.inf
# Bits of significand (with the hidden one), largest and smallest exponent: IEEE 754-2019 table
# 3.5, bfloat16 (float32's exponents), and the 8-bit formats of arXiv:2209.05433 table 1.
LAYOUT = {
    "float64": (53, 1023, -1022),
    "float32": (24, 127, -126),
    "bfloat16": (8, 127, -126),
    "float16": (11, 15, -14),
    "float8_e5m2": (3, 15, -14),
    "float8_e4m3fn": (4, 8, -6),
}


def largest(name):
    bits, top, _ = LAYOUT[name]
    lost = 2 if name == "float8_e4m3fn" else 1  # its all-ones pattern is nan
    return mpmath.mpf(2) ** top * (2 - lost * mpmath.mpf(2) ** (1 - bits))


def kinds(steps):
    return [(fault.step, fault.index, fault.kind) for fault in steps.faults]


def test_formats_are_listed_from_widest_to_narrowest():
    assert list(FORMATS) == list(LAYOUT)


@pytest.mark.parametrize("name", LAYOUT)
def test_limits_follow_from_the_layout_of_the_bits(name):
    bits, _, bottom = LAYOUT[name]
    f = FORMATS[name]
    assert (f.max, f.tiny, f.eps) == (float(largest(name)), 2.0**bottom, 2.0 ** (1 - bits))
    assert f.smallest == 2.0 ** (bottom - bits + 1)
    assert f.has_inf == (name != "float8_e4m3fn")


# mpmath: log(2**16 - 2**5), log(2**-25), log(2**11) for float16, and so on.
THRESHOLDS = {
    "float64": (709.782713, -745.1332, 36.7368),
    "float32": (88.722839, -103.9721, 16.6355),
    "bfloat16": (88.718925, -92.8817, 5.5452),
    "float16": (11.089866, -17.3287, 7.6246),
    "float8_e5m2": (10.956824, -11.7835, 2.0794),
    "float8_e4m3fn": (6.104793, -6.9315, 2.7726),
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_thresholds_are_logarithms_of_the_limits(name):
    over, under, gap = THRESHOLDS[name]
    bits, _, bottom = LAYOUT[name]
    assert exp_overflow_threshold(name) == pytest.approx(over, abs=1e-6)
    assert exp_overflow_threshold(name) == pytest.approx(float(mpmath.log(largest(name))))
    assert exp_underflow_threshold(name) == pytest.approx(under, abs=1e-4)
    smallest = mpmath.mpf(2) ** (bottom - bits + 1)
    assert exp_underflow_threshold(name) == pytest.approx(float(mpmath.log(smallest / 2)))
    assert saturation_gap(name) == pytest.approx(gap, abs=1e-4)
    assert saturation_gap(name) == pytest.approx(bits * math.log(2))


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "float16", "float8_e5m2"])
def test_exp_turns_to_inf_and_to_0_where_the_thresholds_say(name):
    over, under, dtype = (
        exp_overflow_threshold(name), exp_underflow_threshold(name), FORMATS[name].dtype,
    )  # fmt: skip
    # The nearest numbers of the format that are clearly below and above; bfloat16 steps by ½ there.
    coarse = 0.5 + over * FORMATS[name].eps * 2
    below, above, low, lower = (
        np.array(x).astype(dtype) for x in (over - coarse, over + coarse, under + 1, under - 1)
    )
    with np.errstate(all="ignore"):
        assert np.isfinite(np.exp(below).astype(float))
        assert np.isinf(np.exp(above).astype(float))
        if name != "float8_e5m2":  # steps by 2 there
            assert np.exp(low) > 0
            assert np.exp(lower) == 0


def test_largest_input_with_finite_exp_is_the_quoted_one():
    for name, x in {"float16": 11.0859375, "bfloat16": 88.5, "float32": 88.72283}.items():
        dtype = FORMATS[name].dtype
        inputs = np.array([x, x], dtype=dtype)
        inputs[1:] = np.nextafter(inputs[1:], np.array(100, dtype=dtype))
        steps = softmax_steps(inputs[1:], name, subtract_max=False)
        assert softmax_steps(inputs[:1], name, subtract_max=False).first_fault is None
        assert kinds(steps)[0] == ("exponentials", 0, "overflow")


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "float16"])
def test_larger_weight_is_exactly_1_from_the_saturation_gap_on(name):
    gap = saturation_gap(name)
    for shift, saturated in ((1.05, True), (0.9, False)):
        weights = softmax_steps([0.0, -gap * shift], name, subtract_max=True).weights
        assert (float(weights[0]) == 1.0) == saturated
        assert float(weights[1]) > 0


@pytest.mark.parametrize("given", ["bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)])
def test_a_format_may_be_given_as_name_type_or_dtype(given):
    assert as_format(given) is as_format(FORMATS["bfloat16"]) is FORMATS["bfloat16"]
    assert as_format(float) is FORMATS["float64"]


@pytest.mark.parametrize("wrong", ["float23", "", None, 16, np.int8, dict, ["float16"]])
def test_an_unknown_format_is_refused_with_the_known_ones(wrong):
    with pytest.raises(ValueError, match=r"must be one of float64, float32, .*e4m3fn, got"):
        exp_overflow_threshold(wrong)


def test_the_threshold_of_a_sum_takes_at_least_one_key():
    for name in FORMATS:
        assert exp_overflow_threshold(name, 4) == pytest.approx(math.log(largest(name) / 4))
    with pytest.raises(ValueError, match=r"^keys must be an integer ≥ 1, got 0"):
        exp_overflow_threshold("float16", 0)


NAN = math.nan
# What the formats really do (section on floating point of the lesson's sources; by hand: the
# softmax of 2, 1, 0 is .6652, .2447, .0900). Tolerance: 1.5 eps of the format.
BEHAVIOUR = [
    ("float32", [89, 88, 87], False, [NAN, 0, 0]),
    ("float32", [89, 88, 87], True, [0.6652410, 0.2447285, 0.0900306]),
    ("float64", [710, 709, 0], False, [NAN, 0, 0]),
    ("float64", [710, 709, 0], True, [0.7310586, 0.2689414, 0]),
    ("float16", [12, 11, 10], False, [NAN, 0, 0]),
    ("float16", [12, 11, 10], True, [0.6652410, 0.2447285, 0.0900306]),
    ("float32", [-104, -105, -106], False, [NAN, NAN, NAN]),
    ("float32", [-104, -105, -106], True, [0.6652410, 0.2447285, 0.0900306]),
    ("float16", [-20, -21, -22], False, [NAN, NAN, NAN]),
    ("float16", [-20, -21, -22], True, [0.6652410, 0.2447285, 0.0900306]),
    ("bfloat16", [1000, 999, 998], True, [1 / 3, 1 / 3, 1 / 3]),
    ("bfloat16", [710, 709, 0], True, [0.984, 0.018, 0]),
    ("float16", [11, 11, 10], False, [0, 0, 0]),  # the sum alone overflows
    ("float32", [1, -INF, 0], True, [0.7310586, 0, 0.2689414]),
    ("float32", [-1e9, -1e9, -1e9], True, [1 / 3, 1 / 3, 1 / 3]),
    ("float16", [-1e9, -1e9, -1e9], True, [NAN, NAN, NAN]),  # −1e9 is −inf here
    ("float64", [-INF, -INF], True, [NAN, NAN]),
    ("float64", [-INF, -INF], False, [NAN, NAN]),
    *((name, [1000, 999, 998], False, [NAN] * 3) for name in FORMATS),
]


@pytest.mark.parametrize(("name", "scores", "subtract_max", "weights"), BEHAVIOUR)
def test_weights_are_what_the_format_makes_of_them(name, scores, subtract_max, weights):
    steps = softmax_steps(scores, name, subtract_max=subtract_max)
    tolerance = 1.5 * FORMATS[name].eps + 1e-7
    np.testing.assert_allclose(steps.weights.astype(float), weights, rtol=tolerance, atol=1e-3)
    finite = np.isfinite(steps.weights.astype(float)).all()
    harmed = steps.first_fault is not None
    assert harmed == (not finite or float(steps.weights.astype(float).sum()) == 0)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("subtract_max", [False, True])
def test_every_step_is_held_in_the_format(name, subtract_max):
    steps = softmax_steps([1.1, 0.3, -2.7], name, subtract_max=subtract_max)
    arrays = (steps.scores, steps.shifted, steps.exponentials, steps.weights)
    assert all(x.dtype == FORMATS[name].dtype and x.shape == (3,) for x in arrays)
    assert steps.total.dtype == FORMATS[name].dtype
    assert (steps.maximum is None) == (not subtract_max)
    assert steps.format is FORMATS[name]
    np.testing.assert_array_equal(
        steps.scores, np.array([1.1, 0.3, -2.7]).astype(FORMATS[name].dtype)
    )
    expected = steps.scores - steps.scores.max() if subtract_max else steps.scores
    np.testing.assert_array_equal(steps.shifted, expected)
    np.testing.assert_array_equal(steps.exponentials, np.exp(steps.shifted))
    np.testing.assert_array_equal(steps.weights, steps.exponentials / steps.total)


def test_bfloat16_sums_round_after_each_term_and_float16_sums_once():
    assert float(softmax_steps(np.zeros(1000), "bfloat16", subtract_max=True).total) == 256
    assert float(softmax_steps(np.zeros(1000), "float16", subtract_max=True).total) == 1000


def test_an_overflowing_exponential_is_the_first_fault_and_names_its_numbers():
    steps = softmax_steps([12, 11, 10], "float16", subtract_max=False)
    assert kinds(steps) == [
        ("exponentials", 0, "overflow"),
        ("weights", 0, "invalid"),
        ("weights", 1, "underflow"),
        ("weights", 2, "underflow"),
    ]
    assert steps.first_fault is steps.faults[0]
    assert not any(fault.harmless for fault in steps.faults)
    expected = "exp(12) = 1.63e5 is above float16's largest number, 65504: it becomes inf"
    assert steps.first_fault.message == expected


def test_an_exponential_beyond_every_float_is_still_named():
    # mpmath.exp(1000) = 1.9700711140170469e+434
    fault = softmax_steps([1000, 0], "float64", subtract_max=False).first_fault
    assert fault.message.startswith("exp(1000) = 1.97e434 is above float64's largest number")
    huge = softmax_steps([1e8, -1e300], "float64", subtract_max=False)
    assert huge.first_fault.message.startswith("exp(1e8) is above float64's largest number")


def test_underflow_is_harmless_beside_other_terms_and_fatal_alone():
    beside = softmax_steps([0, -20], "float16", subtract_max=True)
    assert kinds(beside) == [("exponentials", 1, "underflow")]
    assert beside.faults[0].harmless
    assert "harmless" in beside.faults[0].message
    assert beside.first_fault is None
    alone = softmax_steps([-20, -21], "float16", subtract_max=False)
    assert kinds(alone) == [
        ("exponentials", 0, "underflow"),
        ("exponentials", 1, "underflow"),
        ("total", None, "zero total"),
        ("weights", 0, "invalid"),
        ("weights", 1, "invalid"),
    ]
    assert not any(fault.harmless for fault in alone.faults)
    assert alone.first_fault.message == "0/0 = nan"


def test_scores_that_round_to_one_number_are_reported_as_collapsed():
    steps = softmax_steps([1000, 999, 0, 998, 1000], "bfloat16", subtract_max=True)
    assert kinds(steps) == [("scores", 0, "collapsed"), ("exponentials", 2, "underflow")]
    assert steps.faults[0].message == "1000, 999 and 998 become 1000 in bfloat16"
    assert not steps.faults[0].harmless
    two = softmax_steps([1000, 1001], "bfloat16", subtract_max=True)
    assert two.faults[0].message == "1000 and 1001 become 1000 in bfloat16"
    assert softmax_steps([1000, 1000], "bfloat16", subtract_max=True).faults == ()
    assert steps.first_fault is None  # wrong, but neither inf nor nan


def test_a_sum_may_overflow_where_no_term_does():
    steps = softmax_steps([11, 11, 10], "float16", subtract_max=False)
    assert steps.first_fault.step == "total"
    assert "1.42e5" in steps.first_fault.message
    fault = softmax_steps([709.7, 709.7], "float64", subtract_max=False).first_fault
    assert "3.31e308" in fault.message  # 2·exp(709.7), more than a float can add up


def test_subtracting_the_maximum_comes_too_late_for_an_infinite_score():
    steps = softmax_steps([102400, 0], "float16", subtract_max=True)
    assert kinds(steps)[:2] == [("scores", 0, "overflow"), ("shifted", 0, "invalid")]
    assert steps.faults[1].message == "inf − inf = nan"
    assert steps.first_fault.index == 0
    assert np.isnan(steps.weights).all()


def test_overflow_to_minus_inf_is_harmless_as_its_weight_is_0_anyway():
    steps = softmax_steps([-60000, 60000], "float16", subtract_max=True)
    assert kinds(steps) == [("shifted", 0, "overflow")]
    assert steps.first_fault is None
    assert steps.weights.tolist() == [0, 1]
    masked = softmax_steps([-70000, 1], "float16", subtract_max=False)
    assert kinds(masked) == [("scores", 0, "overflow")]
    assert masked.first_fault is None


def test_float8_e4m3fn_has_no_inf_so_that_overflow_and_masks_give_nan():
    name = "float8_e4m3fn"
    cases = {
        ("scores", "overflow"): ([1000, 0], True),
        ("scores", "invalid"): ([0, -INF], True),
        ("shifted", "overflow"): ([288, -288], True),
        ("exponentials", "overflow"): ([7, 0], False),
        ("total", "overflow"): ([5, 5, 5, 5], False),
    }
    for (step, kind), (scores, subtract_max) in cases.items():
        steps = softmax_steps(scores, name, subtract_max=subtract_max)
        fault = steps.first_fault
        assert len(steps.faults) == 1  # nan that is passed on is not a fault of the next step
        assert (fault.step, fault.kind) == (step, kind)
        assert "becomes nan" in fault.message


def test_a_fully_masked_row_is_shown_as_the_nan_it_is():
    steps = softmax_steps([-INF, -INF], "float32", subtract_max=True)
    assert [fault.message for fault in steps.faults] == ["−inf − (−inf) = nan"] * 2
    naive = softmax_steps([-INF, -INF], "float32", subtract_max=False)
    assert naive.first_fault.message == "0/0 = nan"


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        ([], "got float64, shape \\(0,\\)"),
        (3.0, "shape \\(\\)"),
        ([[1.0, 2.0]], "shape \\(1, 2\\)"),
        ([1j], "complex128"),
        ([0, NAN], "finite or −inf, got"),
        ([0, INF], "finite or −inf, got"),
    ],
)
def test_scores_that_are_not_a_row_of_numbers_are_refused(scores, text):
    with pytest.raises(ValueError, match=text):
        softmax_steps(scores, "float32", subtract_max=True)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e5, 1e5) | st.just(-INF), min_size=1, max_size=8),
    st.sampled_from(list(FORMATS)),
    st.booleans(),
)
def test_a_first_fault_is_reported_exactly_where_inf_or_nan_does_harm(scores, name, subtract_max):
    steps = softmax_steps(scores, name, subtract_max=subtract_max)
    weights = steps.weights.astype(float)
    good = np.isfinite(weights).all() and math.isfinite(float(steps.total))
    assert (steps.first_fault is None) == good
    assert all(fault.message and "e+" not in fault.message for fault in steps.faults)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-500, 500), min_size=1, max_size=16))
def test_safe_softmax_in_float64_agrees_with_fifty_digits(scores):
    with mpmath.workdps(50):
        terms = [mpmath.exp(mpmath.mpf(x)) for x in scores]
        exact = [float(x / mpmath.fsum(terms)) for x in terms]
    weights = softmax_steps(scores, "float64", subtract_max=True).weights
    # The shift rounds, by up to an ulp of the gap (≤ 1000), which exp makes a relative error.
    np.testing.assert_allclose(weights, exact, rtol=1000 * 2.3e-16 + 1e-14, atol=1e-320)


def test_an_aligned_dot_product_overflows_float16_unless_q_is_scaled_first():
    raw = dot_product_steps(64, 40, "float16")  # 64 · 1600 = 102400
    assert float(raw.score) == INF
    assert raw.overflow_at == 41  # 40 · 1600 = 64000 still fits
    scaled = dot_product_steps(64, 40, "float16", divisor=8)
    assert (float(scaled.divided), float(scaled.product), float(scaled.score)) == (5, 200, 12800)
    assert scaled.overflow_at is None
    assert scaled.partial_sums.shape == (64,)
    assert {raw.partial_sums.dtype, raw.score.dtype} == {np.dtype(np.float16)}
    assert np.isnan(float(dot_product_steps(64, 40, "float8_e4m3fn").score))


@pytest.mark.parametrize(
    ("d_k", "raw", "scaled"), [(64, 32.0, 90.5), (128, 22.6, 76.1), (256, 16.0, 64.0)]
)
def test_scaling_q_first_raises_the_limit_of_aligned_components(d_k, raw, scaled):
    limits = [aligned_component_limit(d_k, "float16", divisor=c) for c in (1.0, math.sqrt(d_k))]
    assert limits == [pytest.approx(raw, abs=0.05), pytest.approx(scaled, abs=0.05)]
    assert limits[0] ** 2 * d_k == pytest.approx(65504)
    assert limits[1] / limits[0] == pytest.approx(d_k**0.25)


def test_the_limit_is_where_the_sum_in_the_format_overflows():
    limit = aligned_component_limit(256, "float32", divisor=16)
    assert np.isfinite(dot_product_steps(256, limit * 0.999, "float32", divisor=16).score)
    assert np.isinf(dot_product_steps(256, limit * 1.001, "float32", divisor=16).score)
    assert math.isfinite(aligned_component_limit(1, "float64", divisor=1e6))


@pytest.mark.parametrize("wrong", [0, -4, 2.0, True, "64"])
def test_a_length_that_is_no_positive_integer_is_refused(wrong):
    with pytest.raises(ValueError, match="d_k must be a positive integer, got"):
        aligned_component_limit(wrong, "float16")


def test_a_divisor_or_component_out_of_range_is_refused():
    for wrong in (0, -1.0, INF, NAN):
        with pytest.raises(ValueError, match="divisor must be a positive finite number, got"):
            dot_product_steps(4, 1.0, "float16", divisor=wrong)
    with pytest.raises(ValueError, match="component must be a finite number, got inf"):
        dot_product_steps(4, INF, "float16")
