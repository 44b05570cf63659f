"""What √d_k presumes, and what a trained network does."""

import streamlit as st

from sdpa.parameters import AMOUNT, D_K, HEAD, LAYER, PREMISE, SENTENCE
from sdpa.ui.lesson import begin, explain, limits, part, sources
from sdpa.ui.live_figure import show
from sdpa.views import VIEWS

lesson = begin(
    "assumptions",
    "What $\\sqrt{d_k}$ presumes",
    "The law needs components of q and k with **mean 0, variance 1 and no dependence**. Leave one "
    "premise at a time and see what becomes of the spread; then look at a trained network, which "
    "keeps none of them.",
    [PREMISE, AMOUNT, D_K, HEAD, LAYER, SENTENCE],
)
law = VIEWS["assumptions.law"]


@part
def premises() -> None:
    bench = lesson.bench("law", PREMISE, AMOUNT, D_K)
    asked = {"premise": "correlation in both", "amount": 5, "d_k": 64}
    with bench.aside:
        guess = lesson.predict(
            "Any two components of q have correlation 0.3, and so have those of k. With "
            "$\\sqrt{64} = 8$ if there were none, how far do raw scores spread?",
            [8, 9, 10, 12, 14, 17, 20, 24, 32, 64],
            at=asked,
            answer=lambda: law(**asked).numbers["law"],
        )
    view = law(**bench.state)
    bench.show(view if guess is None else view.marked(f"you said {guess}", y=guess, axes="2"))
    bench.presets(
        {
            "Correlated in one only": {"premise": "correlation in one", "amount": 5},
            "Correlated in both": {"premise": "correlation in both", "amount": 5, "d_k": 256},
            "Aligned": {"premise": "alignment", "amount": 5, "d_k": 256},
            "Length 1": {"premise": "unit norm", "amount": 0},
            "No variance": {"premise": "shape and tails", "amount": 5},
        },
        reset=True,
    )


@part
def encoder() -> None:
    st.header("A trained encoder, with the divisor and without", anchor=False)
    bench = lesson.bench("heads", LAYER, HEAD, SENTENCE)
    bench.show(VIEWS["assumptions.heads"](**bench.state))
    bench.presets(
        {
            "“it” and its noun": {},
            "The same head, another sentence": {"sentence": "letter"},
            "Soft rows": {"layer": 0, "head": 0},
            "One winner even so": {"layer": 0, "head": 2},
        }
    )
    chosen = {"layer": bench.state["layer"], "head": bench.state["head"]}

    st.header("How far do trained scores spread?", anchor=False)
    view = VIEWS["assumptions.spread"](**chosen)
    show(view)
    explain(view)

    st.header("From footnote 4 to the measured spread", anchor=False)
    view = VIEWS["assumptions.ladder"](**chosen)
    show(view)
    explain(view)


limits(
    "- This is **one small encoder on three short sentences**: 6 layers of 12 heads with "
    "$d_k = 32$. It shows that trained heads leave the premises, not how far others do.\n"
    "- The head shown first was found by searching all 72 for the largest weight from “it” to "
    "“animal”. A picked head says nothing about the rest; the figure of all 72 does.\n"
    "- Taking the divisor away from a trained network is an ablation. A network trained without "
    "it would have other weights, since training adapts to its temperature.\n"
    "- A premise that holds at initialisation can be lost in training, and “variance 1” is itself "
    "a choice of the initialiser and of the norms before the projections.\n"
    "- The laws on top speak of fresh pairs of q and k. Within one row the query is fixed, and the "
    "spread is that of the keys along it: $\\sqrt{q^{\\mathsf T}\\operatorname{Cov}(k)\\,q}$."
)
sources(
    "Vaswani et al., 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), footnote 4. "
    "Encoder: [all-MiniLM-L6-v2]"
    "(https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), Apache License 2.0, on the "
    "architecture of Wang et al., 2020, [arXiv:2002.10957](https://arxiv.org/abs/2002.10957)."
)
