"""Overflow is another problem, with another cure."""

import streamlit as st

from sdpa.parameters import D_K, FORMAT, GAP, N_KEYS, OFFSET, SCORES
from sdpa.ui.lesson import begin, limits, part, remark, sources
from sdpa.ui.live_figure import show
from sdpa.views import VIEWS

lesson = begin(
    "overflow",
    "Overflow is another problem, with another cure",
    "exp of a large score does not fit the number format. Subtracting the row's **maximum** first "
    "cures that exactly, and changes no weight and no gradient: so it cannot cure saturation.",
    [OFFSET, FORMAT, SCORES, GAP, D_K, N_KEYS],
)
steps = VIEWS["overflow.steps"]
equal = {"format": "float16", "scores": "10, 10, 10, 10, 10, 10, 10, 10"}


@part
def one_row() -> None:
    bench = lesson.bench("steps", OFFSET, FORMAT, SCORES)
    with bench.aside:
        guess = lesson.predict(
            "In float16 **eight** keys share one score. Up to which score does the sum of their "
            "exps still fit?",
            [3, 4, 5, 7, 9, 11],
            at={**equal, "offset": 0},
            answer=lambda: steps(**equal).numbers["threshold of the sum"],
        )
    view = steps(**bench.state)
    bench.show(view if guess is None else view.marked(f"you said {guess}", x=guess))
    bench.presets(
        {
            "float16 at 12": {"format": "float16", "offset": 4},
            "float32 at 98": {"format": "float32", "offset": 90},
            "float64 at 718": {"format": "float64", "offset": 710},
            "bfloat16 loses 999": {"format": "bfloat16", "scores": "1000, 999, 998"},
            "float8": {"format": "float8_e4m3fn"},
            "Underflow": {"format": "float16", "scores": "-20, -21, -22"},
        },
        reset=True,
    )

    st.header("An offset changes no weight, a gap does", anchor=False)
    gaps = lesson.bench("invariance", GAP)
    gaps.show(VIEWS["overflow.invariance"](offset=bench.state["offset"], **gaps.state))


@part
def chance() -> None:
    st.header("How likely is it?", anchor=False)
    rows = lesson.bench("chance", D_K, N_KEYS)
    rows.show(VIEWS["overflow.chance"](**rows.state))

    st.header("The score itself can overflow", anchor=False)
    show(VIEWS["overflow.dot_product"](d_k=rows.state["d_k"]))
    remark(
        "Here subtracting the maximum comes too late: ∞ − ∞ is not a number. The cure is to divide "
        "q **before** the product, or to add up in a wider format."
    )


st.header("Masked rows", anchor=False)
show(VIEWS["overflow.masks"]())

limits(
    "- Three problems, three cures: overflow of exp (subtract the maximum), saturation (scale), "
    "overflow of $q \\cdot k$ (scale q first, or accumulate wider). None replaces another.\n"
    "- Subtracting the maximum cannot bring back what rounding lost before it: in bfloat16 the "
    "scores 1000, 999, 998 are all 1000.\n"
    "- It is not free of rounding, but of similar accuracy to the plain formula.\n"
    "- Any constant near the maximum does: a softmax computed piece by piece subtracts a running "
    "maximum."
)
sources(
    "Blanchard, D. Higham and N. Higham, *Accurately computing the log-sum-exp and softmax "
    "functions*, IMA J. Numer. Anal. 41(4), 2021, "
    "[doi:10.1093/imanum/draa038](https://doi.org/10.1093/imanum/draa038). Milakov and "
    "Gimelshein, *Online normalizer calculation for softmax*, 2018, "
    "[arXiv:1805.02867](https://arxiv.org/abs/1805.02867)."
)
