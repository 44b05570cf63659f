"""View: what a reader meets, and the table of all views.

A view function takes the values of its parameters and returns a ``Drawing``: plain traces and
layout for Plotly with colours by name, the caption with its numbers, the formula, the columns
of the plotted data. ``@view`` registers it under a name; ``VIEWS[name](**state)`` gives the
``View``, which adds what follows from the drawing alone: the Plotly figure, the table and the
sweeps, the frames that are shown while a slider is dragged.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sdpa.parameters import Parameter, Value
from sdpa.views.palette import THEMES, Theme, resolve

Trace: TypeAlias = dict[str, Any]
Layout: TypeAlias = dict[str, Any]
State: TypeAlias = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Drawing:
    """What a view function returns.

    Parameters
    ----------
    data, layout : list of dict, dict
        Plotly's traces and layout; a colour is a name such as ``"$scaled"``.
    caption : str
        One or two plain sentences with the numbers in them; read out in the figure's place.
    numbers : dict of float
        The numbers of the caption and the notice by name, unrounded.
    columns : dict of sequence
        The plotted data, a column each.
    formula, notice : str
        LaTeX with the current numbers; Markdown sentences on what to see in this state.
    height : int
        Pixels on a wide screen.
    narrow : dict
        Changes to the layout's keys on a screen too narrow for panels side by side.
    """

    data: list[Trace]
    layout: Layout
    caption: str
    numbers: Mapping[str, float]
    columns: Mapping[str, Sequence[Any] | np.ndarray]
    formula: str = ""
    notice: str = ""
    height: int = 340
    narrow: Layout = field(default_factory=dict)


@dataclass(frozen=True)
class Frame:
    """What changes in a drawing at one value of the swept parameter."""

    data: list[Trace]
    layout: Layout
    caption: str


@dataclass(frozen=True)
class Sweep:
    """The frames of a view for all values of one parameter, the others held."""

    values: tuple[Value, ...]
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class View:
    """A drawing in one state, with its figure, table and sweeps."""

    spec: ViewSpec
    state: Mapping[str, Value]
    drawing: Drawing
    marks: Layout = field(default_factory=lambda: {"shapes": [], "annotations": []})

    @property
    def name(self) -> str:
        """The name it is registered under, such as ``"temperature.weights"``."""
        return self.spec.name

    @property
    def caption(self) -> str:
        """One or two sentences with the numbers; also the figure's text for screen readers."""
        return self.drawing.caption

    @property
    def formula(self) -> str:
        """LaTeX with the current numbers."""
        return self.drawing.formula

    @property
    def notice(self) -> str:
        """What to see in this state, in Markdown."""
        return self.drawing.notice

    @property
    def numbers(self) -> Mapping[str, float]:
        """The numbers in the sentences by name, unrounded."""
        return self.drawing.numbers

    @cached_property
    def figure(self) -> go.Figure:
        """The Plotly figure in the light theme's colours."""
        return self.figure_in("light")

    def figure_in(self, theme: Theme) -> go.Figure:
        """Draw the Plotly figure in one theme's colours."""
        layout = dict(self.drawing.layout)
        for key, extra in self.marks.items():
            layout[key] = [*layout.get(key, []), *extra]
        colours = THEMES[theme]
        return go.Figure(resolve(self.drawing.data, colours), resolve(layout, colours))

    @cached_property
    def table(self) -> pd.DataFrame:
        """The plotted data."""
        return pd.DataFrame(dict(self.drawing.columns))

    @property
    def sweeps(self) -> dict[str, Sweep]:
        """For each parameter that can be dragged, the frames for all of its values."""
        others = {key: without(key, tuple(self.state.items())) for key in self.spec.swept}
        return {key: sweep(self.spec, key, others[key]) for key in self.spec.swept}

    def marked(
        self, label: str, *, x: float | None = None, y: float | None = None, axes: str = ""
    ) -> View:
        """Draw a reader's guess as a dashed line across the panel with these axes.

        Parameters
        ----------
        label : str
            What stands at the line.
        x, y : float
            Where it stands, one of the two; on a logarithmic axis the plain value.
        axes : str
            The panel's number in Plotly's names: "" for x and y, "2" for x2 and y2.
        """
        upright = x is not None
        place = float(x if x is not None else y or 0.0)
        axis = self.drawing.layout[("xaxis" if upright else "yaxis") + axes]
        shown = np.log10(place) if axis.get("type") == "log" else place
        along, across = ("x", "y") if upright else ("y", "x")
        line = {
            "type": "line",
            f"{along}ref": along + axes,
            f"{across}ref": f"{across}{axes} domain",
            f"{along}0": place,
            f"{along}1": place,
            f"{across}0": 0,
            f"{across}1": 1,
            "line": {"color": "$ink", "width": 2, "dash": "dash"},
        }
        text = {
            f"{along}ref": along + axes,
            f"{across}ref": f"{across}{axes} domain",
            along: shown,
            across: 1,
            "text": label,
            "showarrow": False,
            "xanchor": "left" if upright else "right",
            "yanchor": "top" if upright else "bottom",
            "xshift": 4 if upright else 0,
            "bgcolor": "$paper",
        }
        marks = {
            "shapes": [*self.marks["shapes"], line],
            "annotations": [*self.marks["annotations"], text],
        }
        return replace(self, marks=marks)


@dataclass(frozen=True)
class ViewSpec:
    """A view function with the parameters that it reads."""

    name: str
    function: Callable[..., Drawing]
    parameters: tuple[Parameter, ...]

    def __call__(self, **state: Value) -> View:
        """Draw the view in one state; what is not given takes its default.

        Raises
        ------
        ValueError
            For a parameter that the view does not have, or a value that it cannot take.
        """
        known = {parameter.key: parameter for parameter in self.parameters}
        for key in state:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
                hint = f", did you mean {near[0]!r}?" if near else ""
                raise ValueError(
                    f"{self.name} takes {', '.join(known) or 'no parameter'}, got {key!r}{hint}"
                )
        values = {
            key: parameter.parse(state[key]) if key in state else parameter.initial
            for key, parameter in known.items()
        }
        return View(self, values, draw(self, tuple(values.items())))

    @property
    def swept(self) -> dict[str, Parameter]:
        """The parameters that can be dragged, by key."""
        return {row.key: row for row in self.parameters if row.kind == "slider"}


VIEWS: dict[str, ViewSpec] = {}


def view(name: str, *parameters: Parameter) -> Callable[[Callable[..., Drawing]], ViewSpec]:
    """Register a function from the parameters' values to a ``Drawing`` as the view ``name``."""

    def register(function: Callable[..., Drawing]) -> ViewSpec:
        VIEWS[name] = ViewSpec(name, function, parameters)
        return VIEWS[name]

    return register


# Both caches serve every reader of one server: in a class, all look at the same states.
@lru_cache(maxsize=512)
def draw(spec: ViewSpec, state: State) -> Drawing:
    """Call a view's function for one state, given as pairs of key and value."""
    return spec.function(**dict(state))


@lru_cache(maxsize=256)
def sweep(spec: ViewSpec, key: str, others: State) -> Sweep:
    """Draw the frames for every value of ``key``, the other parameters held.

    The value that ``key`` has now is no part of it: so a slider that moves finds its own
    frames in the cache.
    """
    parameter = spec.swept[key]
    drawings = [draw(spec, _ordered(spec, (*others, (key, value)))) for value in parameter.values]
    traces = [
        varying([drawing.data[i] for drawing in drawings]) for i in range(len(drawings[0].data))
    ]
    layouts = varying([drawing.layout for drawing in drawings])
    frames = tuple(
        Frame([trace[i] for trace in traces], layouts[i], drawing.caption)
        for i, drawing in enumerate(drawings)
    )
    return Sweep(parameter.values, frames)


def without(key: str, state: State) -> State:
    """Leave one parameter out of a state."""
    return tuple(pair for pair in state if pair[0] != key)


def _ordered(spec: ViewSpec, state: State) -> State:
    values = dict(state)
    return tuple((row.key, values[row.key]) for row in spec.parameters)


def varying(versions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep of each version the keys that are not the same in all of them."""
    first = versions[0]
    keys = [
        key for key in first if not all(_same(first[key], version[key]) for version in versions[1:])
    ]
    return [{key: version[key] for key in keys} for version in versions]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
