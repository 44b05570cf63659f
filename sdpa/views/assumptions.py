"""What √d_k presumes: one premise left at a time, then a trained encoder that keeps none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sdpa import heads as encoder
from sdpa.attention import attention
from sdpa.parameters import AMOUNT, D_K, HEAD, LAYER, PREMISE, SENTENCE
from sdpa.statistics import sample_scores, score_mean, score_variance
from sdpa.views import chart, words
from sdpa.views.view import Drawing, Layout, Trace, view

SEED = 0
FEW, MANY = 200, 2000  # sampled scores: a dot of the right panel, the histogram
MOST_COMPONENTS = 2**19  # of the histogram's q: a wide head gets fewer scores, so that it is quick
BINS = 48
OFF_THE_PICTURE = 1e9  # where an infinite spread is drawn: above every axis


@dataclass(frozen=True)
class Dial:
    """One premise: its values at the steps, what they are called, and what follows."""

    steps: tuple[Any, ...]
    premises: Callable[[Any], Mapping[str, Any]]
    said: str  # with the value in braces
    law: Callable[[str, Any], str]  # the variance in LaTeX, of d_k and the value or their symbols
    symbol: str
    moral: str
    between: tuple[float, float] = (-8.0, 8.0)  # of the left panel
    spreads: tuple[float, float] = (0.8, 700.0)  # of the right panel
    densest: float = 0.5


_WIDENED = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
_SHAPES = {
    "gaussian": "normal",
    "uniform": "uniform",
    "rademacher": "only +1 or −1",
    "laplace": "Laplace (heavier tails)",
    "student_t5": "Student t₅ (heavier still)",
    "cauchy": "Cauchy (no variance at all)",
}
DIALS = {
    "mean": Dial(
        (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
        lambda mean: {"mean_q": mean, "mean_k": mean},
        "every component of q and k has mean {}",
        lambda d, mean: rf"{d}\,(1 + 2 \cdot {mean}^2)",
        r"\mu",
        "The spread hardly changes; what moves is the mean of a score, dₖμ², and it grows like "
        "dₖ, not √dₖ. Where all keys share it, it shifts the whole row, and softmax does not see "
        "it.",
        between=(-5.0, 12.0),
    ),
    "spread": Dial(
        (1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
        lambda std: {"std_q": std, "std_k": std},
        "every component of q and k has standard deviation {}",
        lambda d, std: rf"{d} \cdot {std}^2 \cdot {std}^2",
        r"\sigma",
        "The line keeps its slope and moves up: the growth with √dₖ stays, its height is up to "
        "the weights. “Variance 1” is a choice of the initialiser, and training is free to "
        "leave it.",
    ),
    "correlation in both": Dial(
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.3),
        lambda rho: {"correlation_q": rho, "correlation_k": rho},
        "any two components of q have correlation {}, and so have those of k",
        lambda d, rho: rf"{d}\,(1 + ({d} - 1) \cdot {rho}^2)",
        r"\rho",
        "The line gets steeper: for wide heads the spread grows like dₖρ. The scores are no "
        "longer normal either, since the common parts of q and k multiply.",
    ),
    "correlation in one": Dial(
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.3),
        lambda rho: {"correlation_q": rho},
        "any two components of q have correlation {}, those of k none",
        lambda d, _: d,
        r"\rho",
        "Nothing happens to the spread: independent components of k are enough. Correlation "
        "counts only where q and k have it along the same directions.",
    ),
    "alignment": Dial(
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.3),
        lambda a: {"alignment": a},
        "each component of q has correlation {} with the same component of k",
        lambda d, a: rf"{d}\,(1 + {a}^2)",
        "a",
        "The spread hardly changes, but the mean of a score is a·dₖ: divided by √dₖ it still "
        "grows with √dₖ. Vectors that agree call for dₖ as the divisor, not √dₖ.",
        between=(-5.0, 12.0),
    ),
    "shape and tails": Dial(
        tuple(_SHAPES),
        lambda name: {"distribution": name},
        "components are {}",
        lambda d, _: d,
        "",
        "The law asks for a mean of 0, a variance of 1 and independence, not for a normal shape: "
        "up to step 4 only the picture's outline changes.",
    ),
    "unit norm": Dial(
        _WIDENED,
        lambda std: {"std_q": std, "std_k": std, "normalise": "unit"},
        "components have standard deviation {}, then q and k are each brought to length 1",
        lambda d, _: rf"\frac{{1}}{{{d}}}",
        r"\sigma",
        "The score is a cosine, and its spread **falls** with dₖ. Dividing by √dₖ makes it worse: "
        "normalised q and k want a factor above 1, often a learned one.",
        between=(-1.0, 1.0),
        spreads=(0.02, 40.0),
        densest=8.0,
    ),
    "layer norm": Dial(
        _WIDENED,
        lambda std: {"std_q": std, "std_k": std, "normalise": "layer"},
        "components have standard deviation {}, then q and k each pass a layer norm",
        lambda d, _: rf"\frac{{{d}^2}}{{{d} - 1}}",
        r"\sigma",
        "Whatever spread the components had, the norm takes it away, and the law is back, but "
        "for a trifle at narrow heads.",
    ),
    "rms norm": Dial(
        _WIDENED,
        lambda std: {"std_q": std, "std_k": std, "normalise": "rms"},
        "components have standard deviation {}, then q and k each pass an RMS norm",
        lambda d, _: d,
        r"\sigma",
        "Whatever spread the components had, the norm takes it away, and the law holds exactly.",
    ),
}


@lru_cache(maxsize=1024)
def _sampled(d_k: int, n: int, premise: str, amount: int) -> np.ndarray:
    dial = DIALS[premise]
    found = sample_scores(d_k, n, seed=SEED, method="product", **dial.premises(dial.steps[amount]))
    found.flags.writeable = False
    return found


def _normal(s: np.ndarray, mean: float, spread: float) -> np.ndarray:
    if not math.isfinite(spread):
        return np.zeros_like(s)  # spread over the whole line
    return np.exp(-0.5 * ((s - mean) / spread) ** 2) / (spread * math.sqrt(2 * math.pi))


@view("assumptions.law", AMOUNT, D_K, PREMISE)
def law(amount: int, d_k: int, premise: str) -> Drawing:
    """Draw sampled scores under a premise's law, and their spread against d_k."""
    dial = DIALS[premise]
    value = dial.steps[amount]
    given = dial.premises(value)
    root = math.sqrt(d_k)
    n = min(MANY, MOST_COMPONENTS // d_k)
    raw = _sampled(d_k, n, premise, amount)
    widths = np.array(D_K.values, dtype=float)
    laws = np.sqrt([score_variance(d, **given) for d in D_K.values])
    means = np.array([score_mean(d, **given) for d in D_K.values])
    dots = np.array([_sampled(d, FEW, premise, amount).std() for d in D_K.values])
    here = D_K.values.index(d_k)
    dots[here] = raw.std()
    low, high = dial.between
    edges = np.linspace(low, high, BINS + 1)
    counts, _ = np.histogram(raw / root, bins=edges)
    width = edges[1] - edges[0]
    s = np.linspace(low, high, 201)
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    return Drawing(
        data=[
            {
                "type": "bar",
                "x": (edges[:-1] + edges[1:]) / 2,
                "y": counts / (n * width),
                "name": "sampled",
                "width": width,
                "marker": {"color": "$scaled", "line": {"width": 0}},
                "opacity": 0.55,
                "hovertemplate": "near %{x:.3g}: %{y:.3g}<extra></extra>",
            },
            chart.line(
                s, _normal(s, means[here] / root, laws[here] / root), "$ink", "law", width=2
            ),
            chart.line(s, _normal(s, 0, 1), "$ink", "premises kept", width=2, dash="dot"),
            chart.line(
                widths, np.sqrt(widths), "$ink", "√d<sub>k</sub>", width=2, dash="dot", **right
            ),
            chart.line(
                widths,
                np.minimum(laws, OFF_THE_PICTURE),
                "$ink",
                "law",
                width=2,
                **right,
            ),
            {
                "type": "scatter",
                "mode": "markers",
                "x": widths,
                "y": dots,
                "name": "sampled",
                "marker": {"color": "$unscaled", "size": 8},
                "hovertemplate": "sampled, d<sub>k</sub> = %{x}: %{y:.4g}<extra></extra>",
                **right,
            },
            chart.dot(d_k, dots[here], "$unscaled", "sampled", **right),
        ],
        layout=chart.layout(
            barmode="overlay",
            bargap=0,
            xaxis=chart.axis(
                "q·k/√d<sub>k</sub>, what softmax gets", between=dial.between, domain=[0, 0.5]
            ),
            yaxis=chart.axis("density", between=(0, dial.densest), grid=True, nticks=5),
            xaxis2=chart.width_axis(domain=[0.64, 1], anchor="y2"),
            yaxis2=chart.axis(
                "spread of q·k",
                between=dial.spreads,
                log=True,
                grid=True,
                anchor="x2",
                tickvals=[0.1, 1, 10, 100],
                ticktext=["0.1", "1", "10", "100"],
            ),
            annotations=[
                chart.note(
                    "√d<sub>k</sub>",
                    math.log10(26),
                    math.log10(4.4),
                    axes="2",
                    yanchor="top",
                )
            ],
            **chart.legend_above(right=0.56),
        ),
        narrow=chart.stacked(2),
        height=380,
        caption=_law_caption(dial, value, d_k, n, raw, float(laws[here]), float(means[here])),
        numbers={
            "value": float(amount if isinstance(value, str) else value),
            "law": float(laws[here]),
            "law's mean": float(means[here]),
            "sampled": float(raw.std()),
            "sampled mean": float(raw.mean()),
            "premises kept": root,
        },
        columns={
            "d_k": widths,
            "sampled standard deviation": dots,
            "law": laws,
            "mean by the law": means,
            "√d_k": np.sqrt(widths),
        },
        formula=_law_formula(dial, value, d_k, float(laws[here])),
        notice=_law_notice(dial, amount, given, float(laws[here]), root),
    )


def _law_caption(
    dial: Dial, value: Any, d_k: int, n: int, raw: np.ndarray, law: float, mean: float
) -> str:
    shown = _SHAPES[value] if isinstance(value, str) else words.plain(value)
    told = dial.said.format(shown)
    if not math.isfinite(law):
        return (
            f"At dₖ = {d_k}, {told}: the law gives no standard deviation. In this sample of "
            f"{n:,} scores it is {words.number(raw.std())}, in another something else."
        )
    moved = f" and a mean of {words.number(mean)}" if mean else ""
    return (
        f"At dₖ = {d_k}, {told}: the law gives raw scores a standard deviation of "
        f"{words.number(law)}{moved}, {n:,} sampled ones have {words.number(raw.std())}"
        f"{f' and {words.number(raw.mean())}' if mean else ''}. "
        f"With all premises kept it is √{d_k} = {words.number(math.sqrt(d_k))}."
    )


def _law_formula(dial: Dial, value: Any, d_k: int, law: float) -> str:
    if not math.isfinite(law):
        return r"\operatorname{Var} q_i = \infty \qquad \operatorname{Var} s = \infty"
    symbols = dial.law("d_k", dial.symbol)
    numbers = dial.law(str(d_k), value)
    return (
        rf"\operatorname{{Var}} s = {symbols} \qquad {numbers} = {words.latex(law**2)} \qquad "
        rf"\operatorname{{std}} s = {words.latex(law)}"
    )


def _law_notice(dial: Dial, amount: int, given: Mapping[str, Any], law: float, root: float) -> str:
    if not math.isfinite(law):
        return (
            "Such products have no variance, so there is no √dₖ law: a few huge products decide "
            "the sum, and most dots of the right panel lie above the line."
        )
    if amount == 0 and "normalise" not in given:
        return "At step 0 the premise holds, and so does √dₖ. Take the slider to the right."
    return f"{dial.moral} Here the spread is {words.number(law / root)} times √dₖ."


@view("assumptions.heads", HEAD, LAYER, SENTENCE)
def heads(head: int, layer: int, sentence: str) -> Drawing:
    """Draw a trained head's attention, divided and not, token by token."""
    found = encoder.head(layer, head, sentence)
    one = encoder.measured(layer, head, sentence)
    # No values are stored, and none are needed for the weights.
    scaled = attention(found.q, found.k, found.k)
    raw = attention(found.q, found.k, found.k, scale=1.0)
    n = len(found.tokens)
    query, noun = found.row("it"), found.row(sentence)
    soft, hard = (steps.weights[query] for steps in (scaled, raw))
    labels: Layout = {"tickvals": list(range(n)), "ticktext": list(found.tokens)}
    keys: Layout = {"tickangle": -90, "showline": False, "constrain": "domain", **labels}
    return Drawing(
        data=[_pattern(scaled.weights), _pattern(raw.weights, xaxis="x2", yaxis="y2")],
        layout=chart.layout(
            margin={"l": 62, "r": 14, "t": 34, "b": 74},
            xaxis=chart.axis("", between=(-0.5, n - 0.5), domain=[0, 0.48], **keys),
            yaxis=chart.axis("query", between=(n - 0.5, -0.5), showline=False, **labels),
            xaxis2=chart.axis("", between=(-0.5, n - 0.5), domain=[0.52, 1], anchor="y2", **keys),
            yaxis2=chart.axis(
                "", between=(n - 0.5, -0.5), showline=False, showticklabels=False, anchor="x2"
            ),
            annotations=[
                chart.heading("divided by √32", ""),
                chart.heading("not divided", "2"),
            ],
            shapes=[_boxed(query, n, ""), _boxed(query, n, "2")],
        ),
        narrow={
            **chart.stacked(2, height=270, gap=110),
            "margin": {"l": 62, "r": 14, "t": 34, "b": 80},
            "yaxis2": {
                "domain": [0, 270 / 650],
                "showticklabels": True,
                "title": {"text": "query", "standoff": 8, "font": {"size": 15}},
                **labels,
            },
        },
        height=410,
        caption=(
            f"Layer {layer}, head {head} on “{encoder.sentence_text(sentence)}” The query “it” "
            f"gives {words.weight(soft[noun])} to “{sentence}”; not divided, "
            f"{words.weight(hard[noun])}. On average a query attends to "
            f"{words.number(one.effective_keys)} of {n} keys in effect; not divided, to "
            f"{words.number(one.effective_keys_undivided)}."
        ),
        numbers={
            "it to noun": float(soft[noun]),
            "it to noun, not divided": float(hard[noun]),
            "effective keys": one.effective_keys,
            "effective keys, not divided": one.effective_keys_undivided,
            "top weight": one.top_weight,
            "top weight, not divided": one.top_weight_undivided,
            "spread": math.sqrt(one.row_variance),
        },
        columns={
            "key": list(found.tokens),
            "raw score of “it”": scaled.scores[query],
            "weight, divided by √32": soft,
            "weight, not divided": hard,
        },
        formula=(
            r"p = \operatorname{softmax}\!\left(\frac{q\,k^{\mathsf T}}{\sqrt{32}}\right) \qquad "
            rf"s_{{\text{{it}},\,\text{{{sentence}}}}} = "
            rf"{words.latex(scaled.scores[query, noun])},\quad "
            rf"\frac{{s}}{{\sqrt{{32}}}} = {words.latex(scaled.scaled[query, noun])}"
        ),
        notice=_heads_notice(layer, head, found.tokens, scaled.weights, one),
    )


def _pattern(weights: np.ndarray, **parts: Any) -> Trace:
    return {
        "type": "heatmap",
        "x": list(range(len(weights))),
        "y": list(range(len(weights))),
        "z": weights,
        "zmin": 0,
        "zmax": 1,
        "colorscale": "$sequential",
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "query %{y}, key %{x}: %{z:.3f}<extra></extra>",
        **parts,
    }


def _boxed(row: int, n: int, axes: str) -> Layout:
    return {
        "type": "rect",
        "xref": f"x{axes}",
        "yref": f"y{axes}",
        "x0": -0.5,
        "x1": n - 0.5,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": "$ink", "width": 2},
    }


def _heads_notice(
    layer: int, head: int, tokens: tuple[str, ...], weights: np.ndarray, one: encoder.Measured
) -> str:
    favourites = weights.argmax(axis=-1)
    it = tokens.index("it")
    most = (
        f"Divided, “it” looks most at “{tokens[favourites[it]]}” "
        f"({words.weight(weights[it].max())})."
    )
    if (layer, head) == (LAYER.default, HEAD.default):
        most += (
            " This head was **selected**: of all 72 it gives “animal” the most, found by search. "
            "On the two other sentences it turned out to do so for “cup” and “letter” too."
        )
    elif np.array_equal(favourites[1:], np.arange(len(tokens) - 1)):
        most += " So does every token of this head: it looks at the one before it."
    return (
        f"{most} Taking the divisor away lifts the largest weight of a row from "
        f"{words.weight(one.top_weight)} to {words.weight(one.top_weight_undivided)} on average. "
        "That is an **ablation** of a network trained with the divisor, not what a network "
        "trained without it would do."
    )


@view("assumptions.spread", HEAD, LAYER)
def spread(head: int, layer: int) -> Drawing:
    """Draw the spread of scores within a row for all 72 heads, against √32."""
    root = math.sqrt(encoder.D_K)
    spreads = np.sqrt(encoder.measured_everywhere().row_variance)
    middle = float(np.median(spreads))
    ratio = spreads / root
    near = float(np.mean((ratio > 0.5) & (ratio < 2)))
    one = float(spreads[layer, head])
    layers, numbers = np.indices(spreads.shape)
    x = layers + (numbers - (encoder.HEADS - 1) / 2) / 15
    named = [f"layer {i}, head {j}" for i, j in zip(layers.flat, numbers.flat, strict=True)]
    wide = float(spreads.max())
    widest = tuple(int(i) for i in np.unravel_index(spreads.argmax(), spreads.shape))
    span = np.array([-0.6, encoder.LAYERS - 0.4])
    return Drawing(
        data=[
            chart.line(
                span, np.full(2, root), "$ink", "√32", width=2, dash="dot", hover="%{y:.3g}"
            ),
            chart.line(span, np.full(2, middle), "$unscaled", "median", width=2, hover="%{y:.3g}"),
            {
                "type": "scatter",
                "mode": "markers",
                "x": x.ravel(),
                "y": spreads.ravel(),
                "name": "heads",
                "text": named,
                "marker": {"color": "$unscaled", "size": 8, "opacity": 0.55},
                "hovertemplate": "%{text}: %{y:.3g}<extra></extra>",
            },
            chart.dot(
                x[layer, head], one, "$fourth", f"layer {layer}, head {head}", hover="%{y:.3g}"
            ),
        ],
        layout=chart.layout(
            xaxis=chart.axis(
                "layer, and in it heads 0 to 11",
                between=(-0.6, encoder.LAYERS + 0.15),
                tickvals=list(range(encoder.LAYERS)),
            ),
            yaxis=chart.axis(
                "spread of raw scores in a row",
                between=(2, 100),
                log=True,
                grid=True,
                tickvals=[2, 4, 8, 16, 32, 64],
                ticktext=["2", "4", "8", "16", "32", "64"],
            ),
            annotations=[
                chart.note("√32", span[1], math.log10(root), yanchor="top"),
                chart.note(
                    "median", span[1], math.log10(middle), colour="$unscaled", yanchor="bottom"
                ),
            ],
            shapes=[
                {
                    "type": "rect",
                    "xref": "x",
                    "yref": "y",
                    "x0": span[0],
                    "x1": span[1],
                    "y0": root / 2,
                    "y1": 2 * root,
                    "fillcolor": "$panel",
                    "line": {"width": 0},
                    "layer": "below",
                }
            ],
        ),
        narrow={"xaxis": {"range": [-0.6, encoder.LAYERS + 0.9]}},
        caption=(
            f"Layer {layer}, head {head} spreads its raw scores by {words.number(one)} within a "
            f"row; √32 = {words.number(root)}. The median of all {spreads.size} heads is "
            f"{words.number(middle)}, and {words.percent(near)} of them lie within a factor of 2 "
            f"of √32 (shaded)."
        ),
        numbers={
            "spread": one,
            "median": middle,
            "median divided": middle / root,
            "share within a factor of two": near,
            "√32": root,
            "widest": wide,
        },
        columns={
            "layer": layers.ravel(),
            "head": numbers.ravel(),
            "spread": spreads.ravel(),
            "spread/√32": ratio.ravel(),
        },
        formula=(
            rf"\text{{median}}\quad \frac{{{words.latex(middle)}}}{{\sqrt{{32}}}} = "
            rf"{words.latex(middle / root)} \qquad \text{{layer {layer}, head {head}}}\quad "
            rf"\frac{{{words.latex(one)}}}{{\sqrt{{32}}}} = {words.latex(one / root)}"
        ),
        notice=(
            f"Divided by √32, the median head spreads its scores by {words.number(middle / root)}, "
            f"not far from the 1 of footnote 4. One head stands apart: layer {widest[0]}, head "
            f"{widest[1]} spreads them by {words.number(wide)}, so each of its rows has one winner "
            "even when divided."
        ),
    )


@view("assumptions.ladder", HEAD, LAYER)
def ladder(head: int, layer: int) -> Drawing:
    """Draw a head's spread as predicted step by step, from footnote 4 to what was measured."""
    every = np.sqrt(encoder.ladders())
    mine = np.sqrt(encoder.ladder(layer, head))
    middle = np.sqrt(np.median(encoder.ladders(), axis=(0, 1)))
    names = list(encoder.LADDER_STEPS)
    places = np.arange(len(names), dtype=float)
    name = f"layer {layer}, head {head}"
    outer = np.where(mine >= middle, "middle right", "middle left")
    inner = np.where(mine >= middle, "middle left", "middle right")
    return Drawing(
        data=[
            _rungs(middle, places, "$ink", "median of 72 heads", "diamond-open", inner),
            _rungs(mine, places, "$unscaled", "this head", "circle", outer),
        ],
        layout=chart.layout(
            margin={"l": 62, "r": 24, "t": 34, "b": 50},
            xaxis=chart.axis(
                "spread of raw scores in a row",
                between=(1.3, 100),
                log=True,
                grid=True,
                tickvals=[2, 4, 8, 16, 32, 64],
                ticktext=["2", "4", "8", "16", "32", "64"],
            ),
            yaxis=chart.axis(
                "",
                between=(len(names) - 0.5, -0.5),
                showline=False,
                tickvals=places,
                ticktext=[label.replace(" ", "<br>", 1) for label in names],
            ),
            shapes=[
                {**chart.upright(float(mine[0]), "$ink", dash="dot"), "layer": "below"},
            ],
            **chart.legend_above(),
        ),
        height=430,
        caption=(
            f"Footnote 4 predicts a spread of √32 = {words.number(mine[0])}. For {name} the "
            f"components taken one by one give {words.number(mine[2])}, with the means of q "
            f"{words.number(mine[3])}, with correlations {words.number(mine[4])}; measured are "
            f"{words.number(mine[6])}. The median head goes {words.number(middle[2])}, "
            f"{words.number(middle[3])}, {words.number(middle[4])}, and {words.number(middle[6])} "
            "measured."
        ),
        numbers={
            **{f"{label}, this head": float(x) for label, x in zip(names, mine, strict=True)},
            **{f"{label}, median": float(x) for label, x in zip(names, middle, strict=True)},
            "largest": float(every.max()),
        },
        columns={"step": names, name: mine, "median of 72 heads": middle},
        formula=(
            r"\operatorname{Var}_j(q\cdot k_j) = q^{\mathsf T}\operatorname{Cov}(k)\,q \qquad "
            r"\operatorname{E}\ \ldots = \operatorname{tr}\left(\operatorname{E}[q\,q^{\mathsf T}]"
            r"\operatorname{Cov}(k)\right)"
        ),
        notice=_ladder_notice(mine, middle),
    )


def _rungs(
    spreads: np.ndarray, places: np.ndarray, colour: str, name: str, symbol: str, sides: np.ndarray
) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines+markers+text",
        "x": spreads,
        "y": places,
        "name": name,
        "text": [
            f"\u2002{words.number(x)}\u2002" for x in spreads
        ],  # spaces keep it off the marker
        "textposition": sides.tolist(),
        "textfont": {"color": colour, "size": 14},
        "line": {"color": colour, "width": 2},
        "marker": {
            "color": colour,
            "size": 11,
            "symbol": symbol,
            "line": {"color": colour, "width": 2},
        },
        "hovertemplate": f"{name}: %{{x:.3g}}<extra></extra>",
        "cliponaxis": False,
    }


def _ladder_notice(mine: np.ndarray, middle: np.ndarray) -> str:
    down, up = middle[0] / middle[2], middle[4] / middle[2]
    far = max(mine[6] / mine[0], mine[0] / mine[6])
    return (
        "This encoder departs from footnote 4 in two ways that pull in opposite directions. "
        "Around their own means the "
        f"components vary less than it says (the median head's spread falls by a factor of "
        f"{words.number(down)}), but means and correlations raise it {words.number(up)}-fold. So "
        "√dₖ **roughly** fits the median head by partial cancellation. For this head it "
        f"misses by a factor of {words.number(far)}."
    )
