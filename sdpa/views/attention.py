"""From Q, K and V to weights and output, divided and not divided; and which d it is."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from sdpa.attention import Attention, softmax
from sdpa.attention import attention as attend
from sdpa.parameters import D_K, D_MODEL, HEADS, MASK, ROW, SEED, SOFTCAP
from sdpa.statistics import score_variance, typical_scores
from sdpa.vectors import head_width, token_vectors
from sdpa.views import chart, words
from sdpa.views.view import Drawing, Layout, Trace, view

TOKENS = ("the", "cat", "sat", "on", "the", "mat")
D_V = 2  # so that values can be drawn in a plane
N = len(TOKENS)
DEAD_QUERY = 2  # counted from 0, the one that "hide all from query 3" leaves nothing
SCORE_REACH = 24.0  # of the colours: three standard deviations at d_k = 64
VALUE_REACH = 2.9
TYPICAL_KEYS = 8
HIDDEN = "×"


@lru_cache(maxsize=64)
def _vectors(d_k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, k, v = (
        token_vectors(TOKENS, width, seed=seed, stream=stream)
        for stream, width in enumerate((d_k, d_k, D_V))
    )
    return q, k, v


def _allowed(mask: str) -> np.ndarray:
    """Say where a query may attend, as PyTorch's boolean masks do."""
    allowed = np.tri(N, dtype=bool) if mask == "causal" else np.ones((N, N), dtype=bool)
    if mask == "hide last key":
        allowed[:, -1] = False
    if mask == "hide all from query 3":
        allowed[DEAD_QUERY] = False
    return allowed


@lru_cache(maxsize=256)
def _steps(d_k: int, mask: str, softcap: str, seed: int, divided: bool) -> Attention:
    return attend(
        *_vectors(d_k, seed),
        scale=None if divided else 1.0,
        mask=None if mask in ("none", "causal") else _allowed(mask),
        causal=mask == "causal",
        softcap=None if softcap == "none" else float(softcap),
    )


def _query(row: int) -> str:
    return f"query {row}, “{TOKENS[row - 1]}”"


def _top(weights: np.ndarray) -> str:
    """Say which key a row looks at most."""
    return f"{words.weight(weights.max())} on “{TOKENS[int(weights.argmax())]}”"


@view("attention.maps", ROW, D_K, MASK, SOFTCAP, SEED)
def maps(row: int, d_k: int, mask: str, softcap: str, seed: int) -> Drawing:
    """Draw scores and both sets of weights as maps, and one row of them as bars."""
    soft, sharp = (_steps(d_k, mask, softcap, seed, divided) for divided in (True, False))
    here, root = row - 1, math.sqrt(d_k)
    allowed = _allowed(mask)
    bars: Layout = {"xaxis": "x4", "yaxis": "y4"}
    means = [float(steps.weights.max(axis=1).mean()) for steps in (sharp, soft)]
    return Drawing(
        data=[
            _map(
                soft.scores,
                "$diverging",
                SCORE_REACH,
                hover="%{z:.4g}",
                text=[[_short(score) for score in line] for line in soft.scores],
            ),
            _weight_map(sharp.weights, allowed, "2"),
            _weight_map(soft.weights, allowed, "3"),
            chart.bars(sharp.weights[here], "$unscaled", chart.NOT_SCALED, **bars),
            chart.bars(soft.weights[here], "$scaled", chart.SCALED, **bars),
        ],
        layout=chart.layout(
            margin={"l": 62, "r": 14, "t": 34, "b": 34},
            xaxis=_token_axis(domain=[0, 0.31]),
            yaxis=_query_axis(domain=[0.44, 1]),
            xaxis2=_token_axis(domain=[0.345, 0.655], anchor="y2"),
            yaxis2=_query_axis(domain=[0.44, 1], anchor="x2", showticklabels=False),
            xaxis3=_token_axis(domain=[0.69, 1], anchor="y3"),
            yaxis3=_query_axis(domain=[0.44, 1], anchor="x3", showticklabels=False),
            xaxis4=_token_axis(domain=[0, 1], anchor="y4", showline=True),
            yaxis4=chart.axis(
                "weight", between=(0, 1), domain=[0, 0.27], anchor="x4", grid=True, tickvals=[0, 1]
            ),
            annotations=[
                chart.heading("scores q·k"),
                _coloured("weights, not divided", "2", "$unscaled"),
                _coloured(f"weights, {chart.SCALED}", "3", "$scaled"),
                chart.heading(f"row of {_query(row)}", "4", lift=2),
            ],
            shapes=[_outline(here, axes) for axes in ("", "2", "3")],
        ),
        narrow=_stacked_maps(),
        height=390,
        caption=_maps_caption(row, d_k, sharp.weights[here], soft.weights[here], means),
        numbers={
            "top weight divided": float(soft.weights[here].max()),
            "top weight not divided": float(sharp.weights[here].max()),
            "mean top weight divided": means[1],
            "mean top weight not divided": means[0],
            "root": root,
        },
        columns={
            "query": [f"{i + 1} {TOKENS[i]}" for i in range(N) for _ in range(N)],
            "key": [f"{j + 1} {TOKENS[j]}" for _ in range(N) for j in range(N)],
            "score q·k": soft.scores.ravel(),
            "s/√d_k": soft.scaled.ravel(),
            "weight, not divided": sharp.weights.ravel(),
            "weight, divided": soft.weights.ravel(),
        },
        formula=(
            r"\operatorname{Attention}(Q, K, V) = \operatorname{softmax}\big("
            r"\tfrac{Q K^{\mathsf T}}{\sqrt{d_k}}\big) V\qquad "
            rf"\underset{{{N} \times {d_k}}}{{Q}}\ \underset{{{d_k} \times {N}}}"
            rf"{{K^{{\mathsf T}}}} \to \underset{{{N} \times {N}}}{{\text{{scores}}}}"
            rf"\qquad \sqrt{{d_k}} = \sqrt{{{d_k}}} = {words.latex(root)}"
        ),
        notice=_maps_notice(mask, row),
    )


def _maps_caption(
    row: int, d_k: int, sharp: np.ndarray, soft: np.ndarray, means: list[float]
) -> str:
    root = f"√{d_k} = {words.number(math.sqrt(d_k))}"
    if not soft.any():
        own = f"{_query(row).capitalize()}, sees no key: all of its weights are 0, divided or not."
    else:
        own = (
            f"{_query(row).capitalize()}: not divided, its largest weight is {_top(sharp)}; "
            f"divided by {root}, {_top(soft)}."
        )
    return (
        f"{own} At dₖ = {d_k} the mean of all rows' largest weights is {words.number(means[0])} "
        f"not divided and {words.number(means[1])} divided by {root}."
    )


def _maps_notice(mask: str, row: int) -> str:
    if mask == "causal":
        return (
            "A query sees only keys up to its own place, so the upper triangle is hidden (×). The "
            "first row has one key and must give it weight 1, whatever the divisor. Here the two "
            "“the” differ at last: the second sees more keys."
        )
    if mask == "hide last key":
        return (
            "The last column is hidden (×), as padding would be: its score becomes −∞ **before** "
            "softmax, so the remaining weights of each row still sum to 1."
        )
    if mask == "hide all from query 3":
        return (
            f"Query {DEAD_QUERY + 1} may see nothing. There is no distribution over zero keys; "
            "the plain formula gives 0/0 = nan. Here, as in PyTorch, such a row gets weights 0 "
            "and output 0."
        )
    return (
        "Both “the” have the same query and key here, since nothing tells the first place from "
        "the fifth: their rows and columns are equal. Compare the row of "
        f"“{TOKENS[row - 1]}” in the two maps of weights: the same order, a different certainty."
    )


@view("attention.steps", ROW, D_K, MASK, SOFTCAP, SEED)
def steps(row: int, d_k: int, mask: str, softcap: str, seed: int) -> Drawing:
    """Draw one query's way from raw scores to weights as a table, and its output among values."""
    soft, sharp = (_steps(d_k, mask, softcap, seed, divided) for divided in (True, False))
    _, _, values = _vectors(d_k, seed)
    here, root = row - 1, math.sqrt(d_k)
    cap = None if softcap == "none" else float(softcap)
    # Without the mask the same call gives what the softcap leaves.
    capped = _steps(d_k, "none", softcap, seed, True).logits[here]
    path = np.stack([soft.scores[here], soft.scaled[here], capped, soft.logits[here]], axis=1)
    weights = np.stack([soft.weights[here], sharp.weights[here]], axis=1)
    outputs = {"divided": soft.output[here], "not divided": sharp.output[here]}
    return Drawing(
        data=[
            {
                **_map(
                    np.where(np.isfinite(path), path, 0.0),
                    "$diverging",
                    SCORE_REACH,
                    hover="%{text}",
                ),
                "x": [0, 1, 2, 3],
                "text": [[words.fixed(value, 2) for value in line] for line in path],
            },
            {
                **_map(weights, "$sequential", None, hover="%{z:.4g}"),
                "x": [4, 5],
                "text": [[words.fixed(value, 3) for value in line] for line in weights],
            },
            _values(values, sharp.weights[here], "$unscaled", "weight, not divided", "circle-open"),
            _values(values, soft.weights[here], "$scaled", "weight, divided", "circle"),
            _value_names(values, weights.max(axis=1)),
            _output(outputs["not divided"], "$unscaled", "output, not divided"),
            _output(outputs["divided"], "$scaled", "output, divided"),
        ],
        layout=chart.layout(
            margin={"l": 62, "r": 14, "t": 56, "b": 34},
            xaxis=chart.axis(
                "",
                between=(-0.5, 5.5),
                domain=[0, 0.57],
                side="top",
                showline=False,
                tickvals=[0, 1, 2, 3, 4, 5],
                ticktext=[
                    "q·k",
                    "÷ √d<sub>k</sub>",
                    "softcap",
                    "mask",
                    "softmax",
                    "softmax<br>of q·k",
                ],
            ),
            yaxis=chart.axis(
                "key",
                between=(N - 0.5, -0.5),
                tickvals=list(range(N)),
                ticktext=list(TOKENS),
                showline=False,
            ),
            xaxis2=_value_axis("first component of v", domain=[0.67, 1], anchor="y2"),
            yaxis2=_value_axis("second", anchor="x2"),
            annotations=[
                chart.heading(f"output of {_query(row)}", "2", lift=8),
            ],
        ),
        narrow=chart.stacked(2, height=250, gap=90, headed=True),
        height=360,
        caption=_steps_caption(row, d_k, cap, soft, sharp),
        numbers={
            "top weight divided": float(weights[:, 0].max()),
            "top weight not divided": float(weights[:, 1].max()),
            "output 1 divided": float(outputs["divided"][0]),
            "output 2 divided": float(outputs["divided"][1]),
            "output 1 not divided": float(outputs["not divided"][0]),
            "output 2 not divided": float(outputs["not divided"][1]),
            "root": root,
        },
        columns={
            "key": list(TOKENS),
            "score q·k": path[:, 0],
            "s/√d_k": path[:, 1],
            "after softcap": path[:, 2],
            "after mask": path[:, 3],
            "weight, divided": weights[:, 0],
            "weight, not divided": weights[:, 1],
            "v_1": values[:, 0],
            "v_2": values[:, 1],
        },
        formula=(
            r"q k^{\mathsf T} \to \times\tfrac{1}{\sqrt{d_k}} \to "
            + (rf"{words.plain(cap)}\tanh\tfrac{{s}}{{{words.plain(cap)}}} \to " if cap else "")
            + (r"\text{mask} \to " if mask != "none" else "")
            + r"\operatorname{softmax} \to \cdot\, V\qquad "
            + rf"o_{{{row}}} = \sum_j w_{{{row}j}} v_j = "
            + rf"({', '.join(words.latex(x) for x in outputs['divided'])})"
        ),
        notice=_steps_notice(cap, soft, here),
    )


def _steps_caption(row: int, d_k: int, cap: float | None, soft: Attention, sharp: Attention) -> str:
    here = row - 1
    name = _query(row).capitalize()
    if not soft.weights[here].any():
        return (
            f"{name}, at dₖ = {d_k}: every score is masked to −∞, so all weights are 0 and the "
            "output is the zero vector."
        )
    capped = f", capped at ±{words.plain(cap)}" if cap else ""
    outputs = [
        f"({', '.join(words.number(value) for value in steps.output[here])})"
        for steps in (soft, sharp)
    ]
    return (
        f"{name}, at dₖ = {d_k}{capped}: divided, the output is {outputs[0]}, a mixture that "
        f"takes {words.weight(soft.weights[here].max())} of one value; not divided, it is "
        f"{outputs[1]} and takes {words.weight(sharp.weights[here].max())} of one value."
    )


def _steps_notice(cap: float | None, soft: Attention, here: int) -> str:
    mixture = (
        "An output is a weighted mean of the values: it lies among them. A saturated row just "
        "copies one value. (Values have two components here so that they can be drawn; d_v has no "
        "part in the divisor.)"
    ).replace("d_v", "$d_v$")
    if cap is None:
        return f"No softcap: the column repeats the one before. {mixture}"
    largest = float(np.abs(soft.scaled[here]).max())
    capped = cap * math.tanh(largest / cap)
    if largest - capped < 0.01 * largest:
        effect = (
            f"The largest divided score is {words.number(largest)} in size, so a cap of "
            f"{words.plain(cap)} changes hardly anything"
        )
    else:
        effect = (
            f"The largest divided score, {words.number(largest)} in size, is bent to "
            f"{words.number(capped)} by the cap of {words.plain(cap)}"
        )
    return (
        f"{effect}. A softcap guards against scores that grow in training; it does not replace "
        f"the divisor. {mixture}"
    )


@view("attention.divisors", HEADS, D_MODEL)
def divisors(heads: int, d_model: int) -> Drawing:
    """Draw a typical row divided by 1, √d_k and √d_model, and the spread that each leaves."""
    d_k = head_width(d_model, heads)
    root, wrong = math.sqrt(d_k), math.sqrt(d_model)
    raw = typical_scores(d_k, TYPICAL_KEYS)
    rows = {
        "1": softmax(raw),
        "√d<sub>k</sub>": softmax(raw, temperature=root),
        "√d<sub>model</sub>": softmax(raw, temperature=wrong),
    }
    colours = dict(zip(rows, ("$unscaled", "$scaled", "$third"), strict=True))
    counts = np.array(HEADS.values)
    stds = np.sqrt([score_variance(head_width(d_model, count)) for count in HEADS.values])
    widths = d_model / counts
    spreads = dict(zip(rows, (stds, stds / np.sqrt(widths), stds / wrong), strict=True))
    here = HEADS.values.index(heads)
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    flat = root / wrong
    return Drawing(
        data=[
            *(
                chart.bars(weights, colours[name], f"divided by {name}")
                for name, weights in rows.items()
            ),
            *(
                chart.line(counts, spread, colours[name], f"divided by {name}", **right)
                for name, spread in spreads.items()
            ),
            *(
                chart.dot(heads, spread[here], colours[name], f"divided by {name}", **right)
                for name, spread in spreads.items()
            ),
        ],
        layout=chart.layout(
            xaxis=chart.key_axis(TYPICAL_KEYS, domain=[0, 0.5]),
            yaxis=chart.axis("weight", between=(0, 1), grid=True),
            xaxis2=chart.axis(
                "heads",
                between=(0.85, 38),
                log=True,
                domain=[0.62, 1],
                anchor="y2",
                tickvals=list(HEADS.values),
                ticktext=[str(count) for count in HEADS.values],
            ),
            yaxis2=chart.axis(
                "std of the scores",
                between=(0.12, 60),
                log=True,
                grid=True,
                anchor="x2",
                tickvals=[0.25, 1, 4, 16],
                ticktext=["¼", "1", "4", "16"],
            ),
            **chart.legend_above(),
        ),
        narrow=chart.stacked(2),
        caption=(
            f"{words.plain(d_model)} / {heads} gives heads of dₖ = {d_k}, so the divisor is "
            f"√{d_k} = {words.number(root)} and the top of {TYPICAL_KEYS} typical keys gets "
            f"{words.weight(rows['√d<sub>k</sub>'][0])}. Divided by √{d_model} = "
            f"{words.number(wrong)} it gets {words.weight(rows['√d<sub>model</sub>'][0])}, not "
            f"divided {words.weight(rows['1'][0])}."
        ),
        numbers={
            "d_k": float(d_k),
            "root": root,
            "wrong root": wrong,
            "times too flat": wrong / root,
            "top weight by 1": float(rows["1"][0]),
            "top weight by √d_k": float(rows["√d<sub>k</sub>"][0]),
            "top weight by √d_model": float(rows["√d<sub>model</sub>"][0]),
        },
        columns={
            "heads": counts,
            "d_k": widths,
            **{f"std divided by {chart.text_of(name)}": column for name, column in spreads.items()},
        },
        formula=(
            rf"d_k = \frac{{d_{{\text{{model}}}}}}{{\text{{heads}}}} = "
            rf"\frac{{{d_model}}}{{{heads}}} = {d_k}\qquad "
            rf"\frac{{\sqrt{{d_{{\text{{model}}}}}}}}{{\sqrt{{d_k}}}} = "
            rf"\frac{{{words.latex(wrong)}}}{{{words.latex(root)}}} = "
            rf"\sqrt{{{heads}}} = {words.latex(wrong / root)}"
        ),
        notice=(
            "With a single head the two widths are one, and so are the two divisors. Add heads and "
            "watch them part."
            if heads == 1
            else f"The score adds up {d_k} products, one for each component of the two vectors "
            f"that are dotted; the other {words.plain(d_model - d_k)} numbers belong to other "
            f"heads. Dividing by √{d_model} leaves a standard deviation of {words.number(flat)} "
            f"in place of 1: scores √{heads} = {words.number(wrong / root)} times too flat."
        ),
    )


def _map(z: np.ndarray, colours: str, reach: float | None, *, hover: str, **parts: Any) -> Trace:
    return {
        "type": "heatmap",
        "z": z,
        "x": list(range(z.shape[1])),
        "y": list(range(N)),
        "zmin": 0 if reach is None else -reach,
        "zmax": 1 if reach is None else reach,
        "colorscale": colours,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "texttemplate": "%{text}",
        "textfont": {"size": 14},
        "hovertemplate": f"{hover}<extra></extra>",
        **parts,
    }


def _weight_map(weights: np.ndarray, allowed: np.ndarray, axes: str) -> Trace:
    text = [
        [f"{w:.2f}" if seen else HIDDEN for w, seen in zip(line, may, strict=True)]
        for line, may in zip(weights, allowed, strict=True)
    ]
    return _map(
        weights,
        "$sequential",
        None,
        hover="%{z:.4g}",
        text=text,
        xaxis=f"x{axes}",
        yaxis=f"y{axes}",
    )


def _short(score: float) -> str:
    """Write a score into a narrow cell."""
    return words.fixed(score, 1 if abs(score) < 9.95 else 0)


def _token_axis(**parts: Any) -> Layout:
    defaults = {"showline": False, "tickangle": 0}
    return chart.axis(
        "",
        between=(-0.5, N - 0.5),
        tickvals=list(range(N)),
        ticktext=list(TOKENS),
        **{**defaults, **parts},
    )


def _query_axis(**parts: Any) -> Layout:
    return chart.axis(
        "",
        between=(N - 0.5, -0.5),
        tickvals=list(range(N)),
        ticktext=list(TOKENS),
        showline=False,
        **parts,
    )


def _value_axis(title: str, **parts: Any) -> Layout:
    return chart.axis(
        title,
        between=(-VALUE_REACH, VALUE_REACH),
        tickvals=[-2, 0, 2],
        ticktext=["−2", "0", "2"],
        grid=True,
        **parts,
    )


def _values(values: np.ndarray, weights: np.ndarray, colour: str, name: str, symbol: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": values[:, 0],
        "y": values[:, 1],
        "name": name,
        "marker": {
            "symbol": symbol,
            "color": colour,
            "size": _diameter(weights),
            "opacity": 0.55 if symbol == "circle" else 1,
            "line": {"width": 2, "color": colour},
        },
        "customdata": weights,
        "hovertemplate": f"{name}: %{{customdata:.4g}}<extra></extra>",
        "xaxis": "x2",
        "yaxis": "y2",
    }


def _value_names(values: np.ndarray, weights: np.ndarray) -> Trace:
    """Name each value once, beside the larger of its circles, where there is room."""
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": values[:, 0],
        "y": values[:, 1],
        "text": [f"“{t}”" if TOKENS.index(t) == i else "" for i, t in enumerate(TOKENS)],
        "textposition": [f"middle {'left' if x > 1 else 'right'}" for x in values[:, 0]],
        "textfont": {"size": 15, "color": "$ink"},
        "marker": {"size": _diameter(weights), "opacity": 0},
        "hoverinfo": "skip",
        "xaxis": "x2",
        "yaxis": "y2",
    }


def _diameter(weights: np.ndarray) -> np.ndarray:
    return np.asarray(7 + 26 * np.sqrt(weights))  # so that areas are in proportion


def _output(place: np.ndarray, colour: str, name: str) -> Trace:
    trace = chart.dot(float(place[0]), float(place[1]), colour, name, xaxis="x2", yaxis="y2")
    trace["marker"] = {**trace["marker"], "symbol": "diamond", "size": 15}
    return trace


def _coloured(text: str, axes: str, colour: str) -> Layout:
    return {**chart.heading(text, axes), "font": {"size": 15, "color": colour}}


def _outline(row: int, axes: str) -> Layout:
    return {
        "type": "rect",
        "xref": f"x{axes}",
        "yref": f"y{axes}",
        "x0": -0.5,
        "x1": N - 0.5,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": "$ink", "width": 2},
    }


def _stacked_maps() -> Layout:
    changes = chart.stacked(4, height=190, gap=64, headed=True)
    for axis in ("yaxis2", "yaxis3"):
        changes[axis] = {**changes[axis], "showticklabels": True}
    return changes


# --- the same in code that runs by itself ---

_DRAW = """tokens = "{tokens}".split()
words = list(dict.fromkeys(tokens))  # equal words get equal vectors


def draw(stream, width):
    rng = np.random.default_rng([{seed}, stream])
    return rng.standard_normal((width, len(words))).T[[words.index(t) for t in tokens]]


d_k = {d_k}
q, k, v = draw(0, d_k), draw(1, d_k), draw(2, {d_v})
"""


def _preamble(d_k: int, seed: int) -> str:
    return _DRAW.format(tokens=" ".join(TOKENS), seed=seed, d_k=d_k, d_v=D_V)


def _mask_code(mask: str, library: str) -> str:
    """Write the mask as code, True where a query may attend; nothing if there is none."""
    kind = {"np": "dtype=bool", "torch": "dtype=torch.bool"}[library]
    made = f"allowed = {library}.ones(({N}, {N}), {kind})"
    return {
        "none": "",
        "causal": f"{made.replace('allowed = ', 'allowed = ' + library + '.tril(')})\n",
        "hide last key": f"{made}\nallowed[:, -1] = False\n",
        "hide all from query 3": f"{made}\nallowed[{DEAD_QUERY}] = False  # query 3 sees nothing\n",
    }[mask]


def as_numpy(d_k: int, mask: str, softcap: str, seed: int, **_: object) -> str:
    """Write the attention of this state as NumPy code that runs by itself."""
    lines = ["scores = q @ k.T", "logits = scores / np.sqrt(d_k)  # scale=1 would leave this out"]
    if softcap != "none":
        lines.append(f"logits = {softcap} * np.tanh(logits / {softcap})")
    if mask != "none":
        lines.append("logits = np.where(allowed, logits, -np.inf)")
    if mask == "hide all from query 3":
        lines += [
            "top = logits.max(axis=-1, keepdims=True)",
            "exponentials = np.exp(logits - np.where(np.isfinite(top), top, 0))",
            "total = exponentials.sum(axis=-1, keepdims=True)",
            "weights = exponentials / np.where(total > 0, total, 1)  # a row of zeros stays one",
        ]
    else:
        lines += [
            "exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))",
            "weights = exponentials / exponentials.sum(axis=-1, keepdims=True)",
        ]
    lines += ["output = weights @ v", "print(weights.round(3))", "print(output.round(3))"]
    body = "\n".join(lines)
    return f"import numpy as np\n\n{_preamble(d_k, seed)}{_mask_code(mask, 'np')}\n{body}\n"


def as_torch(d_k: int, mask: str, softcap: str, seed: int, **_: object) -> str:
    """Write the attention of this state as a call of PyTorch, or its steps where it has none."""
    head = "import numpy as np\nimport torch\nimport torch.nn.functional as F\n\n"
    head += _preamble(d_k, seed)
    head += "q, k, v = (torch.from_numpy(x.copy()) for x in (q, k, v))\n"
    if softcap != "none":
        hide = "logits = logits.masked_fill(~allowed, -torch.inf)\n" if mask != "none" else ""
        return (
            f"{head}{_mask_code(mask, 'torch')}\n"
            "# scaled_dot_product_attention has no softcap, so step by step:\n"
            "logits = q @ k.T / d_k**0.5\n"
            f"logits = {softcap} * torch.tanh(logits / {softcap})\n{hide}"
            "weights = torch.softmax(logits, dim=-1).nan_to_num(0)  # nan: no key seen\n"
            "output = weights @ v\n"
        )
    chosen = {"none": "", "causal": ", is_causal=True"}.get(mask, ", attn_mask=allowed")
    made = _mask_code(mask, "torch") if "attn_mask" in chosen else ""
    return (
        f"{head}{made}\n"
        f"divided = F.scaled_dot_product_attention(q, k, v{chosen})  # scale=None: 1/sqrt(d_k)\n"
        f"not_divided = F.scaled_dot_product_attention(q, k, v{chosen}, scale=1.0)\n"
    )
