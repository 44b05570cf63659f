import ast
import contextlib
import io
import itertools
import math
import re
import struct
from pathlib import Path

import ml_dtypes
import mpmath as mp
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from sdpa import parameters
from sdpa.parameters import D_K, GAP, N_KEYS, OFFSET, TEMPERATURE, Parameter
from sdpa.views import VIEWS, chart
from sdpa.views.palette import DARK, LIGHT, THEMES, resolve
from sdpa.views.view import Drawing, ViewSpec, draw, sweep
from sdpa.views.worked_example import as_latex, as_numpy

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path for path in (ROOT / "pages").glob("*.py") if path.stem not in ("check", "lecture")
)
WIDTHS = np.array(D_K.values, dtype=float)
ROWS = {row.key: row for row in vars(parameters).values() if isinstance(row, Parameter)}

MANY = tuple(round(8 * math.sin(3.7 * step), 3) for step in range(64))
SCORES = [
    (8.0, 4.0, 0.0),
    (3.0,),
    (5.0, 5.0),
    (0.0, 0.0, 0.0, 0.0),
    (100_000.0, -100_000.0, 0.0, 0.0),
    (-100_000.0, -100_000.0),
    (20.0, 10.0, 0.0),
    (1000.0, 999.0, 998.0),
    (-20.0, -21.0, -22.0),
    (11.0, 11.0, 11.0),
    (0.1, 0.2, 0.1 + 0.2, 0.3),
    (1e-300, 0.0, -1e-300),
    tuple(float(i) for i in range(9)),
]


def fresh(name, **state):
    """Call a view's function itself, past every cache, with every parameter given."""
    spec = VIEWS[name]
    values = {row.key: row.initial for row in spec.parameters}
    return spec.function(**{**values, **state})


def every_value(name):
    """The default; every value of every parameter; every row of scores with extreme others."""
    spec = VIEWS[name]
    yield {}
    for row in spec.parameters:
        for value in SCORES if row.kind == "scores" else row.values:
            yield {row.key: value}
    if "scores" in {row.key for row in spec.parameters}:
        others = [row for row in spec.parameters if row.kind != "scores"]
        for scores in SCORES:
            for end in (0, -1):
                yield {"scores": scores, **{row.key: row.values[end] for row in others}}


def states(name):
    """A strategy for states of a view, without the largest samples, which only take time."""
    choices = {
        row.key: SCORES
        if row.kind == "scores"
        else [value for value in row.values if row.key != "samples" or value <= 5000]
        for row in VIEWS[name].parameters
    }
    return st.fixed_dictionaries({key: st.sampled_from(values) for key, values in choices.items()})


any_state = st.sampled_from(sorted(VIEWS)).flatmap(
    lambda name: st.tuples(st.just(name), states(name))
)


def assert_same(got, expected, where=""):
    """Nested traces and layouts, equal to the last bit."""
    if isinstance(expected, dict):
        assert got.keys() == expected.keys(), where
        for key, item in expected.items():
            assert_same(got[key], item, f"{where}.{key}")
    elif isinstance(expected, (list, tuple)):
        assert len(got) == len(expected), where
        for place, (one, other) in enumerate(zip(got, expected, strict=True)):
            assert_same(one, other, f"{where}[{place}]")
    elif isinstance(expected, np.ndarray):
        assert isinstance(got, np.ndarray), where
        assert got.dtype == expected.dtype, where
        assert_array_equal(got, expected, where)
    else:
        assert got == expected or (got != got and expected != expected), where


def leaves(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def traces(view, **looks):
    """The traces with these properties, such as ``type="bar"``."""
    return [
        trace
        for trace in view.drawing.data
        if all(trace.get(key) == value for key, value in looks.items())
    ]


def column(view, name):
    return view.table[name].to_numpy()


# --- every view ---


def test_the_views_are_registered_under_their_own_names():
    assert len(VIEWS) >= 14
    for name, spec in VIEWS.items():
        assert spec.name == name
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", name)
        assert len({row.key for row in spec.parameters}) == len(spec.parameters)
        assert set(spec.swept) == {row.key for row in spec.parameters if row.kind == "slider"}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_the_same_each_time(name):
    draw.cache_clear()
    sweep.cache_clear()
    first = VIEWS[name]()
    sweeps = first.sweeps
    draw.cache_clear()
    sweep.cache_clear()
    again = VIEWS[name]()
    assert again.drawing is not first.drawing
    for part in ("data", "layout", "narrow", "caption", "formula", "notice", "height"):
        assert_same(getattr(again.drawing, part), getattr(first.drawing, part), part)
    assert_same(dict(again.numbers), dict(first.numbers))
    pd.testing.assert_frame_equal(again.table, first.table)
    for key, one in again.sweeps.items():
        assert one.values == sweeps[key].values
        assert_same([f.data for f in one.frames], [f.data for f in sweeps[key].frames])


@pytest.mark.parametrize("name", VIEWS)
def test_drawing_a_figure_leaves_the_cached_drawing_alone(name):
    view = VIEWS[name]()
    figure, table = view.figure_in("dark"), view.table
    figure.update_traces(visible=False)
    figure.update_layout(title="changed", annotations=[])
    if len(table.columns):
        table[table.columns[0]] = 0
    _ = view.sweeps
    assert_same(VIEWS[name]().drawing.data, fresh(name).data)
    assert_same(VIEWS[name]().drawing.layout, fresh(name).layout)
    pd.testing.assert_frame_equal(VIEWS[name]().table, pd.DataFrame(dict(fresh(name).columns)))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", VIEWS)
def test_plotly_takes_every_figure_in_both_themes(name, theme):
    view = VIEWS[name]()
    figure = view.figure_in(theme)
    assert isinstance(figure, go.Figure)
    assert len(figure.data) == len(view.drawing.data)
    text = figure.to_json()
    assert '"$' not in text
    assert THEMES[theme]["ink"] in text
    other = {"light": DARK, "dark": LIGHT}[theme]
    assert other["paper"] not in text
    assert view.figure.to_json() == view.figure_in("light").to_json()


def axis_of(drawing, trace, part):
    return drawing.layout[f"{part}axis" + trace.get(f"{part}axis", part)[1:]]


def check_words(view):
    """1 to 3 sentences without markup, and nothing that only Python would write."""
    caption = re.sub("|".join(parameters.FORMAT.values), "format", view.caption)
    assert 1 <= len(re.findall(r"[.!?](?=\s|$)", caption)) <= 3, caption
    assert caption.endswith(".")
    assert len(caption) <= 400, caption
    assert not re.search(r"[$<>\\_]|\*\*|  ", caption), caption
    python = r"None|array\(|np\.|\de[-+]\d|\bFalse\b|\bTrue\b"
    for text in (caption, view.notice):
        assert not re.search(python + r"|-\d", text), text


def check_formula(view):
    """LaTeX in ASCII, with the thousands' comma in braces, else it is set as a list's."""
    assert view.formula.count("{") == view.formula.count("}")
    assert view.formula.isascii(), view.formula
    assert not re.search(r"\d,\d|None|\binf\b|\bnan\b|e[-+]\d", view.formula), view.formula


def check_table(view):
    assert isinstance(view.table, pd.DataFrame)
    assert view.table.size > 0
    assert len(set(view.table.columns)) == len(view.table.columns)
    assert all(isinstance(value, float) for value in view.numbers.values())


def check_colours(view):
    """Names of both themes, never a colour itself."""
    drawing = view.drawing
    said = [x for x in leaves([drawing.data, drawing.layout, drawing.narrow]) if isinstance(x, str)]
    named = {text[1:] for text in said if text.startswith("$")}
    assert named
    assert named <= LIGHT.keys() & DARK.keys()
    assert not [text for text in said if re.match(r"(#[0-9a-fA-F]{3,8}$|rgba?\()", text)]


# Once every query finds its key there is no wrong row left to have a gradient: the line ends.
ENDING = {"training.share"}


def check_finite(view):
    """Numbers to plot, as many of y as of x, and positive on a log axis."""
    for trace in view.drawing.data:
        if "z" in trace:
            z = np.asarray(trace["z"], dtype=float)
            assert z.ndim == 2
            assert np.isfinite(z).all()
            assert all(len(trace[p]) == n for p, n in zip("yx", z.shape, strict=True) if p in trace)
            continue
        x, y = np.asarray(trace["x"]), np.asarray(trace["y"])
        assert x.size > 0
        assert x.shape == y.shape
        for part, values in (("x", x), ("y", y)):
            if view.name in ENDING and part == "y" and trace.get("mode") == "lines":
                gone = np.isnan(values)
                assert not np.isinf(values).any()
                assert not gone[0]
                x, values = x[~gone], values[~gone]
            if values.dtype.kind in "fiu":
                assert np.isfinite(values).all(), trace.get("name")
            if axis_of(view.drawing, trace, part)["type"] == "log":
                assert (values > 0).all(), trace.get("name")


def check_dots(view):
    """The state's own dots lie inside their axes: beyond, Plotly would draw them over the text."""
    for trace in view.drawing.data:
        if trace.get("mode") != "markers":
            continue
        for part in "xy":
            axis = axis_of(view.drawing, trace, part)
            values = np.asarray(trace[part], dtype=float)
            values = np.log10(values) if axis["type"] == "log" else values
            low, high = sorted(axis["range"])
            inside = (values >= low - 1e-9) & (values <= high + 1e-9)
            assert inside.all(), (trace["name"], part, values, axis["range"])


CHECKS = [check_words, check_formula, check_table, check_colours, check_finite, check_dots]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", VIEWS)
def test_every_value_of_every_parameter_gives_a_view_that_can_be_shown(name, check):
    for state in every_value(name):
        check(VIEWS[name](**state))


@given(any_state)
@settings(max_examples=40, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
def test_any_state_gives_a_view_that_can_be_shown(case):
    name, state = case
    view = VIEWS[name](**state)
    go.Figure(resolve(view.drawing.data, DARK), resolve(view.drawing.layout, DARK))
    for check in CHECKS:
        check(view)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("temperature.weights", {"scores": "20, 10, 0", "temperature": 1.0}),
        ("worked_example.lines", {"scores": "80, 0, 0", "d_k": 64}),
    ],
)
def test_no_formula_rounds_a_weight_up_to_1(name, state):
    # softmax([20, 10, 0])₁ = softmax([10, 0, 0])₁ to four digits = 0.9999, as the caption says
    view = VIEWS[name](**state)
    assert "0.999" in view.caption
    assert "0.999" in view.formula


# --- states that are asked for ---


@pytest.mark.parametrize("name", VIEWS)
def test_an_unknown_parameter_is_refused_with_the_nearest(name):
    spec = VIEWS[name]
    with pytest.raises(ValueError, match=f"^{name} takes .*, got 'zzz'"):
        spec(zzz=1)
    for row in spec.parameters:
        with pytest.raises(ValueError, match=f"did you mean '{row.key}'") as refused:
            spec(**{row.key + "s_": row.default})
        assert all(other.key in str(refused.value) for other in spec.parameters)


@pytest.mark.parametrize("name", VIEWS)
def test_a_bad_value_is_refused_with_what_was_required(name):
    for row in VIEWS[name].parameters:
        start = "Scores must" if row.kind == "scores" else f"{row.key} must be one of"
        for bad in ("x", "", "nan"):
            with pytest.raises(ValueError, match=f"^{start}.*got") as refused:
                VIEWS[name](**{row.key: bad})
            assert row.kind == "scores" or row.text(row.values[-1]) in str(refused.value)


@pytest.mark.parametrize("name", VIEWS)
def test_a_state_may_be_given_as_a_link_writes_it(name):
    spec = VIEWS[name]
    text = {row.key: row.text(row.initial) for row in spec.parameters}
    assert spec(**text).drawing is spec().drawing
    for row in spec.parameters:
        assert spec(**text).state[row.key] == row.initial
        if row.kind != "scores":
            assert spec(**{row.key: row.text(row.values[-1])}).state[row.key] == row.values[-1]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_preset_of_a_page_is_a_state_that_its_parameters_know(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    presets = [c.args[0] for c in calls if getattr(c.func, "attr", "") == "presets"]
    assert presets
    named = {
        target.id: ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        for target in node.targets
    }
    literal = [name for name, text in named.items() if not re.search(r"\*\*|\w\[", text)]
    known = {name: ast.literal_eval(named[name]) for name in literal}
    for preset in presets:
        given_states = eval(ast.unparse(preset), {"__builtins__": {}}, known)
        for state in given_states.values():
            for key, value in state.items():
                assert ROWS[key].parse(value) == value or ROWS[key].kind == "scores"


# --- what is seen while a slider is dragged is what is drawn when it is released ---


def sweep_cases():
    for name, spec in VIEWS.items():
        others = [{}]
        if "scores" in {row.key for row in spec.parameters}:
            others += [{"scores": scores} for scores in (*SCORES[1:], MANY[:20])]
        if "format" in {row.key for row in spec.parameters}:
            others += [{"format": f} for f in ("float64", "bfloat16", "float8_e4m3fn")]
        if "keys" in {row.key for row in spec.parameters}:
            others += [{"keys": 64}]
        for key in spec.swept:
            held = [other for other in spec.swept if other != key]
            far = [{other: spec.swept[other].values[-1]} for other in held]
            for number, state in enumerate([*others, *far]):
                yield pytest.param(name, key, state, id=f"{name}-{key}-{number}")


@pytest.mark.parametrize(("name", "key", "state"), list(sweep_cases()))
def test_a_frame_on_any_drawing_of_its_sweep_is_the_drawing_of_its_value(name, key, state):
    spec = VIEWS[name]
    values = spec.swept[key].values
    drawn = [fresh(name, **state, **{key: value}) for value in values]
    for start in {0, values.index(spec.swept[key].default), len(values) - 1}:
        shown = spec(**state, **{key: values[start]})
        swept = shown.sweeps[key]
        assert swept.values == values
        assert len(swept.frames) == len(values)
        base = shown.drawing
        for frame, drawing in zip(swept.frames, drawn, strict=True):
            data = [
                {**trace, **change} for trace, change in zip(base.data, frame.data, strict=True)
            ]
            assert_same(data, drawing.data, "data")
            assert_same({**base.layout, **frame.layout}, drawing.layout, "layout")
            assert frame.caption == drawing.caption
            assert (base.height, base.narrow) == (drawing.height, drawing.narrow)
    # The axes stay while the slider moves, so that the eye compares.
    axes = [part for part in drawn[0].layout if re.fullmatch(r"[xy]axis\d*", part)]
    assert len(axes) >= 2
    for axis in axes:
        ranges = [drawing.layout[axis]["range"] for drawing in drawn]
        assert all(r == ranges[0] for r in ranges)
        assert ranges[0] is not None or drawn[0].layout[axis]["type"] == "category"
        assert not drawn[0].layout[axis]["autorange"] or ranges[0] is None
        assert len({drawing.layout[axis]["type"] for drawing in drawn}) == 1
    assert len({len(drawing.data) for drawing in drawn}) == 1


@pytest.mark.parametrize("name", [name for name in VIEWS if VIEWS[name].swept])
def test_a_frame_leaves_out_what_stays(name):
    view = VIEWS[name]()
    for swept in view.sweeps.values():
        whole = sum(len(trace) for trace in view.drawing.data)
        assert all(sum(map(len, frame.data)) < whole for frame in swept.frames)
        assert not any("type" in change for frame in swept.frames for change in frame.data)
        # Something moves, or there would be nothing to drag; the caption says what.
        assert len({frame.caption for frame in swept.frames}) == len(swept.values)


def test_a_sweep_notices_a_key_that_only_some_drawings_have_by_name():
    # A view's traces have the same keys at every value; made here on purpose with other arrays.
    row = Parameter("step", "Step", 1, (1, 2, 3))

    def function(step):
        return Drawing(
            [{"type": "bar", "x": [0, step], "y": np.array([1.0, 2.0])}], {}, "A.", {}, {}
        )

    spec = ViewSpec("made.up", function, (row,))
    frames = spec(step=2).sweeps["step"].frames
    assert [frame.data for frame in frames] == [[{"x": [0, 1]}], [{"x": [0, 2]}], [{"x": [0, 3]}]]
    assert [frame.layout for frame in frames] == [{}, {}, {}]


# --- a guess drawn on the figure ---


@pytest.mark.parametrize("axes", ["", "2"])
def test_a_mark_stands_where_it_is_said_on_linear_and_log_axes(axes):
    spec = ViewSpec(
        "made.up",
        lambda: Drawing(
            [],
            {
                "xaxis": chart.axis("", between=(0, 10)),
                "yaxis": chart.axis("", between=(0.01, 100), log=True),
                "xaxis2": chart.axis("", between=(1, 1000), log=True),
                "yaxis2": chart.axis("", between=(-5, 5)),
            },
            "A.",
            {},
            {},
        ),
        (),
    )
    is_log = {"x": axes == "2", "y": axes == ""}
    for along, across in (("x", "y"), ("y", "x")):
        view = spec().marked("you said 4", **{along: 4}, axes=axes)
        (line,), (text,) = view.figure.layout.shapes, view.figure.layout.annotations
        # Plotly: on a log axis a shape takes the value itself, an annotation its log10.
        assert line[f"{along}0"] == line[f"{along}1"] == 4
        assert text[along] == pytest.approx(math.log10(4) if is_log[along] else 4)
        assert (line[f"{across}0"], line[f"{across}1"]) == (0, 1)
        for item in (line, text):
            assert item[f"{along}ref"] == along + axes
            assert item[f"{across}ref"] == f"{across}{axes} domain"
        assert line.type == "line"
        assert text.text == "you said 4"


@pytest.mark.parametrize(
    ("name", "where", "axis"),
    [
        ("temperature.weights", {"y": 0.5}, "yaxis"),
        ("gradients.gap", {"y": 1e-3, "axes": "2"}, "yaxis2"),
        ("chain.chain", {"y": 0.0, "axes": "2"}, "yaxis2"),
        ("variance.histogram", {"x": 16}, "xaxis"),
        ("overflow.steps", {"x": 11}, "xaxis"),
        ("overflow.steps", {"x": 710}, "xaxis"),
        ("worked_example.lines", {"y": 0.2}, "yaxis"),
    ],
)
def test_a_mark_is_added_to_what_is_drawn_and_changes_nothing_else(name, where, axis):
    view = VIEWS[name]()
    marked = view.marked("you said so", **where).marked("and so", **where)
    before, after = view.figure.layout, marked.figure.layout
    assert len(after.shapes) == len(before.shapes) + 2
    assert len(after.annotations) == len(before.annotations) + 2
    assert after.shapes[: len(before.shapes)] == before.shapes
    assert [note.text for note in after.annotations[-2:]] == ["you said so", "and so"]
    assert marked.drawing is view.drawing
    assert marked.caption == view.caption
    assert view.marks == {"shapes": [], "annotations": []}
    along = axis[0]
    place = after.annotations[-1][along]
    low, high = sorted(after[axis].range)
    assert low <= place <= high
    in_plain = 10**place if after[axis].type == "log" else place
    assert in_plain == pytest.approx(after.shapes[-1][f"{along}0"]) == where[along]


# --- temperature ---


def softmax(s, t=1.0):
    """Softmax by mpmath, 50 digits."""
    with mp.workdps(50):
        e = [mp.exp(mp.mpf(float(x)) / mp.mpf(float(t))) for x in s]
        return [float(x / mp.fsum(e)) for x in e]


# The examples of the lesson's plan, computed by mpmath with 40 digits and rounded
@pytest.mark.parametrize(
    ("scores", "t", "expected"),
    [
        ("0.2, 0.1, 0", 1, [0.367, 0.332, 0.301]),
        ("20, 10, 0", 1, [0.99995, 4.54e-5, 2.06e-9]),
        ("8, 4, 0", 1, [0.982, 0.0180, 0.000329]),
        ("8, 4, 0", 8, [0.506, 0.307, 0.186]),
        ("100, 101", 1, [0.269, 0.731]),
    ],
)
def test_the_weights_of_the_lesson_s_own_rows(scores, t, expected):
    view = VIEWS["temperature.weights"](scores=scores, temperature=float(t))
    got = column(view, "weight, divided by T")
    assert_allclose(got, expected, rtol=5e-3 if t == 1 else 2e-3)
    assert_allclose(got, softmax(view.state["scores"], t), rtol=1e-13)
    assert_allclose(column(view, "weight, not divided"), softmax(view.state["scores"]), rtol=1e-13)
    sharp, soft = traces(view, type="bar")
    assert (sharp["marker"]["color"], soft["marker"]["color"]) == ("$unscaled", "$scaled")
    assert_array_equal(sharp["y"], column(view, "weight, not divided"))
    assert_array_equal(soft["y"], got)


@pytest.mark.parametrize("t", TEMPERATURE.values)
@pytest.mark.parametrize("scores", [SCORES[0], SCORES[4], SCORES[6], MANY])
def test_curves_and_dots_of_p_against_t_are_softmax_of_s_over_t(scores, t):
    view = VIEWS["temperature.weights"](scores=scores, temperature=t)
    curves, dots = traces(view, mode="lines"), traces(view, mode="markers")
    assert len(curves) == len(dots) == min(len(scores), 8)
    ranked = np.argsort([-s for s in scores], kind="stable")
    for curve, dot, key in zip(curves, dots, ranked, strict=False):
        expected = special.softmax(np.array(scores) / curve["x"][:, None], axis=-1)[:, key]
        assert_allclose(curve["y"], expected, rtol=1e-9, atol=1e-300)
        assert (curve["xaxis"], curve["yaxis"]) == ("x2", "y2") == (dot["xaxis"], dot["yaxis"])
        assert_allclose(dot["y"], softmax(scores, t)[key], rtol=1e-9, atol=1e-300)
        assert dot["x"] == [t]
        assert curve["name"] == dot["name"] == f"k<sub>{key + 1}</sub>"
    assert curves[0]["x"][0] <= TEMPERATURE.values[0]
    assert curves[0]["x"][-1] >= TEMPERATURE.values[-1]


@pytest.mark.parametrize("t", TEMPERATURE.values)
def test_entropy_and_keys_in_play_are_shannon_s(t):
    view = VIEWS["temperature.weights"](temperature=t)
    entropy = stats.entropy(softmax([8, 4, 0], t))
    assert view.numbers["entropy"] == pytest.approx(entropy, rel=1e-10)
    assert view.numbers["keys in play"] == pytest.approx(math.exp(entropy), rel=1e-10)
    assert view.numbers["top weight"] == pytest.approx(softmax([8, 4, 0], t)[0], rel=1e-13)


def test_only_the_root_keeps_the_weights_at_every_width():
    view = VIEWS["temperature.divisors"]()
    for place, width in enumerate(D_K.values):
        row = [math.sqrt(width), math.sqrt(width) / 2, 0]
        for name, divisor in (("1", 1), ("√d_k", math.sqrt(width)), ("d_k", width)):
            expected = softmax(row, divisor)
            got = [column(view, f"weight of k{k}, divided by {name}")[place] for k in (1, 2, 3)]
            assert_allclose(got, expected, rtol=1e-12)
            keys = column(view, f"keys in play, divided by {name}")[place]
            assert_allclose(keys, math.exp(stats.entropy(expected)), rtol=1e-12)
    assert_allclose(column(view, "weight of k1, divided by √d_k"), 0.50648, atol=1e-5)
    assert (np.diff(column(view, "keys in play, divided by 1")) < 0).all()
    assert (np.diff(column(view, "keys in play, divided by d_k")) > 0).all()


@pytest.mark.parametrize("d_k", D_K.values)
def test_the_bars_of_the_divisors_are_the_row_of_this_width(d_k):
    view = VIEWS["temperature.divisors"](d_k=d_k)
    row = np.array([1, 0.5, 0]) * math.sqrt(d_k)
    for bars, power in zip(traces(view, type="bar"), (0, 0.5, 1), strict=True):
        assert_allclose(bars["y"], softmax(row, d_k**power), rtol=1e-12)
    for dot, power in zip(traces(view, mode="markers"), (0, 0.5, 1), strict=True):
        assert dot["x"] == [d_k]
        keys = math.exp(stats.entropy(softmax(row, d_k**power)))
        assert_allclose(dot["y"], keys, rtol=1e-12)


# --- variance ---


def exact_density(s, d):
    """Variance-gamma: |s|^ν K_ν(|s|)/(√π 2^ν Γ(d/2)), ν = (d − 1)/2, by scipy in logarithms."""
    s, nu = np.abs(np.asarray(s, dtype=float)), (d - 1) / 2
    log_k = np.log(special.kve(nu, s)) - s
    return np.exp(nu * np.log(s / 2) + log_k - special.gammaln(d / 2) - math.log(math.pi) / 2)


@pytest.mark.parametrize("seed", [0, 3, 9])
@pytest.mark.parametrize("d_k", D_K.values)
def test_sampled_scores_spread_like_the_root_of_the_width(d_k, seed):
    samples = 5000
    view = VIEWS["variance.histogram"](d_k=d_k, samples=samples, seed=seed)
    root = math.sqrt(d_k)
    # Standard error of a standard deviation, with the law's excess kurtosis 6/d_k
    error = math.sqrt((2 + 6 / d_k) / samples) / 2
    assert abs(view.numbers["standard deviation"] / root - 1) < 5 * error
    assert abs(view.numbers["standard deviation divided"] - 1) < 5 * error
    assert abs(view.numbers["mean"]) < 5 * root / math.sqrt(samples)
    assert view.numbers["law"] == root
    # The picture says the same: the spread of the bars, less that of a bar's own width.
    raw, scaled = traces(view, type="bar")
    for bars, unit in ((raw, root), (scaled, 1.0)):
        share = bars["y"] * bars["width"]
        assert 0.995 <= share.sum() <= 1 + 1e-12
        assert_allclose(np.diff(bars["x"]), bars["width"], rtol=1e-9)
        variance = (share * bars["x"] ** 2).sum() / share.sum()
        assert math.sqrt(variance - bars["width"] ** 2 / 12) / unit == pytest.approx(1, abs=0.06)
        assert_allclose(share * samples, np.round(share * samples), atol=1e-6)  # counts
    assert_allclose(scaled["y"], raw["y"] * root, rtol=1e-9)


@pytest.mark.parametrize("d_k", [4, 8, 64, 256])
def test_the_curves_over_the_histogram_are_the_exact_and_the_normal_law(d_k):
    view = VIEWS["variance.histogram"](d_k=d_k, samples=1000)
    exact, normal, exact_scaled, normal_scaled = traces(view, mode="lines")
    root = math.sqrt(d_k)
    away = np.abs(exact["x"]) > 1e-9  # |s|^ν K_ν(|s|) is 0·∞ at 0
    assert_allclose(exact["y"][away], exact_density(exact["x"][away], d_k), rtol=1e-8)
    assert_allclose(normal["y"], stats.norm.pdf(normal["x"], scale=root), rtol=1e-12)
    assert_allclose(exact_scaled["y"], exact["y"] * root, rtol=1e-12)
    assert_allclose(normal_scaled["y"], stats.norm.pdf(normal_scaled["x"]), rtol=1e-12)
    assert_allclose(exact_scaled["x"] * root, exact["x"], rtol=1e-12)
    assert normal["line"]["dash"] != exact["line"]["dash"]


@pytest.mark.parametrize("d_k", [4, 16, 64, 256])
def test_the_share_beyond_three_standard_deviations_is_the_exact_law_s(d_k):
    view = VIEWS["variance.histogram"](d_k=d_k, samples=100_000)
    root = math.sqrt(d_k)
    beyond = 2 * integrate.quad(exact_density, 3 * root, 60 * root, args=(d_k,), limit=200)[0]
    assert view.numbers["law beyond three"] == pytest.approx(beyond, rel=1e-7)
    assert view.numbers["law beyond three"] > stats.norm.sf(3) * 2  # heavier than normal
    error = math.sqrt(beyond / 100_000)
    assert abs(view.numbers["share beyond three"] - beyond) < 5 * error


@pytest.mark.parametrize("seed", range(3))
def test_four_times_four_times_the_width_is_four_times_the_spread(seed):
    view = VIEWS["variance.growth"](seed=seed)
    assert view.numbers["standard deviation at 16"] == pytest.approx(4, rel=0.03)
    assert view.numbers["standard deviation at 256"] == pytest.approx(16, rel=0.03)
    assert_allclose(column(view, "sampled standard deviation"), np.sqrt(WIDTHS), rtol=0.035)
    assert_allclose(column(view, "divided by √d_k"), 1, rtol=0.035)
    assert_allclose(column(view, "√d_k") ** 2, WIDTHS, rtol=1e-12)
    narrow, wide = traces(view, type="bar")
    for bars, spread in ((narrow, 4), (wide, 16)):
        share = bars["y"] * bars["width"]
        assert_allclose(np.sqrt((share * bars["x"] ** 2).sum()), spread, rtol=0.05)


@pytest.mark.parametrize("d_k", D_K.values)
def test_both_spread_views_measure_the_same_sample(d_k):
    growth = VIEWS["variance.growth"](d_k=d_k, samples=1000, seed=1)
    histogram = VIEWS["variance.histogram"](d_k=d_k, samples=1000, seed=1)
    assert growth.numbers["standard deviation"] == histogram.numbers["standard deviation"]
    dots = [trace for trace in traces(growth, mode="markers") if len(trace["x"]) == 1]
    assert [dot["x"] for dot in dots] == [[d_k], [d_k]]
    assert dots[0]["y"] == [histogram.numbers["standard deviation"]]
    assert_allclose(dots[1]["y"], histogram.numbers["standard deviation divided"], rtol=1e-12)


# --- gradients ---


def test_the_slope_of_two_keys_is_a_quarter_sech_squared_at_every_gap():
    view = VIEWS["gradients.gap"]()
    gaps = column(view, "gap")
    assert_array_equal(gaps, GAP.values)
    with mp.workdps(40):
        expected = [float(mp.sech(mp.mpf(float(g)) / 2) ** 2 / 4) for g in gaps]
    assert_allclose(column(view, "p(1 − p)"), expected, rtol=1e-12)
    assert_allclose(column(view, "e^(−gap)"), np.exp(-gaps), rtol=1e-14)
    for gap, slope in zip(GAP.values, expected, strict=True):
        one = VIEWS["gradients.gap"](gap=gap)
        assert one.numbers["slope"] == pytest.approx(slope, rel=1e-12)
        assert traces(one, mode="markers")[0]["y"] == [one.numbers["slope"]]
        assert_allclose(traces(one, type="bar")[0]["y"], softmax([gap, 0]), rtol=1e-12)
    # mpmath, 40 digits: mp.sech(4)**2/4
    assert VIEWS["gradients.gap"](gap=8.0).numbers["slope"] == pytest.approx(3.3523767075e-4)


def simulated_gradients(d_k, n_keys, divisor, n_rows, seed):
    """tr(J)/T of rows of real dot products: q and k are drawn component by component."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(0, n_rows, 500):
        q, k = rng.standard_normal((500, d_k)), rng.standard_normal((500, n_keys, d_k))
        p = special.softmax(np.einsum("rd,rnd->rn", q, k) / divisor, axis=-1)
        found.append((p * (1 - p)).sum(axis=-1))
    return np.concatenate(found) / divisor


@pytest.mark.parametrize(("d_k", "keys"), [(4, 8), (64, 3), (64, 8), (256, 8), (16, 64)])
@pytest.mark.parametrize("scaled", [False, True])
def test_mean_median_tenth_and_dead_rows_are_those_of_simulated_attention(d_k, keys, scaled):
    rows, shown = 4000, 4000
    divisor = math.sqrt(d_k) if scaled else 1.0
    traces_of_j = simulated_gradients(d_k, keys, divisor, rows, seed=5)
    how = "divided" if scaled else "not divided"
    numbers = VIEWS["gradients.rows"](d_k=d_k, keys=keys).numbers
    both = math.sqrt(1 / rows + 1 / shown)  # of two independent samples
    assert abs(numbers[f"mean, {how}"] - traces_of_j.mean()) < 5 * traces_of_j.std() * both
    for name, share in (("median", 0.5), ("lower_decile", 0.1)):
        below = (traces_of_j < numbers[f"{name}, {how}"]).mean()
        assert abs(below - share) < 5 * math.sqrt(share * (1 - share)) * both
    dead = (traces_of_j < 1e-3).mean()
    error = 5 * math.sqrt(max(dead * (1 - dead), 1 / rows)) * both
    assert abs(numbers[f"dead_share, {how}"] - dead) < error


@pytest.mark.parametrize("d_k", D_K.values)
def test_dots_and_table_of_the_rows_are_the_numbers_of_this_width(d_k):
    view = VIEWS["gradients.rows"](d_k=d_k, keys=6)
    here = D_K.values.index(d_k)
    for name in ("mean", "median", "lower_decile", "dead_share"):
        for how, heading in (("not divided", "not divided"), ("divided", "divided by √d_k")):
            assert column(view, f"{name}, {heading}")[here] == view.numbers[f"{name}, {how}"]
    assert_array_equal(column(view, "d_k"), D_K.values)
    dots = traces(view, mode="markers")
    assert dots
    for dot in dots:
        assert dot["x"] == [d_k]
        curves = [
            t
            for t in traces(view, mode="lines", name=dot["name"])
            if t["line"]["color"] == dot["marker"]["color"]
        ]
        floor = 10 ** axis_of(view.drawing, dot, "y")["range"][0]  # a dot stops at the axis
        lowest = floor if axis_of(view.drawing, dot, "y")["type"] == "log" else 0
        assert dot["y"] == [max(curves[0]["y"][here], lowest)]


def jacobian_by_loops(s, t):
    p = softmax(s, t)
    n = range(len(p))
    return [[p[i] * (1 - p[i]) if i == j else -p[i] * p[j] for j in n] for i in n]


@pytest.mark.parametrize("t", [0.25, 1.0, 2.0, 8.0, 64.0])
@pytest.mark.parametrize("scores", [SCORES[0], SCORES[1], SCORES[2], SCORES[6], SCORES[12]])
def test_the_jacobian_drawn_is_p_times_delta_minus_p(scores, t):
    view = VIEWS["gradients.jacobian"](scores=scores, temperature=t)
    expected = np.array(jacobian_by_loops(scores, t))
    (heatmap,) = traces(view, type="heatmap")
    assert_allclose(heatmap["z"], expected, rtol=1e-9, atol=1e-15)
    assert (heatmap["zmin"], heatmap["zmax"]) == (-0.25, 0.25)  # symmetric about 0, and never more
    size = math.sqrt(sum(x * x for row in expected for x in row))
    assert view.numbers["size"] == pytest.approx(size, rel=1e-6, abs=1e-14)
    assert view.numbers["size with chain factor"] == pytest.approx(size / t, rel=1e-6, abs=1e-14)
    assert [dot["x"] for dot in traces(view, mode="markers")] == [[t], [t]]


def test_the_sizes_against_t_are_those_of_the_matrices():
    view = VIEWS["gradients.jacobian"]()
    for t, size, chained in view.table.to_numpy()[::8]:
        expected = np.linalg.norm(jacobian_by_loops([8, 4, 0], t))
        assert_allclose([size, chained], [expected, expected / t], rtol=1e-8)
    # Rounded from mpmath: ‖J‖_F/T of [8, 4, 0] at T = 1, 2, 8 and 64
    for t, expected in ((1.0, 0.0355), (2.0, 0.1065), (8.0, 0.0564), (64.0, 0.0074)):
        got = VIEWS["gradients.jacobian"](temperature=t).numbers["size with chain factor"]
        assert got == pytest.approx(expected, abs=5e-5)


def test_the_best_temperature_stands_in_the_figure():
    view = VIEWS["gradients.jacobian"]()
    assert view.numbers["best temperature"] == pytest.approx(2.549, abs=1e-3)
    assert view.numbers["best temperature"] in {shape.x0 for shape in view.figure.layout.shapes}
    two = VIEWS["gradients.jacobian"](scores="6, 0")
    assert two.numbers["best temperature"] == pytest.approx(6 / 1.5434, rel=1e-4)
    tie = VIEWS["gradients.jacobian"](scores="5, 5, 0")
    assert tie.numbers["best temperature"] == 0
    assert len(tie.figure.layout.shapes) == len(view.figure.layout.shapes) - 1


# mpmath: −∂/∂s of ½‖softmax(s/T) − e₃‖² for s = [8, 4, 0]
@pytest.mark.parametrize(
    ("t", "expected"),
    [(1.0, [-0.0177, 0.0170, 0.00065]), (8.0, [-0.0194, -0.0041, 0.0236])],
)
def test_descent_moves_the_runner_up_without_a_divisor_and_the_right_key_with_it(t, expected):
    view = VIEWS["gradients.pointing"](temperature=t)
    got = column(view, "step, divided by T")
    assert_allclose(got, expected, atol=5e-5)

    def loss(s):
        p = special.softmax(np.asarray(s) / t)
        return ((p - [0, 0, 1]) ** 2).sum() / 2

    h = 1e-5 * np.eye(3)
    s = np.array([8.0, 4, 0])
    assert_allclose(got, [-(loss(s + e) - loss(s - e)) / 2e-5 for e in h], atol=1e-9)
    assert got.argmax() == (2 if t == 8 else 1)


@given(
    st.sampled_from([row for row in SCORES if len(row) > 1]), st.sampled_from(TEMPERATURE.values)
)
@settings(max_examples=30, deadline=None)
def test_a_step_is_minus_the_jacobian_times_p_minus_the_target(scores, t):
    view = VIEWS["gradients.pointing"](scores=scores, temperature=t)
    right = scores.index(min(scores))
    for name, heat in (("step, not divided", 1.0), ("step, divided by T", t)):
        p, j = np.array(softmax(scores, heat)), np.array(jacobian_by_loops(scores, heat))
        target = np.eye(len(p))[right]
        step = -j @ (p - target) / heat
        assert_allclose(column(view, name), step, rtol=1e-6, atol=1e-12)
        how = name.removeprefix("step, ").removesuffix(" by T")
        total = np.abs(column(view, name)).sum()
        share = abs(column(view, name)[right]) / total if total else 0
        assert view.numbers[f"share on the right key, {how}"] == pytest.approx(share, abs=1e-12)
        assert 0 <= share <= 0.5 + 1e-9  # a step sums to 0: what one key gains others lose
    for bars in traces(view, type="bar"):
        largest = np.abs(bars["y"]).max()
        assert largest == pytest.approx(1) or (bars["y"] == 0).all()


# --- overflow ---


def test_the_thresholds_are_the_logarithms_of_the_largest_numbers():
    numbers = VIEWS["overflow.steps"]().numbers
    # IEEE 754 and OCP 8-bit formats, by hand: largest numbers
    largest = {
        "float64": (2 - 2.0**-52) * 2.0**1023,
        "float32": (2 - 2.0**-23) * 2.0**127,
        "bfloat16": (2 - 2.0**-7) * 2.0**127,
        "float16": 65504,
        "float8_e5m2": 57344,
        "float8_e4m3fn": 448,
    }
    for name, value in largest.items():
        assert float(ml_dtypes.finfo(name).max) == value
        assert numbers[f"threshold {name}"] == pytest.approx(math.log(value), rel=1e-9)
        one = VIEWS["overflow.steps"](format=name)
        assert one.numbers["threshold"] == numbers[f"threshold {name}"]
    shown = [numbers[f"threshold {name}"] for name in ("float16", "float32", "float64")]
    assert_allclose(shown, [11.09, 88.72, 709.78], atol=0.005)
    limits = VIEWS["overflow.steps"]().drawing.data[0]
    assert sorted(limits["x"]) == sorted(numbers[f"threshold {name}"] for name in largest)


def test_in_float16_an_offset_of_4_breaks_the_naive_form_alone():
    before, after = (VIEWS["overflow.steps"](offset=offset) for offset in (0, 4))
    assert_allclose(column(before, "weight"), softmax([8, 4, 0]), rtol=2e-3)
    assert_array_equal(column(after, "exp") == np.inf, [True, False, False])
    assert np.isnan(column(after, "weight")[0])
    assert_array_equal(column(after, "weight")[1:], [0, 0])
    for view in (before, after):
        assert_allclose(column(view, "weight, max subtracted"), softmax([8, 4, 0]), rtol=2e-3)
        assert_array_equal(column(view, "score − max"), [0, -4, -8])
    assert "breaks" in after.caption
    assert "breaks" not in before.caption


def test_the_subtracted_maximum_takes_every_offset_that_the_format_holds_away_again():
    for offset in OFFSET.values:
        view = VIEWS["overflow.steps"](offset=offset, format="float64")
        assert_allclose(column(view, "weight, max subtracted"), softmax([8, 4, 0]), rtol=1e-13)
        assert view.numbers["largest score"] == 8 + offset
        assert np.isfinite(column(view, "weight")).all() == (8 + offset <= 709)


def test_in_bfloat16_1000_999_and_998_are_one_number():
    # 8 bits of significand: from 512 to 1024 the step is 4, and ties go to even.
    view = VIEWS["overflow.steps"](format="bfloat16", scores="1000, 999, 998")
    assert_array_equal(column(view, "score in the format"), [1000, 1000, 1000])
    assert_allclose(column(view, "weight, max subtracted"), 1 / 3, rtol=4e-3)
    assert "1000" in view.notice
    assert VIEWS["overflow.steps"](format="float32", scores="1000, 999, 998").notice != view.notice


@given(
    st.sampled_from(parameters.FORMAT.values),
    st.sampled_from(OFFSET.values),
    st.sampled_from(SCORES),
)
@settings(max_examples=150, deadline=None)
def test_the_caption_says_so_when_the_naive_weights_are_wrong(format, offset, scores):
    view = VIEWS["overflow.steps"](format=format, offset=offset, scores=scores)
    naive, safe = column(view, "weight"), column(view, "weight, max subtracted")
    top = int(np.argmax(scores))
    if not np.isfinite(naive).all() or abs(naive[top] - safe[top]) > 0.2:
        assert "breaks" in view.caption
    elif np.isfinite(safe).all():
        assert "breaks" not in view.caption
        assert "fits" in view.caption


def test_the_caption_says_so_when_the_sum_overflows_and_every_weight_is_0():
    # exp(11) = 59874 fits float16, the sum of two does not.
    view = VIEWS["overflow.steps"](format="float16", scores="11, 11")
    assert_array_equal(column(view, "weight"), [0, 0])
    assert_array_equal(column(view, "weight, max subtracted"), [0.5, 0.5])
    assert "breaks" in view.caption


@pytest.mark.parametrize("keys", [2, 8, 64])
@pytest.mark.parametrize("format", ["float16", "float32", "float64"])
def test_equal_scores_whose_sum_just_fits_stand_at_the_threshold_of_the_sum(format, keys):
    limit = VIEWS["overflow.steps"](format=format, scores=[1.0] * keys).numbers[
        "threshold of the sum"
    ]
    for score, fits in ((limit - 0.02, True), (limit + 0.02, False)):
        view = VIEWS["overflow.steps"](format=format, scores=[score] * keys)
        assert np.isfinite(column(view, "exp")).all()
        assert ("breaks" not in view.caption) == fits
        assert ("Every exp fits" in view.notice) == (not fits)
        assert column(view, "weight")[0] == pytest.approx(1 / keys if fits else 0, rel=0.02)


def test_the_prediction_of_the_overflow_page_is_not_answered_before_it_is_made():
    sum_of_eight = VIEWS["overflow.steps"](scores=[10.0] * 8).numbers["threshold of the sum"]
    assert sum_of_eight == pytest.approx(math.log(65504 / 8))
    for name in [name for name in VIEWS if name.startswith("overflow.")]:
        view = VIEWS[name]()
        drawn = [str(leaf) for leaf in leaves([view.drawing.data, view.drawing.layout])]
        said = " ".join([view.caption, view.notice, view.formula, *drawn])
        assert "9.01" not in said


@pytest.mark.parametrize(
    ("format", "scores", "offset"),
    [
        ("float16", "8, 4, 0", 4),
        ("float32", "8, 4, 0", 90),
        ("float64", "8, 4, 0", 710),
        ("float8_e4m3fn", "8, 4, 0", 0),
        ("float16", "-20, -21, -22", 0),
    ],
)
def test_every_cell_that_is_inf_or_nan_is_framed(format, scores, offset):
    view = VIEWS["overflow.steps"](format=format, scores=scores, offset=offset)
    exps, weights = column(view, "exp"), column(view, "weight")
    with np.errstate(all="ignore"):
        total = float(exps.astype(ml_dtypes.finfo(format).dtype).sum())
    broken = np.count_nonzero(~np.isfinite([*exps, *weights, total]))
    assert broken > 0
    frames = [s for s in view.drawing.layout["shapes"] if s["type"] == "rect"]
    assert len([s for s in frames if s["xref"] == "x2"]) == broken
    assert [s for s in frames if s["xref"] == "x3"] == []


@pytest.mark.parametrize("gap", [0.0, 1.0, 4.0, 20.0])
def test_an_offset_changes_no_weight_and_a_gap_does(gap):
    tops = [
        VIEWS["overflow.invariance"](offset=o, gap=gap).numbers["top weight"] for o in OFFSET.values
    ]
    assert_allclose(tops, special.expit(gap), rtol=1e-13)
    view = VIEWS["overflow.invariance"](gap=gap)
    flat, rising = traces(view, mode="lines")
    assert_allclose(flat["y"], special.expit(gap), rtol=1e-13)
    assert_array_equal(flat["x"], OFFSET.values)
    assert_allclose(rising["y"], special.expit(np.array(GAP.values)), rtol=1e-13)
    assert [dot["x"] for dot in traces(view, mode="markers")] == [[0], [gap]]


def overflow_chance(d, n, limit):
    """P(max of n scores > limit): 1 − Φ(limit/√r)ⁿ averaged over r ~ χ²(d), piecewise by quad."""

    def weighted(log_r):
        r = math.exp(log_r)
        one_minus = -math.expm1(n * special.log_ndtr(limit / math.sqrt(r)))
        return one_minus * math.exp(stats.chi2.logpdf(r, d) + log_r)

    pieces = np.linspace(math.log(d) - 8, math.log(d) + 6, 29)
    return sum(
        integrate.quad(weighted, low, high, epsabs=0, epsrel=1e-9, limit=100)[0]
        for low, high in itertools.pairwise(pieces)
        if max(weighted(low), weighted(high)) > 1e-40
    )


@pytest.mark.parametrize(("d_k", "keys"), [(4, 3), (64, 16), (256, 8), (1024, 64)])
def test_the_chance_of_overflow_is_the_integral_over_the_length_of_q(d_k, keys):
    numbers = VIEWS["overflow.chance"](d_k=d_k, keys=keys).numbers
    limits = {"float16": math.log(65504), "float32": math.log(2) * 128}
    for name, limit in limits.items():
        assert numbers[name] == pytest.approx(overflow_chance(d_k, keys, limit), rel=1e-5)
    divided = overflow_chance(d_k, keys, limits["float16"] * math.sqrt(d_k))
    assert numbers["float16 divided"] == pytest.approx(divided, rel=1e-5)


def test_the_chance_table_is_the_numbers_of_every_width():
    view = VIEWS["overflow.chance"](keys=16)
    for place, width in enumerate(D_K.values):
        numbers = VIEWS["overflow.chance"](d_k=width, keys=16).numbers
        assert column(view, "float16")[place] == numbers["float16"]
        assert column(view, "float32")[place] == numbers["float32"]
    assert (np.diff(column(view, "float16")) > 0).all()


def test_dividing_q_first_takes_components_from_32_to_90_5_at_width_64():
    view = VIEWS["overflow.dot_product"](d_k=64)
    # 64 c² = 65504 and 64 c²/8 = 65504
    assert view.numbers["component limit"] == pytest.approx(math.sqrt(65504 / 64))
    assert view.numbers["component limit, q divided first"] == pytest.approx(math.sqrt(65504 / 8))
    assert round(view.numbers["component limit"], 1) == 32.0
    assert round(view.numbers["component limit, q divided first"], 1) == 90.5
    assert view.numbers["score"] == math.inf
    assert view.numbers["score, q divided first"] == 12800 == 64 * 40 * 40 / 8
    late, early = column(view, "divide q·k afterwards"), column(view, "divide q first")
    assert_allclose(late, np.sqrt(65504 / WIDTHS), rtol=1e-12)
    assert_allclose(early / late, WIDTHS**0.25, rtol=1e-12)


def half(x):
    """Round to float16 by the standard library."""
    try:
        return struct.unpack("e", struct.pack("e", x))[0]
    except OverflowError:
        return math.inf


@pytest.mark.parametrize("d_k", D_K.values)
def test_a_component_of_40_overflows_just_where_the_limit_says(d_k):
    numbers = VIEWS["overflow.dot_product"](d_k=d_k).numbers
    assert math.isinf(numbers["score"]) == (numbers["component limit"] < 40)
    for name, divisor in (("score", 1), ("score, q divided first", math.sqrt(d_k))):
        product, total = half(half(40 / half(divisor)) * 40), 0.0
        for _ in range(d_k):
            total = half(total + product)
        assert numbers[name] == total
    # Rounded after each of up to 1024 terms, the sum strays, but it stays finite.
    assert numbers["score, q divided first"] == pytest.approx(1600 * math.sqrt(d_k), rel=0.1)


def test_masked_rows():
    view = VIEWS["overflow.masks"]()
    got = view.table.iloc[:, 1:].to_numpy()
    assert_allclose(got[0], [special.expit(1), 0, special.expit(-1)], rtol=1e-14)
    assert got[0][1] == 0
    assert_array_equal(got[1], [0, 0, 0])
    assert_allclose(got[2], [1 / 3] * 3, rtol=1e-15)
    with np.errstate(invalid="ignore"):  # the plain formula, as it stands
        plain = np.exp([-np.inf] * 3) / np.exp([-np.inf] * 3).sum()
    assert np.isnan(plain).all()
    assert "nan" in view.caption
    for key, bars in enumerate(traces(view, type="bar")):
        assert_array_equal(bars["y"], got[:, key])


# --- the chain ---


@pytest.mark.parametrize("d_k", D_K.values)
def test_the_chain_is_blom_s_row_its_softmax_and_the_median_of_rows(d_k):
    view = VIEWS["chain.chain"](d_k=d_k)
    ranks = (np.arange(8, 0, -1) - 0.375) / 8.25
    z = stats.norm.ppf(ranks)
    raw, scaled, sharp, soft = (trace["y"] for trace in traces(view, type="bar"))
    assert_allclose(raw, z * math.sqrt(d_k), rtol=1e-9, atol=1e-9)
    assert_allclose(scaled, z, rtol=1e-9, atol=1e-9)
    assert_allclose(sharp, softmax(z * math.sqrt(d_k)), rtol=1e-9)
    assert_allclose(soft, softmax(z), rtol=1e-9)
    numbers = view.numbers
    assert numbers["standard deviation"] == math.sqrt(d_k)
    assert numbers["top weight not divided"] == pytest.approx(max(softmax(z * math.sqrt(d_k))))
    assert numbers["top weight divided"] == pytest.approx(0.366, abs=5e-4)  # at every width
    assert numbers["keys in play divided"] == pytest.approx(math.exp(stats.entropy(softmax(z))))
    rows = VIEWS["gradients.rows"](d_k=d_k, keys=8).numbers
    assert numbers["median gradient not divided"] == rows["median, not divided"]
    assert numbers["median gradient divided"] == rows["median, divided"]
    here = D_K.values.index(d_k)
    assert column(view, "top weight, not divided")[here] == numbers["top weight not divided"]
    assert column(view, "median gradient, not divided")[here] == rows["median, not divided"]


def test_the_chain_s_premise_that_the_typical_gradient_dies_and_the_scaled_one_lives():
    view = VIEWS["chain.chain"]()
    dying = column(view, "median gradient, not divided")
    living = column(view, "median gradient, divided by √d_k")
    assert (np.diff(dying) < 0).all()
    assert dying[-1] < 1e-3 * dying[0]
    # With T = √d_k the weights are alike at every width, so only the factor 1/T is left.
    assert_allclose(living * np.sqrt(WIDTHS), living[-1] * 32, rtol=0.15)


# --- by hand ---


@pytest.mark.parametrize("scores", ["8, 4, 0", "20, 10, 0", "0.2, 0.1, 0", "3", "-2, 1e5", MANY])
@pytest.mark.parametrize("d_k", [4, 64, 128])
def test_the_numpy_code_runs_by_itself_and_prints_the_table_s_weights(d_k, scores):
    view = VIEWS["worked_example.lines"](d_k=d_k, scores=scores)
    printed, names = io.StringIO(), {}
    with contextlib.redirect_stdout(printed):
        exec(compile(as_numpy(d_k, view.state["scores"]), "code", "exec"), names)
    got = column(view, "weight, divided")
    assert_allclose(names["weights"], got, rtol=1e-12)
    in_print = np.fromstring(printed.getvalue().strip("[]\n ").replace("\n", " "), sep=" ")
    assert_allclose(in_print, got, rtol=1e-6, atol=1e-8)
    assert_allclose(got, softmax(view.state["scores"], math.sqrt(d_k)), rtol=1e-12)


def test_every_line_of_8_4_0_by_hand():
    view = VIEWS["worked_example.lines"]()
    assert_array_equal(column(view, "score s"), [8, 4, 0])
    assert_array_equal(column(view, "s/√d_k"), [1, 0.5, 0])
    assert_array_equal(column(view, "minus the maximum"), [0, -0.5, -1])
    assert_allclose(column(view, "exp"), [1, math.exp(-0.5), math.exp(-1)], rtol=1e-15)
    assert view.numbers["sum of exponentials"] == pytest.approx(1 + math.exp(-0.5) + math.exp(-1))
    assert_allclose(column(view, "weight, divided"), [0.506480, 0.307196, 0.186324], atol=1e-6)
    assert_allclose(column(view, "weight, not divided"), softmax([8, 4, 0]), rtol=1e-14)
    assert view.numbers["last weight divided"] == column(view, "weight, divided")[-1]


def test_the_latex_has_the_numbers_of_every_line():
    text = as_latex(64, (8.0, 4.0, 0.0))
    for line in ("8, 4, 0", "1.00, 0.500, 0", "1.00, 0.607, 0.368", "1.97", "0.506, 0.307, 0.186"):
        assert line in text
    assert r"\sqrt{64}" in text
    assert r"m = \max s/\sqrt{d_k} &= 1.00" in text
    assert text.count(r"\\") == 5
    assert text.startswith(r"\begin{aligned}")
    assert text.endswith(r"\end{aligned}")
    assert VIEWS["worked_example.lines"]().formula == text
    assert r"\dots" in as_latex(64, MANY)
    assert r"\dots" not in text
    assert "-2" in as_latex(16, (-2.0, 0.5))


# --- numbers that the pages' prose has without a caption ---


def sentence(page, words):
    """The sentence of a page's prose with these words, as one line."""
    tree = ast.parse((ROOT / "pages" / page).read_text(encoding="utf-8"))
    texts = [
        n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    found = [s for text in texts for s in re.split(r"(?<=[.:?])\s", text) if words in s]
    assert found, f"{page} says nothing of {words!r} any more: this test may go"
    return found[0]


def test_the_variance_of_the_four_entries_of_a_2_by_2_product_is_0_1_to_3_7():
    said = sentence("variance.py", "2 × 2")
    assert "from 0.1 to 3.7" in said
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((2, 200_000, 2, 2))
    spread = (q @ k.mT).var(axis=(1, 2))
    low, high = np.quantile(spread, [0.1, 0.9])
    assert low == pytest.approx(0.10, abs=0.01)
    assert high == pytest.approx(3.72, abs=0.06)
    assert spread.mean() == pytest.approx(1.5, abs=0.03)  # d_k·(1 − ¼)


@pytest.mark.parametrize("d_k", D_K.values)
def test_the_length_of_a_query_is_the_root_of_its_width_give_or_take_0_7(d_k):
    assert "0.7" in sentence("variance.py", "‖q‖")
    length = stats.chi(d_k)
    assert length.std() == pytest.approx(0.7, abs=0.02)
    assert abs(length.mean() - math.sqrt(d_k)) < 0.7


def test_the_two_largest_of_16_scores_are_about_4_apart_at_width_64():
    assert "about 4 for 16 keys" in sentence("worked-example.py", "two largest scores")

    # E[z₁ − z₂] = ∫ P(just one of n is above x) dx
    def exactly_one_above(x):
        return 16 * stats.norm.sf(x) * stats.norm.cdf(x) ** 15

    gap = integrate.quad(exactly_one_above, -10, 10)[0]
    # Over rows the length of q varies too, but its mean is 7.97 of 8.
    assert gap * stats.chi(64).mean() == pytest.approx(3.9, abs=0.1)


@pytest.mark.parametrize("keys", N_KEYS.values)
def test_the_mean_gradient_is_larger_without_the_divisor_once_heads_are_wide(keys):
    assert sentence("gradients.py", "even larger")
    view = VIEWS["gradients.rows"](keys=keys)
    ratio = column(view, "mean, not divided") / column(view, "mean, divided by √d_k")
    assert (ratio > 1).all()


def test_the_more_keys_the_wider_the_head_whose_median_dies():
    assert sentence("gradients.py", "The more keys")

    def first_dead(keys):
        view = VIEWS["gradients.rows"](keys=keys)
        return WIDTHS[np.argmax(column(view, "median, not divided") < 1e-2)]

    widths = [first_dead(keys) for keys in (3, 8, 16)]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_up_to_width_32_the_median_row_has_more_gradient_without_the_divisor():
    assert "up to $d_k = 32$" in sentence("home.py", "has more gradient")
    for width in D_K.values:
        numbers = VIEWS["chain.chain"](d_k=width).numbers
        more = numbers["median gradient not divided"] > numbers["median gradient divided"]
        assert more == (width <= 32)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"scores": "-20, -21, -22", "offset": 0}, "the sum is 0"),
        ({"format": "float8_e4m3fn", "offset": 1000}, "scores themselves do not fit"),
        ({"format": "float8_e4m3fn", "scores": "400, -400", "offset": 0}, "difference of two"),
        ({"scores": "20, 10, 0", "offset": 0}, "One exp, or their sum, does not fit"),
        ({"scores": "10, 10, 10, 10, 10, 10, 10, 10", "offset": 0}, "Every exp fits, their sum"),
        ({"format": "float8_e4m3fn", "offset": 4}, "One exp, or their sum, does not fit"),
        ({"offset": 4}, "The offset changed no difference"),
        ({"offset": 0}, "Move the offset"),
    ],
)
def test_the_notice_names_what_broke_the_naive_form(state, said):
    assert said in VIEWS["overflow.steps"](**state).notice


@pytest.mark.parametrize(
    ("t", "scores", "said"),
    [
        (8.0, "3", "A single key"),
        (8.0, "1000, 0", "nothing to compare with"),
        (1.0, "8, 4, 0", "This is T = 1"),
        (8.0, "8, 4, 0", "there the factor is"),
    ],
)
def test_the_notice_compares_the_jacobian_with_t_1_where_there_is_one_to_compare(t, scores, said):
    assert said in VIEWS["gradients.jacobian"](temperature=t, scores=scores).notice


@pytest.mark.parametrize(
    ("t", "scores", "said"),
    [
        (8.0, "3", "nothing to compete with"),
        (8.0, "8, 4, 0", "points elsewhere"),
        (2.0, "1, 0.5, 0", "Both steps"),
        (0.25, "2, 1, 0", "T below 1"),
        (1.0, "8, 4, 0", "Neither step"),
    ],
)
def test_the_notice_says_which_step_reaches_the_right_key(t, scores, said):
    assert said in VIEWS["gradients.pointing"](temperature=t, scores=scores).notice


def test_the_notice_of_the_tails_tells_two_laws_apart_only_where_two_digits_do():
    for width in D_K.values:
        notice = VIEWS["variance.histogram"](d_k=width).notice
        assert ("heavier" in notice) == (width < 1024)
        assert ("to two digits" in notice) == (width == 1024)


def test_a_score_that_float16_adds_up_wrongly_is_told_beside_the_exact_one():
    assert "54,848 (exactly 51,200;" in VIEWS["overflow.dot_product"](d_k=1024).caption
    assert "exactly" not in VIEWS["overflow.dot_product"](d_k=64).caption


def test_8_4_0_is_a_whole_and_a_half_standard_deviation_at_width_64():
    assert sentence("worked-example.py", "one standard deviation up")
    assert_array_equal(np.array([8, 4, 0]) / math.sqrt(64), [1, 0.5, 0])


def test_the_root_lies_beyond_the_best_temperature_of_8_4_0():
    assert sentence("gradients.py", "largest gradient")
    view = VIEWS["gradients.jacobian"]()
    best = view.numbers["best temperature"]
    at_root = view.numbers["size with chain factor"]
    at_one = VIEWS["gradients.jacobian"](temperature=1.0).numbers["size with chain factor"]
    assert best < 8
    assert at_one < at_root < np.linalg.norm(jacobian_by_loops([8, 4, 0], best)) / best
