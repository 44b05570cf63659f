"""Overflow is another problem, with another cure: subtract the maximum."""

from __future__ import annotations

import math

import numpy as np

from sdpa.attention import naive_softmax, softmax
from sdpa.formats import (
    FORMATS,
    Fault,
    SoftmaxSteps,
    aligned_component_limit,
    dot_product_steps,
    exp_overflow_threshold,
    softmax_steps,
)
from sdpa.parameters import D_K, FORMAT, GAP, N_KEYS, OFFSET, SCORES
from sdpa.statistics import overflow_probability
from sdpa.views import chart, words
from sdpa.views.view import Drawing, Layout, Trace, view

MOST_COLUMNS = 5


@view("overflow.steps", OFFSET, FORMAT, SCORES)
def steps(offset: int, format: str, scores: tuple[float, ...]) -> Drawing:
    """Draw the formats' thresholds, and softmax line by line, naive and with the maximum off."""
    moved = np.array(scores) + offset
    naive = softmax_steps(moved, format, subtract_max=False)
    safe = softmax_steps(moved, format, subtract_max=True)
    top = float(moved.max())
    limits = {name: exp_overflow_threshold(name) for name in FORMATS}
    equal = exp_overflow_threshold(format, keys=len(scores))
    order = sorted(limits, key=lambda name: limits[name])
    upper, lower = _lines(naive, "2"), _lines(safe, "3")
    return Drawing(
        data=[
            {
                "type": "bar",
                "orientation": "h",
                "x": [limits[name] for name in order],
                "y": list(range(len(order))),
                "text": order,
                "textposition": "none",
                "hovertemplate": "%{text}: exp overflows above %{x:.2f}<extra></extra>",
                "marker": {"color": ["$fourth" if name == format else "$line" for name in order]},
                "cliponaxis": False,
            },
            upper.trace,
            lower.trace,
        ],
        layout=chart.layout(
            xaxis=chart.axis(
                "largest score whose exp still fits",
                between=(2, 3000),
                log=True,
                domain=[0.1, 0.36],
                tickvals=[10, 100, 1000],
                ticktext=["10", "100", "1000"],
            ),
            yaxis=chart.axis(
                "",
                between=(-0.6, 5.6),
                showline=False,
                ticktext=[f"{name}  {limits[name]:.2f}" for name in order],
                tickvals=list(range(len(order))),
            ),
            xaxis2={**upper.across, "domain": [0.52, 1], "anchor": "y2"},
            yaxis2={**upper.down, "domain": [0.58, 0.97], "anchor": "x2"},
            xaxis3={**lower.across, "domain": [0.52, 1], "anchor": "y3"},
            yaxis3={**lower.down, "domain": [0, 0.39], "anchor": "x3"},
            annotations=[
                chart.heading("As it stands", "2", lift=24),
                chart.heading("Maximum subtracted first", "3", lift=24),
                *upper.texts,
                *lower.texts,
            ],
            shapes=[
                *([chart.upright(top, "$unscaled", width=3)] if top > 2 else []),
                *upper.frames,
                *lower.frames,
            ],
        ),
        height=380,
        narrow={
            **chart.stacked(3, height=150, gap=100),
            "xaxis": {"domain": [0.12, 1]},
            "xaxis2": {"domain": [0.1, 1]},
            "xaxis3": {"domain": [0.1, 1]},
        },
        caption=_steps_caption(format, naive, safe, limits[format], top),
        numbers={
            "threshold": limits[format],
            "threshold of the sum": equal,
            "largest score": top,
            "naive top weight": float(naive.weights[int(moved.argmax())]),
            "safe top weight": float(safe.weights[int(moved.argmax())]),
            **{f"threshold {name}": limit for name, limit in limits.items()},
        },
        columns={
            "key": np.arange(1, len(moved) + 1),
            "score in the format": naive.scores.astype(float),
            "exp": naive.exponentials.astype(float),
            "weight": naive.weights.astype(float),
            "score − max": safe.shifted.astype(float),
            "exp of it": safe.exponentials.astype(float),
            "weight, max subtracted": safe.weights.astype(float),
        },
        formula=(
            r"\frac{e^{s_i}}{\sum_j e^{s_j}} = \frac{e^{s_i - m}}{\sum_j e^{s_j - m}} \qquad "
            rf"m = \max_j s_j = {words.tex(words.plain(top))}"
        ),
        notice=_steps_notice(
            naive, safe, softmax_steps(np.array(scores), format, subtract_max=False), equal
        ),
    )


def _breakdown(steps: SoftmaxSteps) -> Fault | None:
    """Find what made the weights wrong, or nothing: also a sum that overflows, which gives 0s."""
    kinds = ("overflow", "invalid", "zero total")
    return next((f for f in steps.faults if f.kind in kinds and not f.harmless), None)


def _steps_caption(
    format: str, naive: SoftmaxSteps, safe: SoftmaxSteps, limit: float, top: float
) -> str:
    best = int(np.argmax(safe.scores.astype(float)))
    weight = float(safe.weights[best])
    shown = words.weight(weight) if math.isfinite(weight) else "nan"
    broken = _breakdown(naive)
    start = (
        f"In {format} the naive softmax breaks: {broken.message}."
        if broken
        else f"In {format} exp overflows above {words.number(limit, 4)}; the largest score, "
        f"{words.plain(top)}, fits."
    )
    return f"{start} With the maximum subtracted first the top key gets {shown}."


def _steps_notice(
    naive: SoftmaxSteps, safe: SoftmaxSteps, unmoved: SoftmaxSteps, equal: float
) -> str:
    collapsed = next((fault for fault in safe.faults if fault.kind == "collapsed"), None)
    if collapsed:
        return (
            f"Before any exp the scores have lost what set them apart: {collapsed.message}. "
            "Subtracting the maximum cannot bring it back."
        )
    broken = _breakdown(naive)
    if not np.isfinite(safe.weights.astype(float)).all():
        what = (
            "The difference of two scores does"
            if np.isfinite(safe.scores.astype(float)).all()
            else "The scores themselves do"
        )
        return f"{what} not fit this format. Subtracting the maximum does not help."
    if broken and broken.kind == "zero total":
        return (
            "Every exp is too small for the format, so the sum is 0 and the division has no "
            "result. With the maximum subtracted the largest exp is e⁰ = 1, so the sum cannot be 0."
        )
    if broken and broken.step == "total" and _breakdown(unmoved):
        return (
            f"Every exp fits, their sum does not: that of {len(naive.scores)} equal scores fits up "
            f"to {words.number(equal)} each, ln {len(naive.scores)} less than one alone. With the "
            "maximum subtracted no exp is larger than e⁰ = 1."
        )
    if broken and _breakdown(unmoved):
        return (
            "One exp, or their sum, does not fit the format, although the weights would. With the "
            "maximum subtracted no exp is larger than e⁰ = 1."
        )
    if broken:
        return (
            "The offset changed no difference between scores, so it should change no weight. The "
            "naive form carries e to the offset as a factor, and with it one exp, or their sum, no "
            "longer fits the format."
        )
    return (
        "Move the offset: the lower table stays, as long as the format holds the moved scores "
        "exactly, since the maximum takes the offset away again. The upper one breaks as soon as "
        "one exp does not fit."
    )


class _Lines:
    """A small table of softmax's lines, as a heatmap with its texts and marked cells."""

    def __init__(
        self, trace: Trace, across: Layout, down: Layout, texts: list[Layout], frames: list[Layout]
    ) -> None:
        self.trace, self.across, self.down = trace, across, down
        self.texts, self.frames = texts, frames


def _lines(steps: SoftmaxSteps, axes: str) -> _Lines:
    shown = min(len(steps.scores), MOST_COLUMNS)
    first = "s" if steps.maximum is None else "s − max"
    rows = [
        (first, [*steps.shifted[:shown], None]),
        ("exp", [*steps.exponentials[:shown], steps.total]),
        ("weight", [*steps.weights[:shown], None]),
    ]
    texts, frames = [], []
    for row, (_, cells) in enumerate(rows):
        for column, cell in enumerate(cells):
            if cell is None:
                continue
            value = float(cell)
            broken = not math.isfinite(value)
            text = (
                ("nan" if math.isnan(value) else words.number(value))
                if broken
                else (words.number(value))
            )
            texts.append(
                chart.note(
                    f"<b>{text}</b>" if broken else text,
                    column,
                    row,
                    axes=axes,
                    anchor="center",
                    font={"size": 14},
                )
            )
            if broken:
                frames.append(
                    {
                        "type": "rect",
                        "xref": f"x{axes}",
                        "yref": f"y{axes}",
                        "x0": column - 0.47,
                        "x1": column + 0.47,
                        "y0": row - 0.45,
                        "y1": row + 0.45,
                        "line": {"color": "$unscaled", "width": 3},
                    }
                )
    trace: Trace = {
        "type": "heatmap",
        "z": np.zeros((3, shown + 1)),
        "zmin": 0,
        "zmax": 1,
        "x": list(range(shown + 1)),
        "y": [0, 1, 2],
        "xgap": 3,
        "ygap": 3,
        "colorscale": [[0, "$panel"], [1, "$panel"]],
        "showscale": False,
        "hoverinfo": "skip",
        "xaxis": f"x{axes}",
        "yaxis": f"y{axes}",
    }
    across = chart.axis(
        "",
        between=(-0.5, shown + 0.5),
        showline=False,
        side="top",
        tickvals=list(range(shown + 1)),
        ticktext=[*chart.key_names(shown), "sum"],
    )
    down = chart.axis(
        "",
        between=(2.5, -0.5),
        showline=False,
        tickvals=[0, 1, 2],
        ticktext=[name for name, _ in rows],
    )
    return _Lines(trace, across, down, texts, frames)


@view("overflow.invariance", OFFSET, GAP)
def invariance(offset: int, gap: float) -> Drawing:
    """Draw the top weight against an offset, where it stays, and against a gap, where it moves."""
    offsets, gaps = np.array(OFFSET.values, dtype=float), np.array(GAP.values)
    by_offset = softmax(np.stack([offsets + gap, offsets], axis=-1))[:, 0]
    by_gap = softmax(np.stack([gaps, np.zeros_like(gaps)], axis=-1))[:, 0]
    top = float(softmax(np.array([gap + offset, float(offset)]))[0])
    right: Layout = {"xaxis": "x2", "yaxis": "y2"}
    return Drawing(
        data=[
            chart.line(offsets, by_offset, "$scaled", "top weight"),
            chart.dot(offset, top, "$scaled", "top weight"),
            chart.line(gaps, by_gap, "$unscaled", "top weight", **right),
            chart.dot(gap, top, "$unscaled", "top weight", **right),
        ],
        layout=chart.layout(
            xaxis=chart.axis("offset added to both scores", between=(-20, 1020), domain=[0, 0.45]),
            yaxis=chart.axis("top weight of two", between=(0.48, 1.02), grid=True),
            xaxis2=chart.axis(
                "gap between the two scores", between=(-0.4, 20.4), domain=[0.56, 1], anchor="y2"
            ),
            yaxis2=chart.axis("", between=(0.48, 1.02), grid=True, anchor="x2"),
        ),
        narrow=chart.stacked(2),
        caption=(
            f"Two scores {words.plain(gap)} apart: the top key gets {words.weight(top)}, and "
            f"adding {offset:,} to both leaves it there. Only the gap changes it."
        ),
        numbers={"top weight": top},
        columns={"offset": offsets, "top weight by offset": by_offset},
    )


CHANCE_FLOOR = 1e-12


@view("overflow.chance", D_K, N_KEYS)
def chance(d_k: int, keys: int) -> Drawing:
    """Draw how likely a row of random raw scores is to overflow exp, by format and width."""
    widths = np.array(D_K.values, dtype=float)
    colours = {"float16": "$unscaled", "float32": "$fourth"}
    chances = {
        name: np.array(
            [overflow_probability(d, keys, exp_overflow_threshold(name)) for d in D_K.values]
        )
        for name in colours
    }
    scaled = np.array(
        [
            overflow_probability(d, keys, exp_overflow_threshold("float16"), divisor=math.sqrt(d))
            for d in D_K.values
        ]
    )
    here = D_K.values.index(d_k)
    drawn = {name: np.maximum(values, CHANCE_FLOOR / 10) for name, values in chances.items()}
    return Drawing(
        data=[
            *(chart.line(widths, drawn[name], colour, name) for name, colour in colours.items()),
            *(
                chart.dot(d_k, max(drawn[name][here], CHANCE_FLOOR), colour, name)
                for name, colour in colours.items()
            ),
            chart.line(
                widths,
                np.maximum(scaled, CHANCE_FLOOR),
                "$scaled",
                "float16, divided by √d<sub>k</sub>",
                width=2,
            ),
        ],
        layout=chart.layout(
            xaxis=chart.width_axis(),
            yaxis=chart.axis(
                "chance that a row overflows",
                between=(CHANCE_FLOOR, 2),
                log=True,
                grid=True,
                tickvals=[1e-12, 1e-9, 1e-6, 1e-3, 1],
                ticktext=["under 10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³", "1"],
            ),
            **chart.legend_above(),
        ),
        caption=(
            f"At dₖ = {d_k} a row of {keys} raw scores overflows the naive softmax with "
            f"probability {words.number(chances['float16'][here])} in float16 and "
            f"{words.number(chances['float32'][here])} in float32; divided by √dₖ, "
            f"{words.number(scaled[here])} in float16."
        ),
        numbers={
            "float16": float(chances["float16"][here]),
            "float32": float(chances["float32"][here]),
            "float16 divided": float(scaled[here]),
        },
        columns={
            "d_k": widths,
            **chances,
            "float16, divided by √d_k": scaled,
        },
    )


COMPONENT = 40.0


@view("overflow.dot_product", D_K)
def dot_product(d_k: int) -> Drawing:
    """Draw the largest equal components of q and k whose score fits float16, by width."""
    widths = np.array(D_K.values, dtype=float)
    late = np.array([aligned_component_limit(d, "float16") for d in D_K.values])
    early = np.array(
        [aligned_component_limit(d, "float16", divisor=math.sqrt(d)) for d in D_K.values]
    )
    here = D_K.values.index(d_k)
    after = float(dot_product_steps(d_k, COMPONENT, "float16").score)
    before = float(dot_product_steps(d_k, COMPONENT, "float16", divisor=math.sqrt(d_k)).score)
    return Drawing(
        data=[
            chart.line(widths, late, "$unscaled", "divide q·k afterwards"),
            chart.line(widths, early, "$scaled", "divide q first"),
            chart.dot(d_k, late[here], "$unscaled", "divide q·k afterwards"),
            chart.dot(d_k, early[here], "$scaled", "divide q first"),
        ],
        layout=chart.layout(
            xaxis=chart.width_axis(),
            yaxis=chart.axis(
                "largest component that fits",
                between=(5, 250),
                log=True,
                grid=True,
                tickvals=[5, 10, 20, 50, 100, 200],
                ticktext=["5", "10", "20", "50", "100", "200"],
            ),
            **chart.legend_above(),
        ),
        caption=(
            f"At dₖ = {d_k} in float16, equal components of q and k may reach "
            f"{words.number(late[here])} before q·k overflows, {words.number(early[here])} if q is "
            f"divided by √dₖ first. With components of {words.plain(COMPONENT)}: {_held(after)} "
            f"against {_held(before)}{_rounded(before, COMPONENT**2 * math.sqrt(d_k))}."
        ),
        numbers={
            "component limit": float(late[here]),
            "component limit, q divided first": float(early[here]),
            "score": after,
            "score, q divided first": before,
        },
        columns={"d_k": widths, "divide q·k afterwards": late, "divide q first": early},
    )


def _held(score: float) -> str:
    return words.plain(score) if math.isfinite(score) else words.number(score)


def _rounded(score: float, exact: float) -> str:
    if not math.isfinite(score) or math.isclose(score, exact, rel_tol=1e-12):
        return ""
    return f" (exactly {exact:,.0f}; the rest is float16's rounding while it adds up)"


MASKED_ROWS = {
    "1, −∞, 0": [1.0, -math.inf, 0.0],
    "−∞, −∞, −∞": [-math.inf] * 3,
    "−10⁹, −10⁹, −10⁹": [-1e9] * 3,
}


@view("overflow.masks")
def masks() -> Drawing:
    """Draw what softmax makes of masked rows."""
    rows = {name: softmax(np.array(row)) for name, row in MASKED_ROWS.items()}
    naive = naive_softmax(np.array(MASKED_ROWS["−∞, −∞, −∞"]))
    return Drawing(
        data=[
            {
                **chart.bars([row[key] for row in rows.values()], colour, name),
                "x": list(rows),
            }
            for key, (name, colour) in enumerate(
                zip(chart.key_names(3), ("$scaled", "$third", "$fourth"), strict=True)
            )
        ],
        layout=chart.layout(
            xaxis=chart.axis("scores of the row", type="category"),
            yaxis=chart.axis("weight", between=(0, 1), grid=True),
            **chart.legend_above(),
        ),
        height=280,
        caption=(
            "A key masked with −∞ gets exactly 0. A row with every key masked has nothing to "
            f"share: here it gets zeros, by the plain formula {words.number(naive[0])}. Masked "
            "with a large finite number instead, it silently gets a third each."
        ),
        numbers={
            "masked key": float(rows["1, −∞, 0"][1]),
            "fully masked": float(rows["−∞, −∞, −∞"].sum()),
            "finite mask": float(rows["−10⁹, −10⁹, −10⁹"][0]),
        },
        columns={
            "scores": list(rows),
            **{f"weight of k{key + 1}": [row[key] for row in rows.values()] for key in range(3)},
        },
    )
