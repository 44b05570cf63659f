"""Other ways: what is left of width, number of keys and training under each rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sdpa.alternatives import (
    RULES,
    RuleStatistics,
    apply_rule,
    compare_rules,
    leading_weight,
    liquid_entropy,
    typical_matches,
)
from sdpa.attention import softmax
from sdpa.parameters import D_K, GROWTH, LENGTH, N_KEYS, RULE
from sdpa.statistics import effective_keys
from sdpa.views import chart, words
from sdpa.views.panels import Curve, Panel, share_axis, side_by_side, size_axis, steps_axis
from sdpa.views.view import Drawing, Layout, view

ROOT, RAW = "divide by √dₖ", "divide by 1"
USUAL_WIDTH, USUAL_KEYS = 64, 16
LEAD = 3.0
SCORES_DRAWN, FEWEST_ROWS = 2**14, 128
_SHADES = {RAW: "$unscaled", ROOT: "$scaled"}
_TAKES = {"score": r"s = q \cdot k", "cosine": r"c = \cos(q, k)"}


def shade(rule: str) -> str:
    """Colour of the chosen rule: the usual two keep their own."""
    return _SHADES.get(rule, "$fourth")


@lru_cache(maxsize=256)
def _compared(d_k: int, n_keys: int, growth: int = 1) -> dict[str, RuleStatistics]:
    n_rows = max(FEWEST_ROWS, SCORES_DRAWN // n_keys)
    return compare_rules(d_k, n_keys, n_rows=n_rows, seed=0, growth=float(growth))


def _curves(found: Sequence[dict[str, RuleStatistics]], what: str) -> dict[str, np.ndarray]:
    return {rule: np.array([getattr(entry[rule], what) for entry in found]) for rule in RULES}


@view("alternatives.rules", RULE, D_K, N_KEYS)
def rules(rule: str, d_k: int, keys: int) -> Drawing:
    """Draw one typical row's weights under a rule beside √d_k, and its keys in play by width."""
    here = D_K.values.index(d_k)
    widths = np.array(D_K.values, dtype=float)
    logits, weights, kept = {}, {}, {}
    for name in dict.fromkeys((RAW, ROOT, rule)):
        rows = [apply_rule(name, typical_matches(d, keys).for_rule(name), d)[0] for d in D_K.values]
        logits[name] = rows[here]
        weights[name] = softmax(rows[here])
        kept[name] = np.array([float(effective_keys(softmax(row))) for row in rows])
    top = {name: float(row[0]) for name, row in weights.items()}
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    return Drawing(
        data=[
            chart.bars(weights[ROOT], "$scaled", ROOT),
            chart.bars(weights[rule], shade(rule), rule, showlegend=rule != ROOT),
            chart.line(
                widths,
                kept[RAW],
                "$unscaled",
                RAW,
                width=2,
                dash="dot",
                **right | {"showlegend": rule != RAW},
            ),
            chart.line(widths, kept[ROOT], "$scaled", ROOT, **right),
            chart.line(widths, kept[rule], shade(rule), rule, **right),
            chart.dot(d_k, kept[ROOT][here], "$scaled", ROOT, **right),
            chart.dot(d_k, kept[rule][here], shade(rule), rule, **right),
        ],
        layout=chart.layout(
            xaxis=chart.key_axis(keys, domain=[0, 0.5]),
            yaxis=chart.axis("weight", between=(0, 1), grid=True),
            xaxis2=chart.width_axis(domain=[0.62, 1], anchor="y2"),
            yaxis2=chart.axis("keys in play", between=(0, keys * 1.05), grid=True, anchor="x2"),
            **chart.legend_above(),
        ),
        narrow=chart.stacked(2),
        caption=(
            f"A typical row of {keys} keys at dₖ = {d_k} under “{rule}”: logits from "
            f"{words.number(logits[rule][-1])} to {words.number(logits[rule][0])}, largest weight "
            f"{words.weight(top[rule])}, {words.number(kept[rule][here])} of {keys} keys in play. "
            f"Divided by √dₖ: largest weight {words.weight(top[ROOT])}, "
            f"{words.number(kept[ROOT][here])} keys."
        ),
        numbers={
            "top weight": top[rule],
            "top weight by √d_k": top[ROOT],
            "keys in play": float(kept[rule][here]),
            "keys in play by √d_k": float(kept[ROOT][here]),
            "largest logit": float(logits[rule][0]),
        },
        columns={
            "d_k": widths,
            **{f"keys in play, {chart.text_of(name)}": column for name, column in kept.items()},
        },
        formula=_formula(rule, d_k, keys),
        notice=_rules_notice(rule, kept[rule], keys),
    )


def _formula(rule: str, d_k: int, n_keys: int) -> str:
    given = RULES[rule]
    factor = words.latex(given.factor(d_k, n_keys))
    letter = "s" if given.of == "score" else "c"
    now = rf"{factor}\,{letter}"
    if given.cap is not None:
        now = rf"{given.cap:g}\tanh\frac{{{now}}}{{{given.cap:g}}}"
    return (
        rf"\ell = {given.formula}\qquad {_TAKES[given.of]}\qquad "
        rf"d_k = {d_k},\ n = {n_keys}:\ \ell = {now}"
    )


def _rules_notice(rule: str, kept: np.ndarray, keys: int) -> str:
    return (
        f"{_ABOUT[rule]} From dₖ = {D_K.values[0]} to {D_K.values[-1]} this row goes from "
        f"{words.number(kept[0])} to {words.number(kept[-1])} of {keys} keys in play."
    )


_ABOUT = {
    RAW: "Nothing is done about the width: the wider the head, the fewer keys are left.",
    ROOT: "The rule of this lesson: the row is the same at every width.",
    "divide by dₖ": (
        "Random q and k are divided by too much, ever more so in wider heads. μP wants that at the "
        "start: it expects training to align q and k, whose scores then grow like dₖ."
    ),
    "divide by a learned T": (
        "A temperature that was right at dₖ = 64 (T = 8) is a number, not a law: at another width "
        "T would have to be learned anew."
    ),
    "softcap": (
        "The cap of 50 stands far above logits of size 1, so the row is that of √dₖ; it acts only "
        "when logits have grown."
    ),
    "softcap without √dₖ": (
        "A cap does not replace the divisor: logits of 20 pass a cap of 50 almost unchanged, and "
        "20 is far more than softmax needs to saturate."
    ),
    "QK-norm": (
        "Unit vectors bound every logit by g, but the cosines of random vectors shrink like 1/√dₖ: "
        "at the start a wide head is flat, and g is learned."
    ),
    "RMS QK-norm": (
        "q and k get mean square 1 and the score is divided by √dₖ: that is √dₖ times the cosine, "
        "alike at every width like the plain rule."
    ),
    "cosine": (
        "A cosine lies between −1 and 1, so a scale has to make up for it; with 1/τ = 10 at the "
        "start, narrow heads are sharp and wide ones flat."
    ),
    "log n": (
        "The division by √dₖ is still in it, so the width does not matter; the factor ln n makes "
        "longer rows sharper."
    ),
}


def _curves_of(rule: str, curves: dict[str, np.ndarray]) -> list[Curve]:
    """Every rule's curve: all in grey, in front of them the usual two and the chosen one."""
    grey: Layout = {"opacity": 0.25}
    behind = [name for name in RULES if name not in (RAW, ROOT)]
    return [
        *(Curve(name, "$ink", curves[name], width=1.5, parts=grey) for name in behind),
        Curve(RAW, "$unscaled", curves[RAW], legend=True),
        Curve(ROOT, "$scaled", curves[ROOT], legend=True, marked=True),
        Curve(rule, shade(rule), curves[rule], legend=rule not in (RAW, ROOT), marked=True),
    ]


STD, ENTROPY, LARGEST = "std of the logits", "entropy / ln n", "largest weight"


@view("alternatives.width", RULE, D_K, N_KEYS)
def width(rule: str, d_k: int, keys: int) -> Drawing:
    """Draw spread of logits, entropy and largest weight of random rows against d_k."""
    widths = np.array(D_K.values, dtype=float)
    here = D_K.values.index(d_k)
    found = [_compared(d, keys) for d in D_K.values]
    std, entropy, largest = (_curves(found, what) for what in ("std", "entropy", "largest"))
    across = chart.width_axis()
    data, layout, narrow = side_by_side(
        [
            Panel(STD, _curves_of(rule, std), across, size_axis(0.02, 50)),
            Panel(ENTROPY, _curves_of(rule, entropy), across, share_axis()),
            Panel(LARGEST, _curves_of(rule, largest), across, share_axis()),
        ],
        widths,
        here,
    )
    return Drawing(
        data=data,
        layout=layout,
        narrow=narrow,
        caption=(
            f"Random rows of {keys} keys at dₖ = {d_k} under “{rule}”: logits have a standard "
            f"deviation of {words.number(std[rule][here])}, the entropy is "
            f"{words.percent(entropy[rule][here])} of ln {keys}, and the largest weight is "
            f"{words.number(largest[rule][here])} on average. Divided by √dₖ: "
            f"{words.number(std[ROOT][here])}, {words.percent(entropy[ROOT][here])} and "
            f"{words.number(largest[ROOT][here])}."
        ),
        numbers=_numbers(rule, here, std, entropy, largest),
        columns={"d_k": widths, **_columns(std, entropy, largest)},
        notice=_width_notice(rule, std[rule]),
    )


def _width_notice(rule: str, std: np.ndarray) -> str:
    change = std[-1] / std[0]
    if math.isclose(change, 1, rel_tol=0.01):
        return (
            f"Under “{rule}” the **width drops out**: the logits spread alike at every dₖ, and so "
            "entropy and largest weight stay, but for small differences in narrow heads."
        )
    ends = f"from dₖ = {D_K.values[0]} to {D_K.values[-1]}"
    if change > 1:
        return (
            f"Under “{rule}” the spread grows {words.number(change)}-fold {ends}: the wider the "
            "head, the more one key takes all."
        )
    return (
        f"Under “{rule}” the spread falls to {words.number(change)} of itself {ends}: random q and "
        "k in a wide head get nearly equal weights, until training aligns them or raises the scale."
    )


def _numbers(
    rule: str,
    here: int,
    std: dict[str, np.ndarray],
    entropy: dict[str, np.ndarray],
    largest: dict[str, np.ndarray],
) -> dict[str, float]:
    return {
        f"{what}{of}": float(curves[name][here])
        for name, of in ((rule, ""), (ROOT, " by √d_k"))
        for what, curves in (("std", std), ("entropy share", entropy), ("largest weight", largest))
    }


def _columns(
    std: dict[str, np.ndarray], entropy: dict[str, np.ndarray], largest: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    return {
        f"{what}, {name}": curves[name]
        for name in RULES
        for what, curves in ((STD, std), (ENTROPY, entropy), (LARGEST, largest))
    }


@lru_cache(maxsize=1)
def _leads() -> dict[str, np.ndarray]:
    return {
        rule: np.array([leading_weight(rule, USUAL_WIDTH, n, lead=LEAD) for n in LENGTH.values])
        for rule in RULES
    }


@view("alternatives.length", RULE, LENGTH)
def length(rule: str, n: int) -> Drawing:
    """Draw entropy and largest weight of random rows, and a leading key's weight, against n."""
    lengths = np.array(LENGTH.values, dtype=float)
    here = LENGTH.values.index(n)
    found = [_compared(USUAL_WIDTH, keys) for keys in LENGTH.values]
    std, entropy, largest = (_curves(found, what) for what in ("std", "entropy", "largest"))
    leading = _leads()
    across = steps_axis("number of keys n", LENGTH.values, (2, 8, 32, 128, 1024))
    shown = {ENTROPY: entropy, LARGEST: largest, "weight of a leading key": leading}
    data, layout, narrow = side_by_side(
        [
            Panel(title, _curves_of(rule, curves), across, share_axis())
            for title, curves in shown.items()
        ],
        lengths,
        here,
    )
    return Drawing(
        data=data,
        layout=layout,
        narrow=narrow,
        caption=(
            f"Random rows of {n} keys at dₖ = {USUAL_WIDTH} under “{rule}”: the entropy is "
            f"{words.percent(entropy[rule][here])} of ln {n}, the largest weight "
            f"{words.number(largest[rule][here])}. One key {LEAD:g} standard deviations ahead of "
            f"{n - 1} equal ones gets {words.weight(leading[rule][here])}; divided by √dₖ, "
            f"{words.weight(leading[ROOT][here])}."
        ),
        numbers={
            **_numbers(rule, here, std, entropy, largest),
            "leading weight": float(leading[rule][here]),
            "leading weight by √d_k": float(leading[ROOT][here]),
        },
        columns={
            "n": lengths,
            **_columns(std, entropy, largest),
            **{f"weight of a leading key, {name}": leading[name] for name in RULES},
        },
        formula=(
            rf"\text{{leading key: }} w = \frac{{1}}{{1 + (n - 1)\,e^{{-\ell}}}}\qquad "
            rf"n = {n}:\ w = {_share(leading[rule][here])}"
        ),
        notice=_length_notice(rule, n, std[rule][here], entropy[ROOT][here], leading),
    )


def _share(weight: float) -> str:
    """Write a weight for a formula, never 1 for what is only close to it."""
    missing = 1 - weight
    near = 0 < missing < 0.005
    return f"1 - {words.latex(missing, 2)}" if near else words.latex(weight)


def _length_notice(
    rule: str, n: int, std: float, share: float, leading: dict[str, np.ndarray]
) -> str:
    first, last = leading[rule][0], leading[rule][-1]
    if rule == "log n":
        return (
            "With the factor **ln n** a key that leads by more than one standard deviation does "
            f"not fade, however many keys there are. Random rows get sharper instead (their "
            f"logits spread by ln {n} = {words.number(std)}): for those, √(ln n) would keep "
            "entropy/ln n as it is."
        )
    if rule == ROOT:
        return (
            "√dₖ knows nothing of **n**: the leading key fades like 1/n. For many keys the entropy "
            f"is ln n − ½, here {words.number(liquid_entropy(n) / math.log(n))} of ln {n}; these "
            f"rows have {words.number(share)}."
            if n > 2
            else "√dₖ knows nothing of **n**: raise it, and the leading key fades like 1/n."
        )
    if rule == "QK-norm":
        return (
            "The gain that QK-norm starts from, log₂(n² − n), grows like the logarithm of n as "
            f"well: the leading key has {words.weight(first)} at n = {LENGTH.values[0]} and still "
            f"{words.weight(last)} at {LENGTH.values[-1]}. A gain that stays would let it fade."
        )
    if first - last < 0.05:
        return (
            f"Under “{rule}” the leading key keeps its weight, from {words.weight(first)} at "
            f"n = {LENGTH.values[0]} to {words.weight(last)} at {LENGTH.values[-1]}: its logit is "
            "far above ln n."
        )
    fades = "fades" if last < 0.3 else "loses some of its weight"
    return (
        f"Under “{rule}” the leading key {fades}: from {words.weight(first)} at "
        f"n = {LENGTH.values[0]} to {words.weight(last)} at {LENGTH.values[-1]}. To keep it, its "
        "logit has to grow like ln n."
    )


@view("alternatives.drift", RULE, GROWTH)
def drift(rule: str, growth: int) -> Drawing:
    """Draw spread of logits, entropy and largest weight against how far scores have grown."""
    steps = np.array(GROWTH.values, dtype=float)
    here = GROWTH.values.index(growth)
    found = [_compared(USUAL_WIDTH, USUAL_KEYS, step) for step in GROWTH.values]
    std, entropy, largest = (_curves(found, what) for what in ("std", "entropy", "largest"))
    across = steps_axis("growth of the scores", GROWTH.values, GROWTH.values)
    data, layout, narrow = side_by_side(
        [
            Panel(STD, _curves_of(rule, std), across, size_axis(0.08, 1000)),
            Panel(ENTROPY, _curves_of(rule, entropy), across, share_axis()),
            Panel(LARGEST, _curves_of(rule, largest), across, share_axis()),
        ],
        steps,
        here,
    )
    return Drawing(
        data=data,
        layout=layout,
        narrow=narrow,
        caption=(
            f"{'Scores as at the start' if growth == 1 else f'Scores {growth} times as large'}, "
            f"{USUAL_KEYS} keys at dₖ = {USUAL_WIDTH}, under “{rule}”: logits have a standard "
            f"deviation of {words.number(std[rule][here])}, the largest weight is "
            f"{words.number(largest[rule][here])} on average. Divided by √dₖ: "
            f"{words.number(std[ROOT][here])} and {words.number(largest[ROOT][here])}."
        ),
        numbers=_numbers(rule, here, std, entropy, largest),
        columns={"growth": steps, **_columns(std, entropy, largest)},
        notice=_drift_notice(rule, std[rule], largest[rule]),
    )


def _drift_notice(rule: str, std: np.ndarray, largest: np.ndarray) -> str:
    if math.isclose(std[-1], std[0]):
        return (
            f"“{rule}” does not see the growth at all: only directions count, and a learned gain "
            "is the one way left to sharpen."
        )
    if RULES[rule].cap is not None:
        peak, end = largest.max(), largest[-1]
        ties = (
            f" Later it falls to {words.number(end)}: scores pressed against the cap become ties."
            if end < 0.99 * peak
            else ""
        )
        return (
            f"The cap bounds the logits: their spread ends at {words.number(std[-1])}. That is far "
            f"beyond saturation, and the largest weight gets up to {words.number(peak)}.{ties}"
        )
    return (
        f"Under “{rule}” logits grow with the scores, here from a spread of {words.number(std[0])} "
        f"to {words.number(std[-1])}. Nothing in this rule answers to that growth."
    )


# Each row was looked up at its source.
WHO_USES_WHAT = """
| who | logits | why |
|---|---|---|
| [Transformer](https://arxiv.org/abs/1706.03762) | $s/\\sqrt{d_k}$ | scores of random q and k spread like $\\sqrt{d_k}$ |
| [T5](https://github.com/huggingface/transformers/issues/18284) | $s$ | $1/\\sqrt{d_k}$ is in the start weights of $W_q$ |
| [μP](https://arxiv.org/abs/2203.03466) | $s/d_k$ | training aligns q and k; [only if heads grow](https://github.com/microsoft/mup/issues/17) |
| [QK-norm](https://arxiv.org/abs/2010.04245) | $g\\,\\hat q\\cdot\\hat k$ | no logit beyond a learned $g$ |
| [ViT-22B](https://arxiv.org/abs/2302.05442) | LN(q)·LN(k)$/\\sqrt{d_k}$ | logits diverged at about 8 billion parameters |
| [Qwen3](https://arxiv.org/abs/2505.09388), [OLMo 2](https://arxiv.org/abs/2501.00656), [Gemma 3](https://arxiv.org/abs/2503.19786) | RMS norm of q and k, then divided | stable training |
| [Gemma 4](https://github.com/mlc-ai/mlc-llm/pull/3485) | RMS norm of q and k, scale 1 | learned gains carry the scale |
| [nGPT](https://arxiv.org/abs/2410.01131) | $\\sqrt{d_k}\\,\\hat q\\cdot\\hat k$, [learned gains](https://github.com/NVIDIA/ngpt/blob/main/model.py) | cosines spread like $1/\\sqrt{d_k}$ |
| [Swin v2](https://arxiv.org/abs/2111.09883) | $\\cos/\\tau + B$, $\\tau \\ge 0.01$ | a few pairs of pixels took all |
| [Gemma 2](https://arxiv.org/abs/2408.00118) | $50\\tanh\\frac{z}{50}$, $z = s/\\sqrt{d_k}$ | bounds what training makes grow |
| [Chiang & Cholak](https://arxiv.org/abs/2202.12172) | $\\ln n\\cdot s/\\sqrt{d_k}$ | one key must win at any length |
| [Qwen, first](https://huggingface.co/Qwen/Qwen-7B/blob/main/modeling_qwen.py) | $\\log_L n\\cdot s/\\sqrt{d_k}$, $n > L$ | texts longer than the $L$ of training |
| [SSMax](https://arxiv.org/abs/2501.19399) | $\\sigma\\ln n\\cdot z$, $z = s/\\sqrt{d_k}$, $\\sigma$ learned | attention fades with length |
| [Llama 4](https://huggingface.co/docs/transformers/model_doc/llama4) | $s/\\sqrt{d_k}$, raised with the logarithm of the position | weights flatten in long texts |
| [YaRN](https://arxiv.org/abs/2309.00071) | $s/(t\\sqrt{d_k})$ | a context stretched after training |
| [Kimi K2](https://arxiv.org/abs/2507.20534) | shrinks $W_q$, $W_k$ beyond a logit of 100 | logits exploded in training |
"""  # noqa: E501
