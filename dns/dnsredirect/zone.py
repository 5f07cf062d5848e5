"""What the testbed's DNS answers, as a pure value."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Zone:
    """Every name has the address `default`, but those in `names` have their own. AAAA and HTTPS: no data.

    Without a NODATA answer Chromium retries its HTTPS (type 65) query, which would cost a round trip per name.
    """

    default: str
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for address in (self.default, *self.names.values()):
            ipaddress.IPv4Address(address)

    def dnsmasq_options(self) -> tuple[str, ...]:
        """The zone in dnsmasq's own terms: a wildcard, and `local` so that other types get NODATA.

        A name is a host record, as dnsmasq's `address` would also hold for the names below it.
        """
        exact = tuple(f"--host-record={name},{address}" for name, address in sorted(self.names.items()))
        return (f"--address=/#/{self.default}", "--local=/#/", *exact)
