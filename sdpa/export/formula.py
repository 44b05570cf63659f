"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from __future__ import annotations

import importlib.util
from functools import cache
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from sdpa.export.picture import MissingError

_SPACE = "{http://www.w3.org/1998/Math/MathML}"
_SCRIPTS = {f"{_SPACE}{tag}" for tag in ("msub", "msup", "msubsup", "munder")}
INSTALL = "Formulas need latex2mathml: python -m pip install -r requirements.txt."


def check_installed() -> None:
    """Raise MissingError, with what to install, where latex2mathml is not here."""
    if importlib.util.find_spec("latex2mathml") is None:
        raise MissingError(INSTALL)


def html(latex: str) -> str:
    r"""Write a view's formula, part by part so that a narrow screen breaks the line between them.

    Without latex2mathml the LaTeX itself is shown.

    Examples
    --------
    >>> print(html(r"\sqrt{4} = 2"))
    <span><math display="inline" displaystyle="true"><mrow><msqrt><mrow><mn>4</mn></mrow></msqrt><mo>=</mo><mn>2</mn></mrow></math></span>
    """  # noqa: E501
    if not latex:
        return ""
    if importlib.util.find_spec("latex2mathml") is None:
        return f"<code>{escape(latex)}</code>"
    return " ".join(f"<span>{_math(part.strip())}</span>" for part in latex.split(r"\qquad"))


@cache
def _math(latex: str) -> str:
    from latex2mathml.converter import convert

    # Two things that it reads only in another spelling.
    latex = latex.replace("{aligned}", "{align*}").replace(r"\mathsf T", r"\mathsf{T}")
    # As a block it sets sums large, with their limits above and below.
    root = ElementTree.fromstring(convert(latex, display="block"))
    root.set("display", "inline")
    root.set("displaystyle", "true")
    for row in list(root.iter()):
        _set_row(row)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SPACE)
    return ElementTree.tostring(root, encoding="unicode")


def _set_row(row: Element) -> None:
    """Mend what browsers set in another way than it is meant."""
    if side := row.attrib.pop("columnalign", None):  # they have no such attribute
        row.set("style", f"text-align: {side}; text-align: -webkit-{side}")
    if row.tag == f"{_SPACE}mover" and row[1].text == "―":  # few fonts have a bar that stretches
        row.remove(row[1])
        row.tag = f"{_SPACE}mrow"
        row.set("style", "border-top: 0.07em solid; padding-top: 0.1em")
    for place, item in reversed(list(enumerate(row))):
        if item.get("width") == "negativethinmathspace":
            row.remove(item)
        elif (name := _function(item)) is not None:
            name.tag = f"{_SPACE}mi"  # no operator: it stands close to its bracket,
            name.set("mathvariant", "normal")
            follows = next((n for n in row[place + 1 :] if n.tag != f"{_SPACE}mspace"), None)
            if row.tag not in _SCRIPTS and follows is not None and not _opens(follows):
                row.insert(place + 1, Element(f"{_SPACE}mspace", width="0.17em"))  # not to a letter


def _function(item: Element) -> Element | None:
    """Find the name of a function, such as softmax, ln or E, also under an index."""
    inner = item[0] if item.tag in _SCRIPTS and len(item) else item
    if inner.tag not in (f"{_SPACE}mo", f"{_SPACE}mi"):
        return None
    text = (inner.text or "").strip()
    lone = inner.tag == f"{_SPACE}mo"  # a single letter is one only if it was said to be
    return inner if text.isascii() and text.isalpha() and (lone or len(text) > 1) else None


def _opens(item: Element) -> bool:
    first = item[0] if item.tag == f"{_SPACE}mrow" and len(item) else item
    return first.text in ("(", "[")
