"""The views: what the lesson shows, drawn from the core. ``VIEWS`` names them all."""

from sdpa.views import (
    chain,
    gradients,
    overflow,
    temperature,
    training,
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
    "chain",
    "gradients",
    "overflow",
    "temperature",
    "training",
    "variance",
    "worked_example",
]
