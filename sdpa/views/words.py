"""Numbers as captions write them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import SupportsFloat

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number(value: SupportsFloat, digits: int = 3) -> str:
    """Write a number with so many significant digits, small and large ones as powers of ten.

    Examples
    --------
    >>> number(0.98168), number(0.0179802), number(4.53979e-05), number(16.0), number(31623.0)
    ('0.982', '0.0180', '4.54·10⁻⁵', '16.0', '31,600')
    """
    value = float(value)
    if not math.isfinite(value):
        return str(value).replace("inf", "∞").replace("-", "−")
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = int(exponent)
    if power < -4 or power > 6:
        text = f"{mantissa}·10{str(power).translate(_SUPERSCRIPT)}"
    elif power >= digits:
        text = f"{round(value, digits - 1 - power):,.0f}"
    else:
        text = f"{value:.{digits - 1 - power}f}"
    return text.replace("-", "−")


def weight(share: SupportsFloat) -> str:
    """Write an attention weight: 0.982, but 0.99995 where three digits would claim a 1.

    Examples
    --------
    >>> weight(0.98168), weight(0.9999546), weight(1 - 2e-9), weight(1.0), weight(4.54e-5)
    ('0.982', '0.99995', '1 − 2.0·10⁻⁹', '1', '4.54·10⁻⁵')
    """
    share = float(share)
    missing = 1 - share
    if not 0 < missing < 0.005:
        return "1" if missing == 0 else number(share)
    if missing < 1e-6:
        return f"1 − {number(missing, 2)}"
    return f"{share:.{math.ceil(-math.log10(missing))}f}"


def weights(row: Iterable[float], most: int = 4) -> str:
    """Write a row of weights, the first few of a long one.

    Examples
    --------
    >>> weights([0.98168, 0.01798, 0.00033])
    '0.982, 0.0180, 0.000330'
    """
    row = list(row)
    return ", ".join(map(weight, row[:most])) + (", …" if len(row) > most else "")


def listed(row: Iterable[float], most: int = 4, digits: int | None = None) -> str:
    """Write a row of numbers, as given or with so many digits, the first few of a long one.

    Examples
    --------
    >>> listed([8.0, 4.0, 0.0]), listed([1.0, 0.5, 0.0], digits=2)
    ('8, 4, 0', '1.0, 0.50, 0')
    """
    row = list(row)
    shown = [plain(value) if digits is None else number(value, digits) for value in row[:most]]
    return ", ".join(shown) + (", …" if len(row) > most else "")


def plain(value: float) -> str:
    """Write a given number as short as it is: 8, 0.25, 1,024.

    Examples
    --------
    >>> plain(8.0), plain(0.25), plain(-2), plain(1024)
    ('8', '0.25', '−2', '1,024')
    """
    if 0 < abs(value) < 1e-4:
        return number(value)
    return f"{value:,.10g}".replace("-", "−")


def percent(share: float) -> str:
    """Write a share in per cent, never 0 % or 100 % for what is only close to them.

    Examples
    --------
    >>> percent(0.39), percent(0.0004), percent(0.9999), percent(0.0), percent(1.0)
    ('39 %', '0.04 %', '99.99 %', '0 %', '100 %')
    """
    if share in (0, 1) or 0.01 <= share <= 0.99:
        return f"{100 * share:.0f} %"
    if share < 1e-4:
        return f"{number(100 * share, 2)} %"
    digits = max(2, math.ceil(-math.log10(1 - share) - 1e-9) - 2)
    return f"{100 * Decimal(share):.{digits}f} %"


def power_of_ten(value: float) -> str:
    """Write an exact power of ten.

    Examples
    --------
    >>> power_of_ten(1e-4), power_of_ten(0.1)
    ('10⁻⁴', '10⁻¹')
    """
    return f"10{str(round(math.log10(value))).translate(_SUPERSCRIPT)}"


def latex(value: SupportsFloat, digits: int = 3) -> str:
    r"""Write a number for a formula.

    Examples
    --------
    >>> print(latex(0.98168), latex(4.54e-5))
    0.982 4.54 \cdot 10^{-5}
    """
    return tex(number(value, digits))


def tex(text: str) -> str:
    r"""Turn a number as these functions write it into LaTeX.

    Examples
    --------
    >>> print(tex(plain(-1024)), tex(weight(1 - 2e-9)))
    -1{,}024 1 - 2.0 \cdot 10^{-9}
    """
    text = text.replace("−", "-").replace(",", "{,}")
    if "·10" in text:
        mantissa, power = text.split("·10")
        return rf"{mantissa} \cdot 10^{{{power.translate(_PLAIN)}}}"
    return text.replace("∞", r"\infty")


def fixed(value: SupportsFloat, places: int) -> str:
    """Write a number with so many places after the point, as a table's column does.

    Examples
    --------
    >>> fixed(-17.42, 1), fixed(0.004, 1), fixed(-0.004, 1), fixed(float("-inf"), 2)
    ('−17.4', '0.0', '0.0', '−∞')
    """
    value = float(value)
    if not math.isfinite(value):
        return number(value)
    return f"{round(value, places) + 0.0:.{places}f}".replace("-", "−")
