"""Other ways to set how sharp attention is."""

import streamlit as st

from sdpa.parameters import D_K, GROWTH, LENGTH, N_KEYS, RULE
from sdpa.ui.lesson import begin, explain, limits, part, sources
from sdpa.ui.live_figure import show
from sdpa.ui.present import shows
from sdpa.views import VIEWS
from sdpa.views.alternatives import WHO_USES_WHAT
from sdpa.views.words import weight

lesson = begin(
    "alternatives",
    "Other ways to the same end",
    "Every rule sets how far logits spread. Ask what they still depend on: $1/\\sqrt{d_k}$ takes "
    "out the **width**, a factor $\\ln n$ the **number of keys**, QK-norm what **training** does "
    "to the lengths of q and k.",
    [RULE, D_K, N_KEYS, LENGTH, GROWTH],
)
rules = VIEWS["alternatives.rules"]


@part
def one_rule() -> None:
    bench = lesson.bench("rules", RULE, D_K, N_KEYS)
    capped = {"rule": "softcap without √dₖ", "d_k": 256, "keys": 8}
    with bench.aside:
        guess = lesson.predict(
            "Logits capped at 50, but not divided, at $d_k = 256$: what weight does the top key of "
            "8 take?",
            [step / 20 for step in range(3, 21)],
            at=capped,
            answer=lambda: rules(**capped).numbers["top weight"],
            answer_text=weight,
        )
    view = rules(**bench.state)
    bench.show(view if guess is None else view.marked(f"you said {guess:g}", y=guess))
    bench.presets(
        {
            "A cap is no divisor": {"rule": "softcap without √dₖ", "d_k": 256},
            "Cosines in a wide head": {"rule": "cosine", "d_k": 1024},
            "μP at the start": {"rule": "divide by dₖ", "d_k": 256},
            "RMS QK-norm": {"rule": "RMS QK-norm", "d_k": 256},
        },
        reset=True,
    )
    rule = bench.state["rule"]

    st.header("What is left of the width", anchor=False)
    view = VIEWS["alternatives.width"](**bench.state)
    show(view)
    explain(view)

    st.header("What is left of the number of keys", anchor=False)
    bench = lesson.bench("length", LENGTH)
    bench.show(VIEWS["alternatives.length"](rule=rule, **bench.state))
    bench.presets(
        {
            "ln n, 1024 keys": {"rule": "log n", "n": 1024},
            "√dₖ, 1024 keys": {"rule": "divide by √dₖ", "n": 1024},
        }
    )

    st.header("What is left when q and k grow in training", anchor=False)
    bench = lesson.bench("drift", GROWTH)
    bench.show(VIEWS["alternatives.drift"](rule=rule, **bench.state))
    bench.presets(
        {"QK-norm": {"rule": "QK-norm", "growth": 16}, "Cap": {"rule": "softcap", "growth": 64}}
    )


if shows("prose"):
    st.header("Who uses what", anchor=False)
    st.markdown(WHO_USES_WHAT)

limits(
    "- All rows here are **random**, as at the start of training. What a trained head does depends "
    "on what its q and k have become; nothing here says which rule trains better.\n"
    "- The factor $\\ln n$ keeps one **leading** key. For independent normal scores it is too "
    "much: if they spread by $\\beta$, their entropy is about $\\ln n - \\beta^2/2$ as long as "
    "$\\beta$ is below $\\sqrt{2 \\ln n}$, so there a factor $\\sqrt{\\ln n}$ keeps "
    "entropy$/\\ln n$ (Hayase & Karakida unify both).\n"
    "- Subtracting $\\ln n$ from every score does nothing at all: softmax sees only differences.\n"
    "- QK-norm's gain is learned, so it can drift itself; what it rules out is growth through the "
    "lengths of q and k.\n"
    "- With $d_k$ the same in all models, $1/d_k$ and $1/\\sqrt{d_k}$ differ by a constant only."
)
sources(
    "in the table; entropy and $\\log n$: J. Su, [kexue.fm 9034](https://kexue.fm/archives/9034), "
    "and Hayase & Karakida, [arXiv:2605.12697](https://arxiv.org/abs/2605.12697)."
)
