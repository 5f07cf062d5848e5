"""What the entries of an index tell together."""

from __future__ import annotations

from sites.archiveindex import Entry, address_groups, round_trips, whole_waits


def entry(host: str, ip: str | None, connect_ms: float | None = None, wait_ms: float | None = None) -> Entry:
    return Entry(f"https://{host}/", 200, "text/html", 1, 0, 1, "0", "0", ip, wait_ms, connect_ms)


def test_a_host_is_at_the_address_that_answered_most_and_as_far_as_that() -> None:
    entries = [
        *[entry("a.example", "192.0.2.1", 80.0)] * 3,
        entry("a.example", "192.0.2.2", 3.0),
        entry("b.example", "192.0.2.1", 78.5),
        entry("c.example", None, 20.0),
        entry("d.example", "192.0.2.3"),
    ]
    assert address_groups(entries) == (("a.example", "b.example"), ("c.example",), ("d.example",))
    assert round_trips(entries) == {"a.example": 78.5, "b.example": 78.5, "c.example": 20.0}


def test_waits_of_hosts_without_a_round_trip_are_counted() -> None:
    entries = [
        entry("a.example", "192.0.2.1", 80.0, wait_ms=90.0),
        entry("b.example", "192.0.2.1", wait_ms=90.0),
        *[entry("c.example", "192.0.2.2", wait_ms=90.0)] * 2,
        entry("c.example", "192.0.2.2"),
        entry("d.example", None),
    ]
    assert whole_waits(entries) == {"c.example": 2}
