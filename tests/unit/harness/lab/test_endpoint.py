"""What the name server of an endpoint answers."""

from __future__ import annotations

from dnsredirect.names import Zone
from harness.lab.endpoint import zone_of
from harness.model.protocol import Protocol
from sites.servers.server import Service


def test_every_name_has_the_one_address_where_there_is_one() -> None:
    assert zone_of([Service(Protocol.H2, "10.0.0.1")]) == Zone("10.0.0.1")


def test_hosts_with_an_address_of_their_own_have_it_in_dns_unless_browsers_ask_none_for_them() -> None:
    services = [
        Service(Protocol.H2, "10.0.0.1", ("mentioned.example",)),
        Service(Protocol.H2, "10.0.0.2", ("site.example", "app.localhost")),
        Service(Protocol.H2, "10.0.0.3", ("cdn.example", "192.168.1.20")),
    ]
    assert zone_of(services) == Zone("10.0.0.1", {"site.example": "10.0.0.2", "cdn.example": "10.0.0.3"})
