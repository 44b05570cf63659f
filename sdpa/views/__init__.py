"""The views: what the lesson shows, drawn from the core. ``VIEWS`` names them all."""

from sdpa.views import (
    assumptions,
    chain,
    gradients,
    overflow,
    temperature,
    variance,
    worked_example,
)
from sdpa.views.view import VIEWS, Drawing, Frame, Sweep, View, ViewSpec

__all__ = [
    "VIEWS",
    "Drawing",
    "Frame",
    "Sweep",
    "View",
    "ViewSpec",
    "assumptions",
    "chain",
    "gradients",
    "overflow",
    "temperature",
    "variance",
    "worked_example",
]
