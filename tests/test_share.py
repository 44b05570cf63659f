"""How others on the network reach a server that was started on this machine."""

import ipaddress

import pytest

from sdpa.ui.share import network_host, own_address


@pytest.mark.parametrize("listens", [None, "", "0.0.0.0", "::"])
def test_a_server_that_listens_everywhere_is_reached_under_the_machine_s_address(listens):
    assert network_host(listens, own=lambda: "192.168.1.5") == "192.168.1.5"


@pytest.mark.parametrize("listens", ["127.0.0.1", "127.0.1.1", "localhost", "::1"])
def test_a_server_that_listens_on_this_machine_alone_is_not_reached(listens):
    assert network_host(listens, own=lambda: "192.168.1.5") == ""


def test_a_server_that_listens_at_one_address_is_reached_there():
    assert network_host("10.1.2.3") == "10.1.2.3"
    assert network_host("fd00::7") == "[fd00::7]"
    assert network_host("lesson.example.org") == "lesson.example.org"


def test_without_a_network_there_is_no_address():
    def own():
        raise OSError("Network is unreachable")

    assert network_host("", own=own) == ""
    assert network_host("", own=lambda: "127.0.0.1") == ""


def test_the_machine_s_own_address_is_one_or_there_is_no_network():
    try:
        address = own_address()
    except OSError:
        return
    assert ipaddress.ip_address(address)
