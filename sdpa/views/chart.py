"""The few shapes that every figure is made of, so that all of them look alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdpa.parameters import D_K
from sdpa.views.view import Layout, Trace

Numbers = Sequence[float] | np.ndarray

NOT_SCALED = "not divided"
SCALED = "divided by √d<sub>k</sub>"


def layout(**parts: Any) -> Layout:
    """Lay out a figure: text, margins and legend as everywhere, axes and notes as given."""
    return {
        "template": {},
        "font": {"size": 15, "color": "$ink", "family": "Arial, Helvetica, sans-serif"},
        "paper_bgcolor": "$paper",
        "plot_bgcolor": "$paper",
        "margin": {"l": 62, "r": 14, "t": 30, "b": 50},
        "hoverlabel": {
            "font": {"size": 15, "color": "$ink"},
            "bgcolor": "$panel",
            "bordercolor": "$line",
        },
        "bargap": 0.22,
        "bargroupgap": 0.0,
        "barmode": "group",
        "dragmode": False,
        "uirevision": "kept",  # a zoom stays while the state changes
        "showlegend": False,
        **parts,
    }


def legend_above(right: float = 1.0, top: float = 1.0) -> Layout:
    """Put the legend over the plot, where no bar reaches; ``right`` and ``top`` are its corner."""
    return {
        "showlegend": True,
        "legend": {
            "orientation": "h",
            "x": right,
            "xanchor": "right",
            "y": top,
            "yanchor": "bottom",
            "font": {"size": 15},
            "itemclick": False,
            "itemdoubleclick": False,
        },
    }


def stacked(panels: int, *, height: int = 170, gap: int = 70, headed: bool = False) -> Layout:
    """Stand a row's panels one above the other, in pixels, for a narrow screen."""
    inner = panels * height + (panels - 1) * gap
    changes: Layout = {
        "height": inner + (130 if headed else 110),
        "legend": {"x": 1, "y": 1 + (34 if headed else 8) / inner},
        "margin": {"t": 80 if headed else 60, "b": 50},
    }
    for panel in range(panels):
        name = "" if panel == 0 else str(panel + 1)
        top = 1 - panel * (height + gap) / inner
        changes[f"xaxis{name}"] = {"domain": [0, 1]}
        changes[f"yaxis{name}"] = {"domain": [max(0.0, top - height / inner), top]}
    return changes


def axis(
    title: str,
    *,
    between: tuple[float, float] | None = None,
    log: bool = False,
    grid: bool = False,
    **parts: Any,
) -> Layout:
    """Build an axis whose range stays while a slider moves; on a log axis in plain values."""
    ends = None
    if between is not None:
        ends = [float(np.log10(end)) for end in between] if log else list(between)
    return {
        "title": {"text": title, "standoff": 8, "font": {"size": 15}},
        "type": "log" if log else "linear",
        **({"autorange": True} if ends is None else {"range": ends, "autorange": False}),
        "fixedrange": False,
        "showgrid": grid,
        "gridcolor": "$line",
        "zeroline": False,
        "showline": True,
        "linecolor": "$ink",
        "tickfont": {"size": 14},
        "ticks": "",
        "automargin": True,
        **parts,
    }


def width_axis(**parts: Any) -> Layout:
    """Build the logarithmic axis along the widths that a reader can choose."""
    low, high = D_K.values[0], D_K.values[-1]
    return axis(
        "head width d<sub>k</sub>",
        between=(low / 1.15, high * 1.15),
        log=True,
        tickvals=[4, 16, 64, 256, 1024],
        ticktext=["4", "16", "64", "256", "1024"],
        **parts,
    )


def key_axis(n_keys: int, **parts: Any) -> Layout:
    """Build the axis along the keys k₁ … kₙ."""
    names = key_names(n_keys)
    thinned = list(range(n_keys)) if n_keys <= 16 else list(range(0, n_keys, -(-n_keys // 16)))
    return axis(
        "",
        between=(-0.6, n_keys - 0.4),
        tickvals=thinned,
        ticktext=[names[i] for i in thinned],
        **parts,
    )


def key_names(n_keys: int) -> list[str]:
    """Name the keys as the text does, counted from 1."""
    return [f"k<sub>{number}</sub>" for number in range(1, n_keys + 1)]


def text_of(label: str) -> str:
    """Write a label without its markup, for a table's column."""
    return label.replace("<sub>", "_").replace("</sub>", "")


def bars(
    values: Numbers, colour: str, name: str, *, hover: str = "%{y:.4g}", **parts: Any
) -> Trace:
    """Draw one bar a key."""
    values = np.asarray(values, dtype=float)
    return {
        "type": "bar",
        "x": list(range(len(values))),
        "y": values,
        "name": name,
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertemplate": f"{name}: {hover}<extra></extra>",
        **parts,
    }


def line(
    x: Numbers,
    y: Numbers,
    colour: str,
    name: str,
    *,
    dash: str = "solid",
    width: float = 3,
    hover: str = "%{x:.4g}: %{y:.4g}",
    **parts: Any,
) -> Trace:
    """Draw a curve."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.asarray(x, dtype=float),
        "y": np.asarray(y, dtype=float),
        "name": name,
        "line": {"color": colour, "width": width, "dash": dash},
        "hovertemplate": f"{name} {hover}<extra></extra>",
        **parts,
    }


def dot(
    x: float, y: float, colour: str, name: str, *, hover: str = "%{x:.4g}: %{y:.4g}", **parts: Any
) -> Trace:
    """Draw the state's own point on a curve."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [float(x)],
        "y": [float(y)],
        "name": name,
        "marker": {"color": colour, "size": 13, "line": {"color": "$paper", "width": 2}},
        "hovertemplate": f"{name} {hover}<extra></extra>",
        "showlegend": False,
        "cliponaxis": False,
        **parts,
    }


def note(
    text: str,
    x: float,
    y: float,
    *,
    colour: str = "$ink",
    axes: str = "",
    anchor: str = "left",
    **parts: Any,
) -> Layout:
    """Write a label straight onto the plot, in place of a legend."""
    return {
        "text": text,
        "x": x,
        "y": y,
        "xref": f"x{axes}",
        "yref": f"y{axes}",
        "showarrow": False,
        "xanchor": anchor,
        "font": {"color": colour, "size": 15},
        **parts,
    }


def upright(
    x: float, colour: str, *, width: float = 2, dash: str = "solid", axes: str = ""
) -> Layout:
    """Draw an upright line through a panel's whole height."""
    return {
        "type": "line",
        "xref": f"x{axes}",
        "yref": f"y{axes} domain",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "line": {"color": colour, "width": width, "dash": dash},
    }


def heading(text: str, axes: str = "", lift: int = 6) -> Layout:
    """Write a panel's heading over it, at its left edge."""
    return {
        "text": f"<b>{text}</b>",
        "x": 0,
        "y": 1,
        "xref": f"x{axes} domain",
        "yref": f"y{axes} domain",
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": lift,
        "font": {"size": 15},
    }
