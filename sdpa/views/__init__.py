"""The views: what the lesson shows, drawn from the core. ``VIEWS`` names them all."""

from sdpa.views import (
    alternatives,
    assumptions,
    attention,
    chain,
    dot_product,
    gradients,
    overflow,
    projections,
    temperature,
    training,
    variance,
    width,
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
    "alternatives",
    "assumptions",
    "attention",
    "chain",
    "dot_product",
    "gradients",
    "overflow",
    "projections",
    "temperature",
    "training",
    "variance",
    "width",
    "worked_example",
]
