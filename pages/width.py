"""One rule, five places."""

import streamlit as st

from sdpa.parameters import BRANCHES, D_K, FAN_IN, LAYERS
from sdpa.ui.lesson import begin, explain, limits, part, sources
from sdpa.ui.live_figure import show
from sdpa.views import VIEWS
from sdpa.views.words import percent

lesson = begin(
    "width",
    "One rule, five places",
    "A sum of $m$ independent terms of variance 1 has standard deviation $\\sqrt m$. Where it "
    "feeds something sensitive it is divided by $\\sqrt m$ first: attention is **one place of "
    "many**.",
    [FAN_IN, LAYERS, BRANCHES, D_K],
)
tanh = VIEWS["width.tanh"]


@part
def units() -> None:
    bench = lesson.bench("tanh", FAN_IN)
    with bench.aside:
        guess = lesson.predict(
            "A tanh unit adds up 256 inputs, all weights of variance 1. How many units are "
            "saturated (|tanh| above 0.99)?",
            [step / 20 for step in range(21)],
            at={"fan_in": 256},
            answer=lambda: tanh(fan_in=256).numbers["saturated"],
            text=percent,
            answer_text=percent,
        )
    view = tanh(**bench.state)
    said = "" if guess is None else f"you said {percent(guess)}"
    bench.show(view if guess is None else view.marked(said, y=guess, axes="2"))
    bench.presets(
        {
            "4 inputs": {"fan_in": 4},
            "16 inputs": {"fan_in": 16},
            "256 inputs": {"fan_in": 256},
            "1024 inputs": {"fan_in": 1024},
        },
        reset=True,
    )

    st.header("The classifier's head", anchor=False)
    view = VIEWS["width.head"](**bench.state)
    show(view)
    explain(view)


@part
def layers() -> None:
    st.header("Twenty ReLU layers", anchor=False)
    bench = lesson.bench("relu", LAYERS)
    bench.show(VIEWS["width.relu"](**bench.state))


@part
def residual_stream() -> None:
    st.header("The residual stream", anchor=False)
    bench = lesson.bench("residual", BRANCHES)
    bench.show(VIEWS["width.residual"](**bench.state))


@part
def aligned() -> None:
    st.header("Aligned sums: where $\\sqrt m$ is not enough", anchor=False)
    bench = lesson.bench("aligned", D_K)
    bench.show(VIEWS["width.aligned"](**bench.state))


limits(
    "- The rule is about the **start** of training, where weights are random and independent of "
    "what they meet. Afterwards terms agree, and sums may grow like $m$.\n"
    "- It needs the variance of the **terms** to be 1. With other premises the divisor changes: "
    "after a ReLU it is $\\sqrt{m/2}$.\n"
    "- It is the other way round for averages: a mean of $m$ independent terms is small, "
    "$1/\\sqrt m$, so dividing by $m$ presumes that they agree.\n"
    "- Normalisation layers do the same by measuring: they divide by the spread they find, not by "
    "the one expected."
)
sources(
    "Glorot & Bengio, AISTATS 2010; He et al., 2015, "
    "[arXiv:1502.01852](https://arxiv.org/abs/1502.01852); Radford et al., 2019 (GPT-2), section "
    "2.3; Yang et al., 2022 (μP), [arXiv:2203.03466](https://arxiv.org/abs/2203.03466)."
)
