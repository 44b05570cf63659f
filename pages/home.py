"""Home: the whole chain on one slider."""

import streamlit as st

from sdpa.parameters import D_K
from sdpa.ui.frame import PAGES, ROOT
from sdpa.ui.lesson import begin, limits, part, sources
from sdpa.ui.present import shows
from sdpa.views import VIEWS
from sdpa.views.words import weight

lesson = begin(
    "",
    "Why attention divides by $\\sqrt{d_k}$",
    "A score $q \\cdot k$ adds up $d_k$ products, so the wider the head, the further scores "
    "spread: like $\\sqrt{d_k}$. Softmax turns wide gaps into certainty, and a certain row hardly "
    "learns. Dividing by $\\sqrt{d_k}$ undoes it at every width. **Drag the slider.**",
    [D_K],
)
chain = VIEWS["chain.chain"]


@part
def the_chain() -> None:
    bench = lesson.bench("chain", D_K)
    with bench.aside:
        guess = lesson.predict(
            "In a **typical row** of 8 keys at $d_k = 256$, not divided, what weight does the top "
            "key take?",
            [step / 20 for step in range(21)],
            at={"d_k": 256},
            answer=lambda: chain(d_k=256).numbers["top weight not divided"],
            answer_text=weight,
        )
    view = chain(**bench.state)
    bench.show(view if guess is None else view.marked(f"you said {guess:g}", y=guess, axes="2"))
    bench.presets(
        {
            "Narrow, dₖ = 4": {"d_k": 4},
            "The paper's, dₖ = 64": {"d_k": 64},
            "Wide, dₖ = 256": {"d_k": 256},
            "Widest, dₖ = 1024": {"d_k": 1024},
        },
        reset=True,
    )


LINKS = {
    "dot-product": "A score is two lengths and an angle, and a sum of $d_k$ products.",
    "variance": "Scores spread like $\\sqrt{d_k}$: sample them and hold them against the law.",
    "temperature": "$\\sqrt{d_k}$ is a temperature: it keeps the ranking, not the certainty.",
    "gradients": "Saturated rows stop learning: the typical row, not the average one.",
    "overflow": "Overflow is another problem with another cure: subtract the maximum.",
    "attention": "The whole way from Q, K, V to the output, and which $d$ it is.",
    "worked-example": "The scores [8, 4, 0] by hand, and your own numbers.",
    "assumptions": "What $\\sqrt{d_k}$ presumes, and what a trained encoder keeps of it.",
    "training": "Learn a lookup with and without the divisor, live.",
    "alternatives": "Other rules for the same scores: QK-norm, softcap, log n and more.",
    "width": "The same rule in layers, residual streams and classifiers.",
    "check": "Questions that are often answered wrongly, each with its evidence.",
    "lecture": "For who teaches it: fifty minutes, a step at a time, with slides and a handout.",
}
if shows("prose"):
    st.header("One link of the chain at a time", anchor=False)
    for page in PAGES[1:]:
        st.page_link(ROOT / page.file, label=f"**{page.menu}** — {LINKS[page.url_path]}")

limits(
    "- $\\sqrt{d_k}$ follows from a premise: components of q and k that are independent, with "
    "mean 0 and variance 1. It is a premise about the **start** of training; trained heads leave "
    "it.\n"
    "- The paper says “we suspect” and measures nothing. Narrow heads hardly need the divisor: "
    "with 8 keys, up to $d_k = 32$ the median row above has more gradient without it.\n"
    "- The eight scores drawn are those of a typical row: the average of each rank over many rows. "
    "Its top two lie further apart than in most random rows, so it is a little too sure; a few "
    "random rows are nearly tied and keep a large gradient."
)
sources(
    "Vaswani et al., *Attention Is All You Need*, 2017, "
    "[arXiv:1706.03762](https://arxiv.org/abs/1706.03762), section 3.2.1 and its footnote 4."
)
