"""Questions that many explanations answer wrongly."""

from sdpa.ui.lesson import begin
from sdpa.ui.quiz import ask
from sdpa.views.questions import QUESTIONS

begin(
    "check",
    "Check yourself",
    "Questions about $\\sqrt{d_k}$ that are often answered wrongly, each with evidence that is "
    "computed here.",
    [],
)
ask(QUESTIONS)
