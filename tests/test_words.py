import math
import re
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sdpa.views import words

finite = st.floats(allow_nan=False, allow_infinity=False)
inner = st.floats(0, 1, exclude_min=True, exclude_max=True)
SUPERSCRIPT = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read(text):
    """Read what `number` writes, exactly; and the unit of its last digit."""
    mantissa, _, power = text.replace(",", "").replace("−", "-").partition("·10")
    scale = Decimal(10) ** int(power.translate(SUPERSCRIPT) or 0)
    decimals = len(mantissa.partition(".")[2])
    return Decimal(mantissa) * scale, Decimal(10) ** -decimals * scale


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.98168, "0.982"),
        (0.0179802, "0.0180"),
        (4.53979e-05, "4.54·10⁻⁵"),
        (0.00011, "0.000110"),
        (9.999e-5, "0.000100"),  # rounded up into what is written out
        (16.0, "16.0"),
        (9.999, "10.0"),
        (99.96, "100"),
        (999.6, "1,000"),
        (31623.0, "31,600"),
        (9_996_000, "1.00·10⁷"),
        (-11.47, "−11.5"),
        (-4.5e-9, "−4.50·10⁻⁹"),
        (0, "0"),
        (-0.0, "0"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "nan"),
        (5e-324, "4.94·10⁻³²⁴"),
    ],
)
def test_numbers_by_hand(value, expected):
    assert words.number(value) == expected


@given(finite, st.integers(2, 6))
@example(9.995, 3)
@example(99949.999, 2)
@example(9999999.0, 3)
@example(1.7976931348623157e308, 3)
def test_a_number_is_read_back_to_half_a_unit_of_its_significant_digits(value, digits):
    got, last = read(words.number(value, digits))
    if value == 0:
        assert got == 0
        return
    power = math.floor(Decimal(value).copy_abs().log10())
    unit = max(last, Decimal(10) ** (power - digits + 1))
    assert abs(got - Decimal(value)) <= unit / 2 * (1 + Decimal("1e-12"))
    assert (got > 0) == (value > 0)


@given(finite)
def test_a_number_has_no_more_digits_than_it_says(value):
    mantissa = words.number(value, 3).partition("·10")[0]
    digits = re.sub(r"\D", "", mantissa).lstrip("0")
    assert len(digits.rstrip("0")) <= 3


@given(finite)
def test_a_minus_is_a_minus_sign_and_never_before_a_zero(value):
    text = words.number(value)
    assert "-" not in text
    assert "e" not in text
    assert text.startswith("−") == (value < 0)


# --- weights and shares ---


@given(inner)
@example(math.nextafter(1, 0))
@example(0.99951)
@example(0.99945)
@example(0.9995)
@example(0.995)
@example(0.9949999)
@example(1 - 1e-6)
@example(5e-324)
def test_a_weight_between_0_and_1_is_never_written_as_either(weight):
    text = words.weight(weight)
    one_minus = text.removeprefix("1 − ")
    assert one_minus != "1"
    shown, last = read(one_minus)
    shown = 1 - shown if one_minus != text else shown
    assert 0 < shown < 1
    assert abs(shown - Decimal(weight)) <= last / 2 * (1 + Decimal("1e-6"))
    # What is missing from 1 is shown to at least one digit of its own.
    missing = 1 - Decimal(weight)
    assert abs(shown - Decimal(weight)) <= missing / 2 * (1 + Decimal("1e-6"))


def test_the_weights_that_are_exactly_0_and_1_say_so():
    assert words.weight(1.0) == "1"
    assert words.weight(0.0) == "0"


# mpmath, 40 digits: softmax of [20, 10, 0], [8, 4, 0] and [20.5, 0]
@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (0.99995460007237514787, "0.99995"),
        (4.5397868608866649e-05, "4.54·10⁻⁵"),
        (2.0610600462090622e-09, "2.06·10⁻⁹"),
        (0.98168970, "0.982"),
        (0.00032932, "0.000329"),
        (1 - 1.2501528648e-9, "1 − 1.3·10⁻⁹"),
        (1 / 3, "0.333"),
    ],
)
def test_weights_by_hand(weight, expected):
    assert words.weight(weight) == expected


@given(st.lists(inner, max_size=9), st.integers(1, 6))
def test_a_row_shows_its_first_weights_and_that_there_are_more(row, most):
    parts = words.weights(row, most).split(", ") if row else []
    assert parts[:most] == [words.weight(weight) for weight in row[:most]]
    assert parts[most:] == (["…"] if len(row) > most else [])


@given(st.lists(finite, max_size=9), st.integers(1, 6))
def test_a_list_shows_its_first_numbers_as_given_or_rounded(row, most):
    more = ", …" if len(row) > most else ""
    assert words.listed(row, most) == ", ".join(map(words.plain, row[:most])) + more
    rounded = ", ".join(words.number(value, 2) for value in row[:most]) + more
    assert words.listed(iter(row), most, digits=2) == rounded


@given(inner)
@example(0.99995)
@example(0.99999)
@example(math.nextafter(1, 0))
@example(0.0099999)
@example(0.990001)
@example(5e-324)
def test_per_cent_says_0_and_100_of_nothing_but_0_and_1(share):
    text = words.percent(share)
    assert text.endswith(" %")
    shown, last = read(text.removesuffix(" %"))
    assert 0 < shown < 100
    assert abs(shown - 100 * Decimal(share)) <= last / 2 * (1 + Decimal("1e-6"))


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.5, "50 %"), (0.394, "39 %"), (0.0027, "0.27 %")],
)
def test_per_cent_by_hand(share, expected):
    assert words.percent(share) == expected


# --- short numbers, powers and formulas ---


@given(st.floats(-1e9, 1e9).filter(lambda value: value == 0 or abs(value) >= 1e-4))
def test_a_plain_number_is_read_back_to_ten_digits(value):
    text = words.plain(value)
    assert "-" not in text
    assert float(text.replace(",", "").replace("−", "-")) == pytest.approx(value, rel=1e-9)


@given(st.integers(-999_999, 999_999))
def test_a_whole_number_is_plain_without_a_point(value):
    assert words.plain(float(value)) == f"{value:,}".replace("-", "−")


@given(st.integers(-300, 300))
def test_a_power_of_ten_is_read_back(power):
    text = words.power_of_ten(float(f"1e{power}"))
    assert text.startswith("10")
    assert int(text[2:].translate(SUPERSCRIPT)) == power


@given(finite)
def test_a_formula_has_the_same_digits_as_the_sentence(value):
    text = words.latex(value)
    assert text.isascii()
    assert text.count("{") == text.count("}")
    mantissa, _, power = text.replace("{,}", "").partition(r" \cdot 10^")
    got = Decimal(mantissa) * Decimal(10) ** int(power.strip("{}") or 0)
    assert got == read(words.number(value))[0]


def test_formulas_by_hand():
    assert words.latex(4.54e-5) == r"4.54 \cdot 10^{-5}"
    assert words.latex(31623) == "31{,}600"
    assert words.latex(-math.inf) == r"-\infty"
