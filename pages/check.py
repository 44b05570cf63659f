"""Questions that many explanations answer wrongly."""

from sdpa.ui.lesson import begin
from sdpa.ui.quiz import ask
from sdpa.views.questions import QUESTIONS

begin(
    "check",
    "Check yourself",
    "Questions that people have asked, and often answered wrongly, about $\\sqrt{d_k}$. Each "
    "answer comes with its evidence, computed here. Your answers stay in this session only.",
    [],
)
ask(QUESTIONS)
