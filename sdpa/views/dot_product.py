"""A score is a dot product: two lengths and an angle, or d_k products that are added up."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from sdpa.attention import scores
from sdpa.parameters import ANGLE, CELL, LENGTH_K, LENGTH_Q, SEED, TERMS
from sdpa.statistics import score_tail
from sdpa.vectors import (
    angle_between,
    from_angle,
    partial_sums,
    polar_score,
    sample_vectors,
    shadow,
)
from sdpa.views import chart, words
from sdpa.views.view import Drawing, Layout, Trace, view

Q_DIRECTION = 30.0  # degrees; along an axis, one of the two products would always be 0
REACH = 4.9  # of the plane's axes: beyond the longest arrow and its name
WIDEST = TERMS.values[-1]
N_QUERIES, N_KEYS = 3, 4
LARGEST_PRODUCT, LARGEST_SUM = 8.0, 25.0  # of all cells at all seeds; a test holds them to it
ARC = 0.7
_SUBSCRIPT = str.maketrans("1234", "₁₂₃₄")


@view("dot_product.plane", ANGLE, LENGTH_Q, LENGTH_K)
def plane(angle: int, length_q: float, length_k: float) -> Drawing:
    """Draw q and k as arrows with k's shadow on q, and the score against the angle."""
    q = from_angle(length_q, Q_DIRECTION)
    k = from_angle(length_k, Q_DIRECTION + angle)
    foot = shadow(q, k)
    score = float(polar_score(length_q, length_k, angle))
    along = float(polar_score(1.0, length_k, angle))
    arc = from_angle(ARC, Q_DIRECTION + np.linspace(0, angle, 13))
    middle = from_angle(ARC + 0.75, Q_DIRECTION + angle / 2)
    angles = np.array(ANGLE.values, dtype=float)
    curve = polar_score(length_q, length_k, angles)
    fine = np.linspace(-180, 180, 73)
    right: Layout = {"xaxis": "x2", "yaxis": "y2"}
    degrees = words.plain(angle)
    return Drawing(
        data=[
            chart.line(
                [k[0], foot[0]],
                [k[1], foot[1]],
                "$ink",
                "k straight down on q",
                dash="dot",
                width=2,
            ),
            chart.line(arc[:, 0], arc[:, 1], "$ink", "θ", width=2, hoverinfo="skip"),
            chart.line(
                [0, foot[0]],
                [0, foot[1]],
                "$unscaled",
                "the part of k along q",
                width=12,
                opacity=0.5,
            ),
            _arrow(q, "$third", "q"),
            _arrow(k, "$fourth", "k"),
            _names([_beyond(q), _beyond(k), middle], ["<b>q</b>", "<b>k</b>", f"{degrees}°"]),
            chart.line(
                fine,
                polar_score(length_q, length_k, fine),
                "$unscaled",
                "q·k",
                hover="at %{x:.0f}°: %{y:.3g}",
                **right,
            ),
            chart.dot(angle, score, "$unscaled", "q·k", hover="at %{x:.0f}°: %{y:.3g}", **right),
        ],
        layout=chart.layout(
            xaxis=_plane_axis(domain=[0, 0.42]),
            yaxis=_plane_axis(scaleanchor="x"),
            xaxis2=chart.axis(
                "angle θ from q to k",
                between=(-180, 180),
                domain=[0.56, 1],
                anchor="y2",
                tickvals=[-180, -90, 0, 90, 180],
                ticktext=["−180°", "−90°", "0°", "90°", "180°"],
                showgrid=True,
                gridcolor="$line",
            ),
            yaxis2=chart.axis(
                "score q·k",
                between=(-17, 17),
                anchor="x2",
                grid=True,
                zeroline=True,
                zerolinecolor="$ink",
                zerolinewidth=1,
            ),
            annotations=[
                chart.note("same side", -176, 15, axes="2"),
                chart.note("opposed", 0, -15, axes="2", anchor="center"),
            ],
        ),
        narrow=chart.stacked(2, height=230),
        height=370,
        caption=(
            f"q is {words.plain(length_q)} long, k {words.plain(length_k)}, and {degrees}° lie "
            f"between them: the score q·k is {words.number(score)}. It is the length of q times "
            f"{words.number(along)}, the part of k along q."
        ),
        numbers={"score": score, "part of k along q": along, "largest": length_q * length_k},
        columns={"angle in degrees": angles, "score q·k": curve},
        formula=(
            r"q \cdot k = \lVert q\rVert \lVert k\rVert \cos\theta = q_1 k_1 + q_2 k_2\qquad "
            rf"{words.plain(length_q)} \cdot {words.plain(length_k)} \cdot "
            rf"\cos({_ascii(degrees)}^\circ) = {words.latex(score)}\qquad "
            rf"{_products(q, k)} = {words.latex(score)}"
        ),
        notice=_plane_notice(angle, score, length_q * length_k),
    )


def _plane_notice(angle: int, score: float, largest: float) -> str:
    ends = f"{words.plain(-largest)} and {words.plain(largest)}"
    most = f"At these lengths the score lies between {ends}."
    if score == 0:
        return (
            "A right angle: k has no part along q, so the score is **zero** however long the two "
            "are. What a score of 0 is worth depends on the row's other scores, since softmax sees "
            f"only differences. {most}"
        )
    if score > 0:
        straight = (
            "the two point the same way, and the score is as large as it gets"
            if angle == 0
            else "k has a part that goes the way of q"
        )
        return (
            f"The score is **positive**: {straight}. Twice the length gives twice the score. {most}"
        )
    opposite = (
        "the two point in opposite ways, and the score is as low as it gets"
        if abs(angle) == 180
        else "the part of k along q goes against q"
    )
    return f"The score is **negative**: {opposite}. A longer arrow makes it more so. {most}"


def _plane_axis(**parts: Any) -> Layout:
    return chart.axis(
        "",
        between=(-REACH, REACH),
        tickvals=[-4, -2, 0, 2, 4],
        ticktext=["−4", "−2", "0", "2", "4"],
        grid=True,
        showline=False,
        constrain="domain",
        **parts,
    )


def _arrow(tip: np.ndarray, colour: str, name: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": np.array([0.0, tip[0]]),
        "y": np.array([0.0, tip[1]]),
        "name": name,
        "line": {"color": colour, "width": 4},
        "marker": {
            "symbol": "arrow",
            "angleref": "previous",
            "size": [0, 17],
            "color": colour,
            "opacity": 1,
        },
        "cliponaxis": False,
        "hovertemplate": f"{name} = (%{{x:.3g}}, %{{y:.3g}})<extra></extra>",
    }


def _beyond(tip: np.ndarray) -> np.ndarray:
    """Find where an arrow's name stands: a little beyond its tip."""
    return np.asarray(tip * (1 + 0.42 / np.linalg.norm(tip)))


def _names(places: list[np.ndarray], names: list[str]) -> Trace:
    """Name the arrows and their angle; a trace, so that a frame need not send all notes anew."""
    x, y = np.array(places).T
    return {
        "type": "scatter",
        "mode": "text",
        "x": x,
        "y": y,
        "text": names,
        "textfont": {"size": 16, "color": ["$third", "$fourth", "$ink"]},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _ascii(number: str) -> str:
    return number.replace("−", "-")


def _bracketed(value: float) -> str:
    text = words.latex(value)
    return f"({text})" if text.startswith("-") else text


def _products(q: np.ndarray, k: np.ndarray) -> str:
    return " + ".join(rf"{words.latex(a)} \cdot {_bracketed(b)}" for a, b in zip(q, k, strict=True))


@lru_cache(maxsize=16)
def _drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return (
        sample_vectors(N_QUERIES, WIDEST, seed=seed, stream=0),
        sample_vectors(N_KEYS, WIDEST, seed=seed, stream=1),
    )


@view("dot_product.sum", TERMS, CELL, SEED)
def running_sum(terms: int, cell: str, seed: int) -> Drawing:
    """Draw q kᵀ after some products, and one cell's products and running sum."""
    q, k = _drawn(seed)
    query, key = (int(name[1]) - 1 for name in cell.split("·"))
    name = cell.translate(_SUBSCRIPT)
    grid = scores(q[:, :terms], k[:, :terms])
    products, sums = partial_sums(q[query], k[key])
    steps = np.arange(1, WIDEST + 1)
    root = math.sqrt(terms)
    spread = float(np.sqrt((grid**2).mean()))
    angle = float(angle_between(q[query, :terms], k[key, :terms]))
    middle: Layout = {"xaxis": "x2", "yaxis": "y2"}
    below: Layout = {"xaxis": "x3", "yaxis": "y3"}
    start = np.arange(0, WIDEST + 1)
    shown = products.copy()
    shown[terms:] = 0
    return Drawing(
        data=[
            {
                "type": "heatmap",
                "z": grid,
                "x": list(range(N_KEYS)),
                "y": list(range(N_QUERIES)),
                "zmin": -24,
                "zmax": 24,
                "colorscale": "$diverging",
                "showscale": False,
                "xgap": 2,
                "ygap": 2,
                "text": [[words.fixed(score, 1) for score in row] for row in grid],
                "texttemplate": "%{text}",
                "textfont": {"size": 15},
                "hovertemplate": "q<sub>%{y}</sub>·k<sub>%{x}</sub> = %{z:.4g}<extra></extra>",
            },
            {
                **chart.bars(shown, "$unscaled", "product", hover="%{x}: %{y:.3g}"),
                "x": steps,
                **middle,
            },
            chart.line(start, np.sqrt(start), "$ink", "+√i", dash="dot", width=2, **below),
            chart.line(start, -np.sqrt(start), "$ink", "−√i", dash="dot", width=2, **below),
            chart.line(
                start[: terms + 1],
                np.concatenate([[0.0], sums[:terms]]),
                "$unscaled",
                "sum",
                hover="after %{x}: %{y:.3g}",
                **below,
            ),
            chart.dot(
                terms, sums[terms - 1], "$unscaled", "sum", hover="after %{x}: %{y:.3g}", **below
            ),
        ],
        layout=chart.layout(
            xaxis=chart.axis(
                "",
                between=(-0.5, N_KEYS - 0.5),
                domain=[0, 0.38],
                tickvals=list(range(N_KEYS)),
                ticktext=chart.key_names(N_KEYS),
                showline=False,
            ),
            yaxis=chart.axis(
                "",
                between=(N_QUERIES - 0.5, -0.5),
                tickvals=list(range(N_QUERIES)),
                ticktext=[f"q<sub>{row + 1}</sub>" for row in range(N_QUERIES)],
                showline=False,
            ),
            xaxis2=_term_axis("", showticklabels=False, anchor="y2"),
            yaxis2=chart.axis(
                "product",
                between=(-LARGEST_PRODUCT, LARGEST_PRODUCT),
                domain=[0.68, 1],
                anchor="x2",
                grid=True,
                tickvals=[-5, 0, 5],
                ticktext=["−5", "0", "5"],
            ),
            xaxis3=_term_axis("products added, i", anchor="y3"),
            yaxis3=chart.axis(
                "sum",
                between=(-LARGEST_SUM, LARGEST_SUM),
                domain=[0, 0.58],
                anchor="x3",
                grid=True,
                tickvals=[-16, -8, 0, 8, 16],
                ticktext=["−16", "−8", "0", "8", "16"],
            ),
            annotations=[
                chart.heading("q k<sup>T</sup> so far"),
                chart.heading(f"products of {name}", "2"),
                chart.note("√i", WIDEST, 8, axes="3", anchor="right", yshift=12),
                chart.note("−√i", WIDEST, -8, axes="3", anchor="right", yshift=-12),
            ],
            shapes=[
                {
                    "type": "rect",
                    "xref": "x",
                    "yref": "y",
                    "x0": key - 0.5,
                    "x1": key + 0.5,
                    "y0": query - 0.5,
                    "y1": query + 0.5,
                    "line": {"color": "$ink", "width": 3},
                }
            ],
        ),
        narrow=chart.stacked(3, height=150, gap=60, headed=True),
        height=370,
        caption=(
            f"After {terms} of {WIDEST} products the sum {name} is "
            f"{words.number(sums[terms - 1])}. The {grid.size} scores have root mean square "
            f"{words.number(spread)}; the law for independent components of variance 1 is "
            f"√{terms} = {words.number(root)}."
        ),
        numbers={
            "sum": float(sums[terms - 1]),
            "root mean square": spread,
            "law": root,
            "angle": angle,
        },
        columns={
            "i": steps[:terms],
            "q_i": q[query, :terms],
            "k_i": k[key, :terms],
            "product": products[:terms],
            "sum": sums[:terms],
            "√i": np.sqrt(steps[:terms]),
        },
        formula=(
            rf"s_{{{query + 1}{key + 1}}} = \sum_{{i=1}}^{{{terms}}} q_i k_i = "
            rf"{words.latex(sums[terms - 1])}\qquad "
            rf"\operatorname{{Var}} s = {terms},\quad \sqrt{{{terms}}} = {words.latex(root)}"
        ),
        notice=_sum_notice(float(sums[terms - 1]), terms, root, angle, name),
    )


def _sum_notice(total: float, terms: int, root: float, angle: float, name: str) -> str:
    place = "inside" if abs(total) <= root else "outside"
    share = 1 - float(score_tail(root, terms))
    turned = (
        "With one component each, two vectors can only point the same way or opposite ways."
        if terms == 1
        else f"The angle of {name} in {terms} dimensions is {words.number(angle)}°: the wider the "
        "head, the closer two random vectors come to a right angle. The score still grows, since "
        "both get longer, each like √dₖ."
    )
    return (
        "The sum is a random walk: half of its steps undo others, so it gets about as far as √i, "
        f"not i. This one is {place} ±√{terms} = ±{words.number(root)}, where "
        f"{words.percent(share)} of such walks end. {turned}"
    )


def _term_axis(title: str, **parts: Any) -> Layout:
    return chart.axis(
        title,
        between=(-0.5, WIDEST + 1.5),
        domain=[0.5, 1],
        tickvals=[1, 16, 32, 48, 64],
        ticktext=["1", "16", "32", "48", "64"],
        **parts,
    )
