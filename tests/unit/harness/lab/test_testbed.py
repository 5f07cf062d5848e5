"""Addresses of clients: each given out once, those of a crowd in a network of their own."""

from __future__ import annotations

import itertools
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import StudyError
from harness.lab.testbed import MAX_CLIENTS, Addresses, AddressPool

CLIENTS = IPv4Network("10.64.0.0/10")


def test_a_client_of_its_own_gets_one_address_after_the_other() -> None:
    pool = AddressPool()
    assert [pool.take()[0] for _ in range(3)] == ["10.64.0.1", "10.64.0.2", "10.64.0.3"]
    assert pool.take().network == "10.64.0.4/32"


def test_a_crowd_gets_the_front_of_a_network() -> None:
    pool = AddressPool()
    pool.take()
    crowd = pool.take(1000)
    assert (crowd.network, len(crowd)) == ("10.64.4.0/22", 1000)
    assert [crowd[0], crowd[999]] == ["10.64.4.0", "10.64.7.231"]
    assert pool.take()[0] == "10.64.8.0"


@pytest.mark.thorough
@given(st.lists(st.integers(1, 3000), max_size=30))
def test_no_address_is_in_two_networks(counts: list[int]) -> None:
    pool = AddressPool()
    taken = [pool.take(count) for count in counts]
    for each in taken:
        network = IPv4Network(each.network)
        assert network.subnet_of(CLIENTS)
        assert all(IPv4Address(address) in network for address in each)
        assert len(set(each)) == len(each)
    for one, other in itertools.combinations(taken, 2):
        assert not IPv4Network(one.network).overlaps(IPv4Network(other.network))


@pytest.mark.parametrize("count", [0, -1, MAX_CLIENTS + 1])
def test_too_many_are_refused_in_one_line(count: int) -> None:
    with pytest.raises(StudyError, match=r"clients are asked for; it can be 1 to 65,536$"):
        AddressPool().take(count)


def test_what_is_beyond_a_crowd_is_not_of_it() -> None:
    with pytest.raises(IndexError):
        Addresses(8, 4)[4]
