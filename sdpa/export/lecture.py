"""The lecture: fifty minutes along the chain, a step for each figure.

Plain data in one place, for whatever shows it: the handout writes it as a page. What is said
holds no number but those of the state; answers take theirs from the view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sdpa.parameters import Parameter, Value
from sdpa.views import VIEWS
from sdpa.views.view import View
from sdpa.views.words import number, percent, weight

TITLE = "Why attention divides by √dₖ"
State = Mapping[str, Value]


@dataclass(frozen=True)
class Step:
    """One step of the lecture.

    Parameters
    ----------
    minutes : int
        How long it takes.
    title, claim : str
        A heading, and in one or two sentences what is to be understood.
    say : tuple of str
        What to say while the figure is shown.
    ask : str
        What to ask before its slider is moved.
    answer : callable
        Writes the answer from the figure in its state.
    page : str
        The page of the app, by its address.
    view : str
        The figure's name.
    state : dict
        What the figure opens with; what is not named is at its default.
    presets : dict of str to dict
        Other states worth showing, by what they are called.
    """

    minutes: int
    title: str
    claim: str
    say: tuple[str, ...]
    ask: str
    answer: Callable[[View], str]
    page: str
    view: str
    state: State = field(default_factory=dict)
    presets: Mapping[str, State] = field(default_factory=dict)

    def drawn(self, state: State | None = None) -> View:
        """Draw the step's figure, in its own state or in one of its presets."""
        return VIEWS[self.view](**(self.state if state is None else state))


STEPS = (
    Step(
        5,
        "A score is a dot product",
        "How much a query cares for a key is one number: two lengths and the cosine of the angle "
        "between them, or a sum of dₖ products.",
        (
            "Turn k around q: the score is largest where both point the same way, zero at a right "
            "angle, negative beyond.",
            "Length counts as well. A longer key gets larger scores from every query on its side.",
            "In a head the vectors have dₖ components, and the same number is a sum of dₖ products "
            "of either sign.",
        ),
        "q and k stay as long as they are and k turns to 120°. What is the score?",
        lambda _: (
            f"{number(VIEWS['dot_product.plane'](angle=120).numbers['score'])}: minus what it was "
            "at 60°, since the cosine changes its sign."
        ),
        "dot-product",
        "dot_product.plane",
        {},
        {"Same way": {"angle": 0}, "Right angle": {"angle": 90}, "Opposed": {"angle": 180}},
    ),
    Step(
        7,
        "Scores spread like √dₖ",
        "If the products are independent, with mean 0 and variance 1, their variances add up to "
        "dₖ. So the standard deviation of a score is √dₖ.",
        (
            "Variances add, standard deviations do not: half of the products undo others.",
            "Drag dₖ: the left picture widens, the right one, divided by √dₖ, stays.",
            "The premise is about random q and k, as at the start of training.",
        ),
        "The head gets four times as wide, from 64 to 256. How much further do scores spread?",
        lambda view: (
            "Twice as far: the standard deviation goes from "
            f"{number(view.numbers['standard deviation'])} to "
            f"{number(VIEWS['variance.histogram'](d_k=256).numbers['standard deviation'])} in "
            "these samples."
        ),
        "variance",
        "variance.histogram",
        {"d_k": 64},
        {"dₖ = 16": {"d_k": 16}, "dₖ = 256": {"d_k": 256}, "Heavy tails": {"d_k": 4}},
    ),
    Step(
        7,
        "Softmax sharpens: √dₖ is a temperature",
        "Softmax sees only differences of scores. Dividing all of them by one number T keeps "
        "their order and changes the certainty.",
        (
            "The same scores, the same order, another certainty: that is what a temperature does.",
            "√dₖ is such a temperature, but fixed by the width and there in training too.",
            "At T far below the spread of the scores the row is a choice of one key; far above it "
            "is a plain average.",
        ),
        "The scores are 8, 4, 0. What weight does the first key take, not divided and divided "
        "by 8?",
        lambda view: (
            f"{weight(view.numbers['top weight not divided'])} not divided, "
            f"{weight(view.numbers['top weight'])} divided."
        ),
        "temperature",
        "temperature.weights",
        {"temperature": 8.0},
        {
            "Not divided": {"temperature": 1.0},
            "Small scores": {"scores": "0.2, 0.1, 0", "temperature": 1.0},
            "Large scores": {"scores": "20, 10, 0", "temperature": 1.0},
        },
    ),
    Step(
        5,
        "A certain key passes no gradient back",
        "A weight answers to its score with the slope p(1 − p). Where one key has won, the slope "
        "falls like e to the minus gap.",
        (
            "At a tie the slope is largest. Every further step of 1 in the gap leaves about a "
            "third of it.",
            "Nothing is wrong with the winner being sure. The trouble is a row that is sure and "
            "wrong: it cannot be told.",
        ),
        "Two scores lie 8 apart. Is the slope near a tenth, a thousandth or a millionth of "
        "its largest?",
        lambda _: (
            f"{number(VIEWS['gradients.gap'](gap=8.0).numbers['slope'] / 0.25)} of it: nearest "
            "to a thousandth."
        ),
        "gradients",
        "gradients.gap",
        {"gap": 4.0},
        {"A tie": {"gap": 0.0}, "Gap 8": {"gap": 8.0}, "Gap 16": {"gap": 16.0}},
    ),
    Step(
        6,
        "The typical row dies, not the average one",
        "In wide heads the median row has hardly any gradient left without the divisor. The mean "
        "is kept up by the few rows that are nearly tied.",
        (
            "“Gradients vanish” is said of the typical row. The mean tells another story.",
            "Narrow heads hardly suffer: where scores spread little, dividing only divides the "
            "gradient.",
        ),
        "At dₖ = 256 with 8 keys, not divided: what share of the rows is dead?",
        lambda view: (
            f"{percent(view.numbers['dead_share, not divided'])}; divided by √dₖ, "
            f"{percent(view.numbers['dead_share, divided'])}."
        ),
        "gradients",
        "gradients.rows",
        {"d_k": 256},
        {"Narrow head": {"d_k": 4}, "Widest head, 64 keys": {"d_k": 1024, "keys": 64}},
    ),
    Step(
        5,
        "The fix: divide by √dₖ",
        "Divided by √dₖ, scores have variance 1 at every width. So weights and gradients no "
        "longer depend on how wide the head is.",
        (
            "Now the whole chain on one slider: spread, weights, gradient, not divided beside "
            "divided.",
            "Dividing by dₖ would be too much: rows would get flatter with the width.",
        ),
        "The slider goes from 256 to 1024. What happens to the blue weights?",
        lambda _: (
            "Nothing: the top key keeps "
            f"{weight(VIEWS['chain.chain'](d_k=1024).numbers['top weight divided'])}."
        ),
        "",
        "chain.chain",
        {"d_k": 256},
        {"Narrow": {"d_k": 4}, "The paper's": {"d_k": 64}, "Widest": {"d_k": 1024}},
    ),
    Step(
        5,
        "Overflow is another problem, with another cure",
        "exp of a large score does not fit the number format. Subtracting the row's maximum cures "
        "that exactly, and changes no weight: so it cannot cure saturation.",
        (
            "An offset on all scores changes no difference, so it should change no weight.",
            "Three problems, three cures: overflow (subtract the maximum), saturation (divide), "
            "overflow of q·k itself (divide q first).",
        ),
        "The largest score is 12 in float16. Does its exp fit?",
        lambda view: (
            f"No: exp overflows above {number(view.numbers['threshold'], 4)}. With the maximum "
            f"subtracted the top key gets {weight(view.numbers['safe top weight'])}."
        ),
        "overflow",
        "overflow.steps",
        {"offset": 4},
        {"float32 at 98": {"format": "float32", "offset": 90}, "As it stands": {"offset": 0}},
    ),
    Step(
        3,
        "In the whole attention it is one step",
        "softmax(QKᵀ/√dₖ)V: the divisor stands between the scores and softmax, and decides how "
        "many tokens get a say.",
        (
            "The d is the width of one head, the length of the vectors that are dotted: not the "
            "model's.",
            "Masks come after the division and before softmax.",
        ),
        "In which of the two maps of weights does a row nearly copy one value?",
        lambda view: (
            "In the one that is not divided: there the largest weight of a row is "
            f"{number(view.numbers['mean top weight not divided'])} on average, divided "
            f"{number(view.numbers['mean top weight divided'])}."
        ),
        "attention",
        "attention.maps",
        {"d_k": 64},
        {"Causal": {"mask": "causal"}, "Wide": {"d_k": 1024}},
    ),
    Step(
        4,
        "Does it matter in training?",
        "At this one task, a lookup learnt from random vectors, every width learns with √dₖ; "
        "without it wide heads stall. The paper itself only suspects.",
        (
            "Say what this shows and what it does not: rows learn alone here, in a Transformer "
            "they share projections.",
            "At dₖ = 4 the training without a divisor is the faster one.",
        ),
        "What share of the queries find their key after 200 steps, not divided and divided?",
        lambda view: (
            f"{percent(view.numbers['accuracy by 1'])} not divided, "
            f"{percent(view.numbers['accuracy by √d_k'])} divided by √dₖ."
        ),
        "training",
        "training.loss",
        {"d_k": 256},
        {
            "Narrow": {"d_k": 4},
            "Does Adam rescue it?": {"d_k": 256, "optimiser": "Adam"},
            "Loss on the weights": {"d_k": 256, "loss": "weights"},
        },
    ),
)
CHECK_PAGE, CHECK_MINUTES = "check", 3  # the end: one of its questions together, the rest at home
CHECK_CLAIM = (
    "One of the questions together, the rest at home: what many explanations answer wrongly, each "
    "with its evidence."
)
MINUTES = sum(step.minutes for step in STEPS) + CHECK_MINUTES
LAST = len(STEPS) + 1  # the place of the check; steps are counted from 1
PART = Parameter(
    "part",
    "Step",
    1,
    tuple(range(1, LAST + 1)),
    kind="choice",
    help="Of the lecture; each begins with its figure in a state of its own.",
)


def span(place: int) -> str:
    """Say from which minute to which a step goes.

    Examples
    --------
    >>> span(1), span(LAST)
    ('0–5 min', '47–50 min')
    """
    begun = sum(step.minutes for step in STEPS[: place - 1])
    ended = begun + STEPS[place - 1].minutes if place < LAST else MINUTES
    return f"{begun}–{ended} min"
