"""Saturated rows stop learning: one gap, one row, many rows, and where the gradient points."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sdpa.attention import softmax
from sdpa.jacobian import (
    best_temperature,
    frobenius_norm,
    norms,
    softmax_jacobian,
    softmax_jvp,
)
from sdpa.parameters import D_K, GAP, N_KEYS, SCORES, TEMPERATURE
from sdpa.statistics import GradientStatistics, gradient_statistics
from sdpa.views import chart, words
from sdpa.views.temperature import TEMPERATURES
from sdpa.views.view import Drawing, Layout, view

N_ROWS = 4000
MOST_CELLS = 8  # a heatmap's labels stay legible up to here
MOST_KEYS = 16  # and its cells
TALLEST = 0.6  # of ‖J‖/T on its axis; a tie at low T goes beyond
FLOOR = 1e-10  # of the rows' gradients on theirs
REACHED = 0.05  # of a step's size: it counts as going to the right key


def two_key_slope(gap: np.ndarray | float) -> np.ndarray:
    """Compute p(1 − p) of two keys this far apart."""
    weights = softmax(np.stack([np.asarray(gap, dtype=float), np.zeros(np.shape(gap))], axis=-1))
    return norms(weights).trace / 2


@view("gradients.gap", GAP)
def gap(gap: float) -> Drawing:
    """Draw two keys' weights, and the slope p(1 − p) falling with their gap."""
    gaps = np.array(GAP.values)
    slopes = two_key_slope(gaps)
    slope = float(two_key_slope(gap))
    pair = softmax(np.array([gap, 0.0]))
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    return Drawing(
        data=[
            chart.bars(pair, "$unscaled", "weight", showlegend=False),
            chart.line(gaps, slopes, "$unscaled", "p(1 − p)", **right),
            chart.line(
                gaps, np.exp(-gaps), "$ink", "e<sup>−gap</sup>", dash="dot", width=2, **right
            ),
            chart.dot(gap, slope, "$unscaled", "p(1 − p)", **right),
        ],
        layout=chart.layout(
            xaxis=chart.key_axis(2, domain=[0, 0.3]),
            yaxis=chart.axis("weight", between=(0, 1), grid=True),
            xaxis2=chart.axis(
                "score gap s₁ − s₂", between=(-0.3, 20.3), domain=[0.42, 1], anchor="y2"
            ),
            yaxis2=chart.axis(
                "slope",
                between=(1e-9, 2),
                log=True,
                grid=True,
                anchor="x2",
                tickvals=[1e-8, 1e-6, 1e-4, 1e-2, 1],
                ticktext=["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"],
            ),
            annotations=[
                chart.note("e<sup>−gap</sup>", 10.5, -3.6, axes="2"),
                chart.note("p(1 − p)", 9, -5.2, colour="$unscaled", axes="2", anchor="right"),
            ],
        ),
        narrow=chart.stacked(2),
        caption=(
            f"Two keys {words.plain(gap)} apart get weights {words.weights(pair)}. The slope "
            f"p(1 − p), how much a weight answers to its score, is {words.number(slope)}; "
            f"at equal scores it is 0.25."
        ),
        numbers={"slope": slope, "top weight": float(pair[0])},
        columns={"gap": gaps, "p(1 − p)": slopes, "e^(−gap)": np.exp(-gaps)},
        formula=(
            r"\frac{\partial p}{\partial s} = p\,(1-p) = \tfrac14 "
            r"\operatorname{sech}^2\!\tfrac{g}{2} \approx e^{-g}\qquad "
            rf"g = {words.tex(words.plain(gap))}:\ {words.latex(slope)}"
        ),
        notice=_gap_notice(gap, slope),
    )


def _gap_notice(gap: float, slope: float) -> str:
    if gap < 4:
        return (
            "The keys still compete: a small change of one score moves attention from one to the "
            "other. Widen the gap and watch the slope."
        )
    return (
        f"The slope is {words.number(slope / 0.25)} times that of a tie: each further step of 1 "
        f"in the gap leaves about {words.percent(math.exp(-1))} of it. The difference of two raw "
        f"scores at dₖ = 64 has a standard deviation of {words.number(math.sqrt(2 * 64))}."
    )


@lru_cache(maxsize=32)
def rows_by_width(n_keys: int, scaled: bool) -> dict[str, np.ndarray]:
    """Compute the statistics of the rows' gradients at every width, by name."""
    statistics = [
        gradient_statistics(
            d_k, n_keys, divisor=math.sqrt(d_k) if scaled else 1.0, n_rows=N_ROWS, seed=0
        )
        for d_k in D_K.values
    ]
    return {
        name: np.array([getattr(entry, name) for entry in statistics])
        for name in GradientStatistics.__dataclass_fields__
    }


@view("gradients.rows", D_K, N_KEYS)
def rows(d_k: int, keys: int) -> Drawing:
    """Draw mean, median and lower decile of the rows' gradients and the dead rows' share."""
    widths = np.array(D_K.values, dtype=float)
    here = D_K.values.index(d_k)
    raw, scaled = rows_by_width(keys, False), rows_by_width(keys, True)
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    shapes = {"mean": "dash", "median": "solid", "lower_decile": "dot"}
    names = {"mean": "mean", "median": "median row", "lower_decile": "lowest tenth"}
    visible = {name: np.maximum(raw[name], FLOOR / 100) for name in shapes}
    return Drawing(
        data=[
            *(
                chart.line(
                    widths, visible[name], "$unscaled", names[name], dash=dash, showlegend=False
                )
                for name, dash in shapes.items()
            ),
            *(
                chart.line(
                    widths, scaled[name], "$scaled", names[name], dash=dash, showlegend=False
                )
                for name, dash in shapes.items()
            ),
            *(
                chart.dot(d_k, max(visible[name][here], FLOOR), "$unscaled", names[name])
                for name in shapes
            ),
            chart.dot(d_k, scaled["median"][here], "$scaled", names["median"]),
            chart.line(widths, raw["dead_share"], "$unscaled", "dead rows", **right),
            chart.line(widths, scaled["dead_share"], "$scaled", "dead rows", **right),
            chart.dot(d_k, raw["dead_share"][here], "$unscaled", "dead rows", **right),
            chart.dot(d_k, scaled["dead_share"][here], "$scaled", "dead rows", **right),
        ],
        layout=chart.layout(
            xaxis=chart.width_axis(domain=[0, 0.54]),
            yaxis=chart.axis(
                "gradient of a row, tr(J)/T",
                between=(FLOOR, 2),
                log=True,
                grid=True,
                tickvals=[1e-9, 1e-6, 1e-3, 1],
                ticktext=["10⁻⁹", "10⁻⁶", "10⁻³", "1"],
            ),
            xaxis2=chart.width_axis(domain=[0.68, 1], anchor="y2"),
            yaxis2=chart.axis(
                "share of dead rows", between=(-0.02, 1), grid=True, anchor="x2", tickformat=".0%"
            ),
            annotations=[
                chart.note(
                    names["mean"],
                    math.log10(5),
                    math.log10(raw["mean"][0]),
                    yshift=14,
                    colour="$unscaled",
                ),
                chart.note(
                    names["median"],
                    math.log10(1024),
                    math.log10(visible["median"][-1]),
                    anchor="right",
                    xshift=-14,
                    colour="$unscaled",
                ),
                chart.note(
                    names["lower_decile"],
                    math.log10(64),
                    math.log10(visible["lower_decile"][4]),
                    anchor="right",
                    xshift=-14,
                    yshift=-8,
                    colour="$unscaled",
                ),
                chart.note(
                    chart.SCALED,
                    math.log10(1000),
                    math.log10(scaled["median"][-1]),
                    anchor="right",
                    yshift=-16,
                    colour="$scaled",
                ),
                chart.note(
                    chart.SCALED, math.log10(1000), 0.04, anchor="right", colour="$scaled", axes="2"
                ),
            ],
        ),
        narrow=chart.stacked(2),
        caption=(
            f"Of {N_ROWS:,} random rows of {keys} keys at dₖ = {d_k}, not divided: mean gradient "
            f"{words.number(raw['mean'][here])}, median {words.number(raw['median'][here])}, "
            f"{words.percent(raw['dead_share'][here])} dead (below 0.001). Divided by √dₖ: mean "
            f"{words.number(scaled['mean'][here])}, median {words.number(scaled['median'][here])}, "
            f"{words.percent(scaled['dead_share'][here])} dead."
        ),
        numbers={
            **{f"{name}, not divided": float(raw[name][here]) for name in raw},
            **{f"{name}, divided": float(scaled[name][here]) for name in scaled},
        },
        columns={
            "d_k": widths,
            **{f"{name}, not divided": raw[name] for name in raw},
            **{f"{name}, divided by √d_k": scaled[name] for name in scaled},
        },
        formula=(
            r"\frac{1}{T}\operatorname{tr} J = \frac{1}{T}\sum_i p_i\,(1-p_i) \qquad "
            r"\sum_i p_i\,(1-p_i) = 1 - \sum_i p_i^2"
        ),
        notice=_rows_notice(raw, scaled, here),
    )


def _rows_notice(raw: dict[str, np.ndarray], scaled: dict[str, np.ndarray], here: int) -> str:
    ratio = raw["mean"][here] / scaled["mean"][here]
    mean = (
        "A row's gradient here is the sum of its slopes p(1 − p), divided by T; that sum is the "
        "trace of the Jacobian J of the next figure. The **mean** gradient is "
        f"{words.number(ratio)} times as large without the divisor as with it; without it, the "
        "tenth of rows with the largest gradient holds "
        f"{words.percent(raw['top_tenth_share'][here])} of it."
    )
    if raw["median"][here] > scaled["median"][here]:
        return (
            f"{mean} At this width the **median** row is livelier too: narrow heads hardly suffer."
        )
    factor = scaled["median"][here] / raw["median"][here]
    return (
        f"{mean} The **median** row, the typical one, has {words.number(factor)} times more "
        "gradient with the divisor. “Gradients vanish” is true of the typical row, not of the "
        "average."
    )


@lru_cache(maxsize=64)
def _sizes_and_best(scores: tuple[float, ...]) -> tuple[np.ndarray, float]:
    """Compute ‖J‖ along T, and the T of the largest ‖J‖/T."""
    raw = np.array(scores)
    return frobenius_norm(softmax(raw, temperature=TEMPERATURES[:, None])), best_temperature(raw)


@view("gradients.jacobian", TEMPERATURE, SCORES)
def jacobian(temperature: float, scores: tuple[float, ...]) -> Drawing:
    """Draw the Jacobian of one row, and its size against T with and without the chain factor."""
    raw = np.array(scores)
    weights = softmax(raw, temperature=temperature)
    matrix = softmax_jacobian(weights)
    # ‖J‖ itself, then what reaches the scores: T is one number, so 1/T is a factor of its own.
    size = float(frobenius_norm(weights))
    sizes, best = _sizes_and_best(scores)
    drawn = min(len(raw), MOST_KEYS)
    names = chart.key_names(drawn)
    matrix = matrix[:drawn, :drawn]
    cells = [[words.number(value, 2) for value in row] for row in matrix]
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    steps = list(range(drawn))
    labels: Layout = {"tickvals": steps, "ticktext": names} if len(raw) <= MOST_CELLS else {}
    return Drawing(
        data=[
            {
                "type": "heatmap",
                "z": matrix,
                "x": steps,
                "y": steps,
                "zmin": -0.25,
                "zmax": 0.25,
                "colorscale": "$diverging",
                "showscale": False,
                "xgap": 2,
                "ygap": 2,
                "hovertemplate": "∂p<sub>%{y}</sub>/∂s<sub>%{x}</sub>·T = %{z:.4g}<extra></extra>",
            },
            chart.line(TEMPERATURES, sizes, "$ink", "‖J‖", width=2, dash="dot", **right),
            chart.line(TEMPERATURES, sizes / TEMPERATURES, "$scaled", "‖J‖/T", **right),
            chart.dot(temperature, size, "$ink", "‖J‖", **right),
            chart.dot(temperature, min(size / temperature, TALLEST), "$scaled", "‖J‖/T", **right),
        ],
        layout=chart.layout(
            xaxis=chart.axis(
                "by the score of",
                between=(-0.5, len(raw) - 0.5),
                domain=[0, 0.42],
                showline=False,
                constrain="domain",
                **labels,
            ),
            yaxis=chart.axis("weight of", between=(len(raw) - 0.5, -0.5), showline=False, **labels),
            xaxis2=chart.axis(
                "temperature T",
                between=(0.22, 70),
                log=True,
                domain=[0.56, 1],
                anchor="y2",
                tickvals=[0.25, 1, 2, 4, 8, 16, 64],
                ticktext=["¼", "1", "2", "4", "8", "16", "64"],
            ),
            yaxis2=chart.axis("size", between=(0, TALLEST), grid=True, anchor="x2"),
            annotations=[
                *(
                    chart.note(
                        cells[row][column],
                        column,
                        row,
                        anchor="center",
                        colour="$paper" if abs(matrix[row, column]) > 0.16 else "$ink",
                    )
                    for row in steps
                    for column in steps
                    if len(raw) <= 5
                ),
                chart.note(
                    "‖J‖", math.log10(60), float(sizes[-1]), axes="2", anchor="right", yshift=12
                ),
                chart.note(
                    "‖J‖/T",
                    math.log10(60),
                    float(sizes[-1] / 64),
                    axes="2",
                    anchor="right",
                    yshift=12,
                    colour="$scaled",
                ),
            ],
            shapes=[chart.upright(best, "$line", axes="2")] if best > 0 else [],
        ),
        narrow=chart.stacked(2, height=260),
        caption=(
            f"At T = {words.plain(temperature)} the Jacobian J = diag(p) − ppᵀ has size ‖J‖ = "
            f"{words.number(size)}; with the chain's factor 1/T, "
            f"{words.number(size / temperature)} reaches the scores. "
            + (
                f"For this row the largest is at T = {words.number(best)}."
                if best > 0
                else "The two top scores tie, so ‖J‖/T grows without bound as T falls."
                if len(raw) > 1
                else "A single key takes everything at every T."
            )
            + (f" The picture holds the first {drawn} keys." if drawn < len(raw) else "")
        ),
        numbers={
            "size": size,
            "size with chain factor": size / temperature,
            "best temperature": best,
            "size not divided": float(frobenius_norm(softmax(raw))),
        },
        columns={
            "T": TEMPERATURES,
            "‖J‖": sizes,
            "‖J‖/T": sizes / TEMPERATURES,
        },
        formula=(
            r"\frac{\partial p}{\partial s} = \frac{1}{T}\left(\operatorname{diag}(p) - "
            r"p\,p^{\mathsf T}\right) \qquad "
            rf"\left\lVert\tfrac{{\partial p}}{{\partial s}}\right\rVert = "
            rf"\frac{{{words.latex(size)}}}{{{words.tex(words.plain(temperature))}}} = "
            rf"{words.latex(size / temperature)}"
        ),
        notice=_jacobian_notice(raw, temperature, size),
    )


def _jacobian_notice(raw: np.ndarray, temperature: float, size: float) -> str:
    alone = float(frobenius_norm(softmax(raw)))
    if len(raw) == 1:
        return "A single key takes everything at every T, so nothing answers to its score."
    if alone == 0:
        return (
            "At T = 1 one key takes everything to the last digit, so there is nothing to compare "
            "with."
        )
    if temperature == 1:
        return "This is T = 1, the row without a divisor. Raise T and compare ‖J‖ with ‖J‖/T."
    lift, kept = size / alone, size / alone / temperature
    return (
        f"Against T = 1, dividing by {words.plain(temperature)} multiplies ‖J‖ by "
        f"{words.number(lift)}. The gradient that reaches q and k carries 1/T too, so there the "
        f"factor is {words.number(kept)}. What matters more is where the gradient points."
    )


@view("gradients.pointing", TEMPERATURE, SCORES)
def pointing(temperature: float, scores: tuple[float, ...]) -> Drawing:
    """Draw which way descent moves each score when the lowest key is the right one."""
    raw = np.array(scores)
    right_key = int(raw.argmin())
    target = np.eye(len(raw))[right_key]

    def descent(t: float) -> np.ndarray:
        p = softmax(raw, temperature=t)
        return -softmax_jvp(p, p - target, temperature=t)

    alone, divided = descent(1.0), descent(temperature)
    share_alone, share = _share(alone, right_key), _share(divided, right_key)
    name = f"k{right_key + 1}"
    reach = 1.1
    return Drawing(
        data=[
            chart.bars(_unit(alone), "$unscaled", "not divided", hover="%{y:.3g} of the largest"),
            chart.bars(_unit(divided), "$scaled", "divided by T", hover="%{y:.3g} of the largest"),
        ],
        layout=chart.layout(
            xaxis=chart.key_axis(len(raw)),
            yaxis=chart.axis(
                "step of the score, largest = 1",
                between=(-reach, reach),
                grid=True,
                zeroline=True,
                zerolinecolor="$ink",
            ),
            annotations=[
                chart.note("the right key", right_key, -1.0, anchor="center"),
            ],
            **chart.legend_above(),
        ),
        caption=(
            f"Suppose {name}, scored lowest, is the right key. A step of descent moves the scores "
            f"by {_signed(alone)} without a divisor and by {_signed(divided)} at T = "
            f"{words.plain(temperature)}: {words.percent(share_alone)} and "
            f"{words.percent(share)} of the step's size goes to the right key."
        ),
        numbers={
            **{f"step of k{i + 1}, not divided": float(x) for i, x in enumerate(alone)},
            **{f"step of k{i + 1}, divided": float(x) for i, x in enumerate(divided)},
            "share on the right key, not divided": share_alone,
            "share on the right key, divided": share,
        },
        columns={
            "key": np.arange(1, len(raw) + 1),
            "score s": raw,
            "step, not divided": alone,
            "step, divided by T": divided,
        },
        formula=(
            r"L = \tfrac12 \lVert p - e_{" + str(right_key + 1) + r"} \rVert^2 \qquad "
            r"-\frac{\partial L}{\partial s} = -\tfrac1T\, J\,(p - e_{" + str(right_key + 1) + "})"
        ),
        notice=_pointing_notice(len(raw), share_alone, share),
    )


def _pointing_notice(keys: int, alone: float, divided: float) -> str:
    if keys == 1:
        return "A single key has nothing to compete with."
    if alone >= REACHED and divided >= REACHED:
        return "Both steps reach the right key here, so there is nothing to repair."
    if alone >= REACHED:
        return (
            "Dividing by a T below 1 widens the gaps, and the step no longer reaches the right key."
        )
    if divided >= REACHED:
        return (
            "Without the divisor descent takes from the top key and gives it to the runner-up, "
            "almost nothing to the key that should win: the step is not only small in most rows, "
            "it points elsewhere. That is why an optimiser which rescales small steps, such as "
            "Adam, does not repair it."
        )
    return "Neither step reaches the right key yet: raise T."


def _unit(step: np.ndarray) -> np.ndarray:
    largest = np.abs(step).max()
    return step / largest if largest > 0 else step


def _share(step: np.ndarray, key: int) -> float:
    total = np.abs(step).sum()
    return float(abs(step[key]) / total) if total > 0 else 0.0


def _signed(step: np.ndarray, most: int = 4) -> str:
    shown = [("+" if value > 0 else "") + words.number(value) for value in step[:most]]
    return ", ".join(shown) + (", …" if len(step) > most else "")
