"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from html import escape

from sdpa.export.picture import MissingError

INSTALL = "Formulas need latex2mathml: python -m pip install -r requirements-export.txt."


def check_installed() -> None:
    """Raise MissingError, with what to install, where latex2mathml is not here."""
    if importlib.util.find_spec("latex2mathml") is None:
        raise MissingError(INSTALL)


def html(latex: str) -> str:
    r"""Write a view's formula, part by part so that a narrow screen breaks the line between them.

    Without latex2mathml the LaTeX itself is shown.

    Examples
    --------
    >>> print(html(r"\sqrt{4} = 2").replace(' xmlns="http://www.w3.org/1998/Math/MathML"', ""))
    <span><math display="inline" displaystyle="true"><mrow><msqrt><mrow><mn>4</mn></mrow></msqrt><mo>&#x0003D;</mo><mn>2</mn></mrow></math></span>
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
    latex = re.sub(r"\{(aligned)\}", "{align*}", latex).replace(r"\mathsf T", r"\mathsf{T}")
    text: str = convert(latex)
    text = text.replace('display="inline"', 'display="inline" displaystyle="true"')
    text = text.replace('<mspace width="negativethinmathspace" />', "")
    # The name of a function is no operator: it stands close to its bracket, apart from a letter.
    text = re.sub(
        r"<mo>([A-Za-z]{2,})</mo>(?=(?:<mrow>)?<mo [^>]*>(?:&#x00028;|\())", r"<mi>\1</mi>", text
    )
    text = re.sub(r"<mo>([A-Za-z]{2,})</mo>", r'<mi>\1</mi><mspace width="0.17em" />', text)
    # Few fonts have a bar that stretches.
    return re.sub(
        r'<mover><mrow>(.*?)</mrow><mo accent="true">&#x02015;</mo></mover>',
        r'<mrow style="border-top: 0.07em solid; padding-top: 0.1em">\1</mrow>',
        text,
    )
