"""The views: what the lesson shows, drawn from the core. ``VIEWS`` names them all."""

from sdpa.views import (
    attention,
    chain,
    dot_product,
    alternatives,
    chain,
    gradients,
    overflow,
    temperature,
    variance,
    width,
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
    "attention",
    "alternatives",
    "chain",
    "dot_product",
    "gradients",
    "overflow",
    "temperature",
    "training",
    "variance",
    "width",
    "worked_example",
]
