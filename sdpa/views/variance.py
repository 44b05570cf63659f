"""Scores spread like √d_k: samples against the laws."""

from __future__ import annotations

import math

import numpy as np

from sdpa.parameters import D_K, SAMPLES, SEED
from sdpa.statistics import sample_scores, score_density, score_tail
from sdpa.views import chart, words
from sdpa.views.view import Drawing, Layout, Trace, view

NARROW_HEAD, WIDE_HEAD = 16, 256


def histogram(scores: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Count samples in bins of a fifth of the law's spread, from −5 to 5 of it, as a density."""
    density, edges = np.histogram(scores, bins=np.linspace(-5, 5, 51) * spread)
    width = edges[1] - edges[0]
    return (edges[:-1] + edges[1:]) / 2, density / (len(scores) * width)


def _bins(scores: np.ndarray, spread: float, colour: str, name: str, **parts: object) -> Trace:
    middles, density = histogram(scores, spread)
    return {
        "type": "bar",
        "x": middles,
        "y": density,
        "name": name,
        "width": 0.2 * spread,
        "marker": {"color": colour, "line": {"width": 0}},
        "opacity": 0.55,
        "hovertemplate": f"{name}, near %{{x:.3g}}: %{{y:.3g}}<extra></extra>",
        **parts,
    }


def _normal_density(s: np.ndarray, spread: float) -> np.ndarray:
    return np.exp(-0.5 * (s / spread) ** 2) / (spread * math.sqrt(2 * math.pi))


@view("variance.histogram", D_K, SAMPLES, SEED)
def spread(d_k: int, samples: int, seed: int) -> Drawing:
    """Draw sampled scores, raw and scaled, against N(0, d_k) and the exact law."""
    root = math.sqrt(d_k)
    raw = sample_scores(d_k, samples, seed=seed)
    scaled = raw / root
    z = np.linspace(-4.5, 4.5, 121)
    exact = score_density(z * root, d_k)
    normal = _normal_density(z * root, root)
    exact_beyond = float(score_tail(3 * root, d_k))
    beyond = float(np.mean(np.abs(raw) > 3 * root))
    right: Layout = {"xaxis": "x2", "yaxis": "y2"}
    exact_name, normal_name = "exact law", "normal law"
    return Drawing(
        data=[
            _bins(raw, root, "$unscaled", "q·k"),
            chart.line(z * root, exact, "$ink", exact_name, width=2),
            chart.line(z * root, normal, "$ink", normal_name, width=2, dash="dot"),
            _bins(scaled, 1.0, "$scaled", "q·k/√d<sub>k</sub>", **right),
            chart.line(z, exact * root, "$ink", exact_name, width=2, showlegend=False, **right),
            chart.line(
                z,
                normal * root,
                "$ink",
                normal_name,
                width=2,
                dash="dot",
                showlegend=False,
                **right,
            ),
        ],
        layout=chart.layout(
            barmode="overlay",
            bargap=0,
            xaxis=chart.axis("raw score q·k", between=(-80, 80), domain=[0, 0.6]),
            yaxis=chart.axis("density", between=(0, 0.26), grid=True, tickvals=[0, 0.1, 0.2]),
            xaxis2=chart.axis(
                "q·k/√d<sub>k</sub>", between=(-4.5, 4.5), domain=[0.7, 1], anchor="y2"
            ),
            yaxis2=chart.axis(
                "", between=(0, 0.52), grid=True, anchor="x2", tickvals=[0, 0.2, 0.4]
            ),
            **chart.legend_above(),
        ),
        narrow=chart.stacked(2),
        caption=(
            f"{samples:,} sampled scores at dₖ = {d_k} have a mean of "
            f"{words.number(raw.mean(), 2)} and a standard deviation of {words.number(raw.std())}; "
            f"the law says √{d_k} = {words.number(root)}. Divided by that, the standard deviation "
            f"is {words.number(scaled.std())}."
        ),
        numbers={
            "mean": float(raw.mean()),
            "standard deviation": float(raw.std()),
            "law": root,
            "standard deviation divided": float(scaled.std()),
            "share beyond three": beyond,
            "law beyond three": exact_beyond,
        },
        columns=dict(
            zip(
                ("q·k", "density of q·k", "q·k/√d_k", "density of q·k/√d_k"),
                (*histogram(raw, root), *histogram(scaled, 1.0)),
                strict=True,
            )
        ),
        formula=(
            rf"s = \sum_{{i=1}}^{{{d_k}}} q_i k_i \qquad \operatorname{{Var}} s = "
            rf"\sum_{{i=1}}^{{{d_k}}} \operatorname{{Var}}(q_i k_i) = {d_k} \cdot 1 = {d_k}"
        ),
        notice=(
            "The left picture widens with dₖ; the right one stays. " + _tails(exact_beyond, beyond)
        ),
    )


def _tails(exact: float, sampled: float) -> str:
    said, normal = words.percent(exact), words.percent(math.erfc(3 / math.sqrt(2)))
    sample = f"(in this sample {words.percent(sampled)})"
    if said == normal:
        return (
            "At this width the exact law's tails are those of the normal one to two digits: "
            f"{said} of scores lie beyond three standard deviations {sample}."
        )
    return (
        f"The exact law has heavier tails than the normal one: {said} of scores lie beyond three "
        f"standard deviations {sample}, where a normal law has {normal}. The difference fades as "
        "dₖ grows."
    )


@view("variance.growth", D_K, SAMPLES, SEED)
def growth(d_k: int, samples: int, seed: int) -> Drawing:
    """Draw the standard deviation against d_k, and two heads on one axis."""
    widths = np.array(D_K.values, dtype=float)
    measured = np.array([sample_scores(d, samples, seed=seed).std() for d in D_K.values])
    here = D_K.values.index(d_k)
    heads = {d: sample_scores(d, samples, seed=seed) for d in (NARROW_HEAD, WIDE_HEAD)}
    stds = {d: float(scores.std()) for d, scores in heads.items()}
    left: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    two_axes: Layout = {"xref": "x2", "yref": "y2"}
    return Drawing(
        data=[
            chart.line(widths, np.sqrt(widths), "$ink", "√d<sub>k</sub>", width=2, dash="dot"),
            chart.line(
                widths, np.ones_like(widths), "$ink", "1", width=2, dash="dot", showlegend=False
            ),
            _dots(widths, measured, "$unscaled", "not divided"),
            _dots(widths, measured / np.sqrt(widths), "$scaled", chart.SCALED),
            chart.dot(d_k, measured[here], "$unscaled", "not divided"),
            chart.dot(d_k, measured[here] / math.sqrt(d_k), "$scaled", chart.SCALED),
            _bins(heads[NARROW_HEAD], 4.0, "$third", f"d<sub>k</sub> = {NARROW_HEAD}", **left),
            _bins(heads[WIDE_HEAD], 16.0, "$unscaled", f"d<sub>k</sub> = {WIDE_HEAD}", **left),
        ],
        layout=chart.layout(
            barmode="overlay",
            bargap=0,
            xaxis=chart.width_axis(domain=[0, 0.45]),
            yaxis=chart.axis(
                "standard deviation",
                between=(0.7, 50),
                log=True,
                grid=True,
                tickvals=[1, 2, 4, 8, 16, 32],
                ticktext=["1", "2", "4", "8", "16", "32"],
            ),
            xaxis2=chart.axis("raw score q·k", between=(-60, 60), domain=[0.56, 1], anchor="y2"),
            yaxis2=chart.axis(
                "density", between=(0, 0.13), grid=True, anchor="x2", tickvals=[0, 0.05, 0.1]
            ),
            annotations=[
                chart.note(f"d<sub>k</sub> = {NARROW_HEAD}", 7, 0.07, colour="$third", **two_axes),
                chart.note(
                    f"d<sub>k</sub> = {WIDE_HEAD}", 22, 0.02, colour="$unscaled", **two_axes
                ),
            ],
            **chart.legend_above(right=0.5),
        ),
        narrow=chart.stacked(2),
        caption=(
            f"Four times the width gives twice the spread. At dₖ = {NARROW_HEAD} the sampled "
            f"standard deviation is {words.number(stds[NARROW_HEAD])}, at dₖ = {WIDE_HEAD} it is "
            f"{words.number(stds[WIDE_HEAD])}, and at dₖ = {d_k} it is "
            f"{words.number(measured[here])}; divided by √dₖ, "
            f"{words.number(measured[here] / math.sqrt(d_k))}."
        ),
        numbers={
            "standard deviation": float(measured[here]),
            f"standard deviation at {NARROW_HEAD}": stds[NARROW_HEAD],
            f"standard deviation at {WIDE_HEAD}": stds[WIDE_HEAD],
        },
        columns={
            "d_k": widths,
            "sampled standard deviation": measured,
            "√d_k": np.sqrt(widths),
            "divided by √d_k": measured / np.sqrt(widths),
        },
    )


def _dots(x: np.ndarray, y: np.ndarray, colour: str, name: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "name": name,
        "marker": {"color": colour, "size": 8},
        "hovertemplate": f"{name}, d<sub>k</sub> = %{{x}}: %{{y:.4g}}<extra></extra>",
    }
