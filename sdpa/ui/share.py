"""The link to what is shown: to copy, to scan, to embed.

The browser knows the link, whatever proxy is before the server. What it can't know is how other
machines reach a server that a lecturer has started on their own: that is found out here.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from functools import cache

import streamlit as st

from sdpa.ui.present import PARTS

_LOADER = """
const share = import(new URL('app/static/share.js', document.baseURI))
export default function ({ parentElement, data }) {
  share.then((module) => module.build(parentElement, data))
}
"""
_COMPONENT = st.components.v2.component("sdpa.share", js=_LOADER, isolate_styles=False)


def share() -> None:
    """Offer the link to this state."""
    _COMPONENT(data={"parts": PARTS, "network": _here()}, key="share")


@cache
def _here() -> str:
    return network_host(st.get_option("server.address"))


def own_address() -> str:
    """Find the address of this machine on its network; no packet is sent.

    Raises
    ------
    OSError
        Without a network.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # of a block that is kept free for documents
        name: str = probe.getsockname()[0]
    return name


def network_host(listens: str | None, own: Callable[[], str] = own_address) -> str:
    """Name the host under which the same network reaches the server.

    Parameters
    ----------
    listens : str or None
        The server's ``server.address``; none means all addresses of the machine.
    own : callable
        Gives the address of the machine on its network.

    Returns
    -------
    str
        Empty where others cannot reach the server.

    Examples
    --------
    >>> network_host("", own=lambda: "10.0.0.7"), network_host("localhost")
    ('10.0.0.7', '')
    >>> network_host("192.168.1.5"), network_host("2001:db8::1")
    ('192.168.1.5', '[2001:db8::1]')
    """
    try:
        host = own() if listens in (None, "", "0.0.0.0", "::") else str(listens)
    except OSError:
        return ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "" if host == "localhost" else host
    if address.is_loopback:
        return ""
    return f"[{host}]" if address.version == 6 else host
