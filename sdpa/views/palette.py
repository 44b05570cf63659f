"""The colours by name, in both themes.

A view speaks of ``"$scaled"`` or ``"$ink"``; which colour that is depends on the reader's
theme. On screen the names are looked up in the theme's own CSS variables, in files here.
``.streamlit/config.toml`` sets the same colours (a test compares the two).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

Theme: TypeAlias = Literal["light", "dark"]
Colours: TypeAlias = dict[str, str | list[str]]

CATEGORICAL = ("scaled", "unscaled", "third", "fourth", "fifth", "sixth")

LIGHT: Colours = {
    "scaled": "#0B5FA5",
    "unscaled": "#C2401F",
    "third": "#4A7A1E",
    "fourth": "#7A4FA3",
    "fifth": "#8A6300",
    "sixth": "#00757A",
    "ink": "#1F2430",
    "paper": "#FDFCF9",
    "panel": "#F3F0E8",
    "line": "#DDD7C9",
    "sequential": [
        "#F3F0E8", "#DCE5EA", "#C2D6E6", "#A4C4E0", "#83B0D8",
        "#609ACC", "#3F83BD", "#226DAD", "#0B5FA5", "#084475",
    ],
    "diverging": [
        "#8F2A10", "#C2401F", "#D97A5F", "#EBB3A2", "#F5E0D8",
        "#DEE7EE", "#A9C8E0", "#69A0CD", "#0B5FA5", "#084475",
    ],
}  # fmt: skip
DARK: Colours = {
    "scaled": "#6DB7F2",
    "unscaled": "#FF8B6B",
    "third": "#A5D06A",
    "fourth": "#C9A4EE",
    "fifth": "#E3BE57",
    "sixth": "#5CC9C9",
    "ink": "#E9E6DF",
    "paper": "#15181D",
    "panel": "#1E2229",
    "line": "#3A404A",
    "sequential": [
        "#1E2229", "#22303F", "#263E55", "#2B4D6C", "#325E86",
        "#3B70A1", "#4784BC", "#5799D4", "#6DB7F2", "#A5D6FF",
    ],
    "diverging": [
        "#FFB39E", "#FF8B6B", "#C96A50", "#8B4C3C", "#4A332F",
        "#2B3743", "#35597A", "#4683B5", "#6DB7F2", "#A5D6FF",
    ],
}  # fmt: skip
THEMES: dict[Theme, Colours] = {"light": LIGHT, "dark": DARK}


def resolve(value: Any, colours: Colours) -> Any:
    """Replace every ``"$name"`` in a nested figure by its colour, lists as Plotly colour scales.

    Examples
    --------
    >>> resolve({"marker": {"color": "$scaled"}, "y": [1, 2]}, LIGHT)
    {'marker': {'color': '#0B5FA5'}, 'y': [1, 2]}
    """
    if isinstance(value, dict):
        return {key: resolve(item, colours) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [resolve(item, colours) for item in value]
    if isinstance(value, str) and value.startswith("$"):
        colour = colours[value[1:]]
        if isinstance(colour, list):
            return [[step / (len(colour) - 1), shade] for step, shade in enumerate(colour)]
        return colour
    return value
