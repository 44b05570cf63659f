import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sdpa import parameters
from sdpa.parameters import LARGEST_SCORE, MOST_SCORES, SCORES, Parameter, parse_scores

ROWS = [row for row in vars(parameters).values() if isinstance(row, Parameter)]
LISTED = [row for row in ROWS if row.kind != "scores"]
VALUES = [(row, value) for row in LISTED for value in row.values]

score = st.floats(-LARGEST_SCORE, LARGEST_SCORE)
rows_of_scores = st.lists(score, min_size=1, max_size=MOST_SCORES)


def by_key(row):
    return row.key if isinstance(row, Parameter) else repr(row)


# --- every row of the table ---


def test_the_keys_are_the_ones_that_links_have():
    # A published key stays: a link that uses it is printed on someone's slide.
    assert {
        "d_k",
        "keys",
        "samples",
        "seed",
        "temperature",
        "scores",
        "gap",
        "offset",
        "format",
    } <= {row.key for row in ROWS}
    assert len({row.key for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("row", "value"), VALUES, ids=by_key)
def test_every_value_is_read_back_from_its_text(row, value):
    got = row.parse(row.text(value))
    assert got == value
    assert type(got) is type(value)
    assert row.parse(value) == value


@pytest.mark.parametrize("row", LISTED, ids=by_key)
def test_values_are_in_order_and_no_two_have_one_text(row):
    assert len({row.text(value) for value in row.values}) == len(row.values)
    assert row.default in row.values
    assert row.initial == row.default
    if row.kind == "slider":
        assert list(row.values) == sorted(row.values)
        assert len(row.values) > 1


@pytest.mark.parametrize("row", ROWS, ids=by_key)
def test_a_row_says_what_it_is(row):
    assert row.label
    assert row.help.endswith(".")
    assert row.key.isidentifier()


@pytest.mark.parametrize("row", LISTED, ids=by_key)
@pytest.mark.parametrize(
    "junk", ["", "x", "nan", "-1", "1e99", " ", "65", None, -1, 1.5e9, math.nan]
)
def test_an_unknown_value_is_refused_with_the_key_and_every_valid_value(row, junk):
    with pytest.raises(ValueError, match=f"^{row.key} must be one of ") as refused:
        row.parse(junk)
    said = str(refused.value)
    listed, got = said.removeprefix(f"{row.key} must be one of ").split(", got ")
    assert listed.split(", ") == [row.text(value) for value in row.values]
    assert got == repr(junk)


@given(st.sampled_from(LISTED), st.text())
def test_a_listed_value_is_all_that_is_ever_read(row, text):
    if text in map(row.text, row.values):
        assert row.text(row.parse(text)) == text
        return
    with pytest.raises(ValueError, match=f"^{row.key} must be one of"):
        row.parse(text)


def test_widths_are_powers_of_two_from_4_to_1024():
    assert parameters.D_K.values == (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    assert parameters.D_K.default == 64
    assert 3 <= parameters.N_KEYS.default <= 8
    assert {1.0, 8.0} <= set(parameters.TEMPERATURE.values)


def test_a_default_that_is_no_value_is_refused():
    with pytest.raises(ValueError, match=r"^size: the default 3 must be one of its values"):
        Parameter("size", "Size", 3, (1, 2))
    with pytest.raises(ValueError, match="must be numbers"):
        Parameter("scores", "Scores", "eight", kind="scores")


# --- scores typed by a reader ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8, 4, 0", (8, 4, 0)),
        ("8,4,0", (8, 4, 0)),
        ("8 4 0", (8, 4, 0)),
        ("8; 4; 0", (8, 4, 0)),
        ("8 ,\t4 ;0", (8, 4, 0)),
        ("[8, 4, 0]", (8, 4, 0)),
        ("[20 10 0]", (20, 10, 0)),
        ("( 1.5, 0.5 )", (1.5, 0.5)),
        ("8, 4, 0,", (8, 4, 0)),
        ("\n 8 \n", (8,)),
        ("-8, +4, −0.5", (-8, 4, -0.5)),  # the last with a minus sign, not a hyphen
        ("1e3, 1E-3, .5, 5.", (1000, 0.001, 0.5, 5)),
        ("100000, -100000", (100_000, -100_000)),
        ("100, 101", (100, 101)),
        ((8, 4.5), (8, 4.5)),
        ([3], (3,)),
        (" ".join(["1"] * 64), (1,) * 64),
    ],
)
def test_good_forms_are_read(text, expected):
    got = parse_scores(text)
    assert got == expected
    assert all(type(number) is float for number in got)
    assert SCORES.parse(text) == got


JUNK = "abc" * 5000


@pytest.mark.parametrize(
    ("text", "required", "got"),
    [
        ("", "1 to 64 numbers", "none"),
        ("   ", "1 to 64 numbers", "none"),
        ("[]", "1 to 64 numbers", "none"),
        ("( )", "1 to 64 numbers", "none"),
        ([], "1 to 64 numbers", "none"),
        (",", "numbers such as 8, 4, 0", "nothing as number 1"),
        ("8, x, 0", "numbers such as 8, 4, 0", "'x' as number 2"),
        ("8,, 0", "numbers such as 8, 4, 0", "nothing as number 2"),
        ("eight", "numbers such as 8, 4, 0", "'eight' as number 1"),
        ("8, 4, [0", "numbers such as 8, 4, 0", "'[0' as number 3"),
        ("8 4 0x10", "numbers such as 8, 4, 0", "'0x10' as number 3"),
        ("8, nan", "finite, at most 100,000", "'nan' as number 2"),
        ("inf, 8", "finite, at most 100,000", "'inf' as number 1"),
        ("8, -inf", "finite, at most 100,000", "'-inf' as number 2"),
        ("8, 1e999", "finite, at most 100,000", "'1e999' as number 2"),
        ("100001", "finite, at most 100,000", "'100001' as number 1"),
        ("0 -100000.1", "finite, at most 100,000", "'-100000.1' as number 2"),
        ((math.nan,), "finite, at most 100,000", "'nan' as number 1"),
        ("1,5", "decimal point", "'1,5'"),
        ("1,5 0,5", "decimal point", "'1,5 0,5'"),
        ("1,5; 0,5", "decimal point", "'1,5; 0,5'"),
        (" ".join(["1"] * 65), "at most 64 numbers", "65"),
        ([0.0] * 65, "at most 64 numbers", "65"),
        (JUNK, "numbers such as 8, 4, 0", "as number 1"),
        (" ".join([JUNK] * 64), "numbers such as 8, 4, 0", "as number 1"),
        ("9" * 5000, "finite, at most 100,000", "as number 1"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_row_of_scores_is_refused_in_one_short_sentence(text, required, got):
    with pytest.raises(ValueError, match=r"^Scores ") as refused:
        parse_scores(text)
    said = str(refused.value)
    before, after = said.rsplit(", got ", 1)
    assert required in before
    assert got in after
    assert said.endswith(".")
    assert len(said) <= 200
    with pytest.raises(ValueError, match=r"^Scores "):
        SCORES.parse(text)


@given(rows_of_scores)
@example([0.1 + 0.2, -0.0, 5e-324, 1e5, -1e5])
def test_scores_are_read_back_to_the_last_bit(row):
    assert parse_scores(row) == tuple(row)
    assert parse_scores(", ".join(map(repr, row))) == tuple(row)
    assert parse_scores(f"[{' '.join(map(repr, row))}]") == tuple(row)


@given(rows_of_scores)
def test_a_link_keeps_scores_to_fifteen_digits(row):
    got = SCORES.parse(SCORES.text(tuple(row)))
    assert got == pytest.approx(row, rel=1e-14, abs=1e-322)
    assert SCORES.parse(SCORES.text(got)) == got  # a link made of a link's scores is that link


@given(st.one_of(st.text(), st.text("0123456789.,;-+e []()xnaif−\t", max_size=300)))
@example("[")
@example("(]")
@example("−")
@example("1_0")
@example("\x00")
@example(" " * 10_000 + "x")
@example("1" + " " * 10_000 + ";" * 10_000)
def test_any_text_gives_finite_scores_or_a_value_error(text):
    said, got = "Scores ", (0.0,)
    try:
        got = parse_scores(text)
    except ValueError as refused:
        said = str(refused)
    assert said.startswith("Scores ")
    assert len(said) <= 300
    assert 1 <= len(got) <= MOST_SCORES
    assert all(abs(number) <= LARGEST_SCORE for number in got)


@pytest.mark.parametrize("value", [None, 5, 1.5, ["a"], [[1, 2]]], ids=repr)
def test_what_is_neither_text_nor_numbers_is_refused_too(value):
    with pytest.raises(ValueError, match=r"^Scores must .*got"):
        parse_scores(value)
