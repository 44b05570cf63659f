"""The whole attention, step by step."""

import streamlit as st

from sdpa.parameters import D_K, D_MODEL, HEADS, MASK, ROW, SEED, SOFTCAP
from sdpa.ui.lesson import begin, explain, limits, part, sources
from sdpa.ui.live_figure import show
from sdpa.ui.present import shows
from sdpa.views import VIEWS
from sdpa.views.attention import as_numpy, as_torch
from sdpa.views.words import weight

lesson = begin(
    "attention",
    "The whole attention, with and without $\\sqrt{d_k}$",
    "Every token asks (q), every token answers (k), and each output mixes the values (v) by the "
    "weights. The divisor is **one step** on this way, and it decides how many tokens get a say.",
    [ROW, D_K, MASK, SOFTCAP, SEED, HEADS, D_MODEL],
)
maps, asked = VIEWS["attention.maps"], {"row": 3, "d_k": 256, "mask": "none"}


@part
def from_q_k_v_to_output() -> None:
    first = lesson.bench("maps", ROW, D_K, MASK)
    between = st.container()
    st.header("One row step by step", anchor=False)
    second = lesson.bench("steps", SOFTCAP, SEED)
    state = {**first.state, **second.state}
    with first.aside:
        guess = lesson.predict(
            "At $d_k = 256$ query 3 gives its top key a weight of nearly 1. And divided by 16?",
            [step / 20 for step in range(21)],
            at={**asked, "softcap": "none", "seed": 0},
            answer=lambda: maps(**asked).numbers["top weight divided"],
            answer_text=weight,
        )
    view = maps(**state)
    with first.figure:
        show(view if guess is None else view.marked(f"you said {guess:g}", y=guess, axes="4"))
    with between:
        explain(view)
        first.presets(
            {
                "Narrow, dₖ = 4": {"d_k": 4},
                "The paper's, dₖ = 64": {},
                "Wide, dₖ = 1024": {"d_k": 1024},
                "Causal": {"mask": "causal"},
                "A row that sees nothing": {"mask": "hide all from query 3", "row": 3},
            },
            reset=True,
        )
    view = VIEWS["attention.steps"](**state)
    with second.figure:
        show(view)
    explain(view)
    second.presets(
        {"No cap": {}, "Gemma 2's cap": {"softcap": "50"}, "A tight cap": {"softcap": "2"}}
    )
    if shows("prose"):
        numpy, torch = st.tabs(["NumPy", "PyTorch"])
        numpy.code(as_numpy(**state), language="python", wrap_lines=True)
        torch.code(as_torch(**state), language="python", wrap_lines=True)


@part
def which_d() -> None:
    st.header("Which d? The width of the head", anchor=False)
    bench = lesson.bench("divisors", HEADS, D_MODEL)
    bench.show(VIEWS["attention.divisors"](**bench.state))
    bench.presets(
        {"The paper's base model": {}, "One head": {"heads": 1}, "Many heads": {"heads": 32}}
    )


limits(
    "- Queries, keys and values are **drawn**, not learned: the premise of the paper's footnote. "
    "No word has a reason here to look at another.\n"
    "- $(q/\\sqrt{d_k}) \\cdot k$ is the same as $(q \\cdot k)/\\sqrt{d_k}$, and so is "
    "$d_k^{-1/4}$ on both q and k. Scaling q first costs less and keeps float16 from overflowing "
    "in $q k^{\\mathsf T}$.\n"
    "- A mask of −10⁹ in place of −∞ hides as well in float32, but float16 has no such number, "
    "and a fully masked row silently becomes the plain average.\n"
    "- Some models choose a head width of their own, so that $d_{\\text{model}}$ / heads is not "
    "$d_k$. What counts is the length of the vectors that are dotted, and in the end the divisor "
    "that the weights were trained with."
)
sources(
    "Vaswani et al., 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), sections 3.2.1 "
    "and 3.2.2 ($d_{\\text{model}} = 512$, 8 heads, $d_k = 64$). Softcap: Gemma 2, 2024, "
    "[arXiv:2408.00118](https://arxiv.org/abs/2408.00118). $\\sqrt{d_{\\text{model}}}$ by mistake: "
    "[ng-video-lecture 6](https://github.com/karpathy/ng-video-lecture/pull/6). Masked rows: "
    "[PyTorch 131060](https://github.com/pytorch/pytorch/pull/131060)."
)
