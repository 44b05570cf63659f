"""Panels side by side over the same steps of one slider: curves, and dots where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdpa.views import chart, words
from sdpa.views.view import Layout, Trace


@dataclass(frozen=True)
class Curve:
    """One curve of a panel, with the state's own dot on it if it is marked."""

    name: str
    colour: str
    y: np.ndarray
    dash: str = "solid"
    width: float = 3
    marked: bool = False
    legend: bool = False
    parts: Layout = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """Curves under one heading; the axes are as `chart.axis` gives them, without a place."""

    title: str
    curves: Sequence[Curve]
    across: Layout
    up: Layout


def side_by_side(
    panels: Sequence[Panel], x: np.ndarray, here: int, *, gap: float = 0.1
) -> tuple[list[Trace], Layout, Layout]:
    """Place panels in a row, one above the other on a narrow screen: data, layout, narrow."""
    data: list[Trace] = []
    parts: Layout = {"annotations": []}
    width = (1 - gap * (len(panels) - 1)) / len(panels)
    for place, panel in enumerate(panels):
        number = "" if place == 0 else str(place + 1)
        on: Layout = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        data += [
            chart.line(
                x,
                curve.y,
                curve.colour,
                curve.name,
                dash=curve.dash,
                width=curve.width,
                showlegend=curve.legend and place == 0,
                **on,
                **curve.parts,
            )
            for curve in panel.curves
        ]
        data += [
            chart.dot(x[here], curve.y[here], curve.colour, curve.name, **on)
            for curve in panel.curves
            if curve.marked
        ]
        left = place * (width + gap)
        domain = [left, min(left + width, 1.0)]
        parts[f"xaxis{number}"] = panel.across | {"domain": domain, "anchor": f"y{number}"}
        parts[f"yaxis{number}"] = panel.up | {"anchor": f"x{number}"}
        parts["annotations"].append(chart.heading(panel.title, number))
    layout = chart.layout(
        **parts, **chart.legend_above(top=1.12), margin={"l": 52, "r": 14, "t": 70, "b": 50}
    )
    height = 170 if len(panels) > 1 else 240
    return data, layout, chart.stacked(len(panels), height=height, gap=100, headed=True)


def steps_axis(title: str, values: Sequence[float], shown: Sequence[float]) -> Layout:
    """Build the logarithmic axis along a slider's values, ticks where they are shown."""
    return chart.axis(
        title,
        between=(values[0] / 1.15, values[-1] * 1.15),
        log=True,
        tickvals=list(shown),
        ticktext=[f"{value:g}" for value in shown],
    )


def size_axis(low: float, high: float, shown: Sequence[float] = (0.01, 0.1, 1, 10, 100)) -> Layout:
    """Build a logarithmic axis for sizes."""
    return chart.axis(
        "",
        between=(low, high),
        log=True,
        grid=True,
        tickvals=list(shown),
        ticktext=[words.plain(value) for value in shown],
    )


def share_axis() -> Layout:
    """Build an axis for shares and weights, 0 to 1."""
    return chart.axis("", between=(-0.03, 1.05), grid=True, tickvals=[0, 0.25, 0.5, 0.75, 1])
