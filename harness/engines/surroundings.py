"""What a browser finds around it: the page's names and addresses, who vouches for them, and the host that it runs on.

The place of a load makes it for each trial, so an engine needs to know nothing of the testbed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

from harness.engines.hop import Security
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.system.netns import Host


class Certificate(Interface):
    """A certificate that is sent for names without one of their own; `pin` is that of its key (RFC 7469)."""

    @property
    def certificate_file(self) -> Path: ...

    @property
    def pin(self) -> str: ...


@dataclass(frozen=True)
class InnerTls:
    """TLS that ends on the client host, for what travels over the link without it."""

    security: Security
    substitute: Certificate


@dataclass(frozen=True)
class Surroundings:
    """What the browser of a trial finds around it.

    `start_url` is the page's. `hosts` are archived. `secure_origins` are http:// origins to be treated as https://
    ones. `local` and `mentioned` are the addresses of hosts that a browser asks no DNS for: archived ones, and IP
    addresses that the page only names. All other names are at `address`. `loopback_ports` are the ports of the
    browser's own loopback addresses where it would look for archived hosts. `trust` is a folder with an NSS
    database of the testbed's `authority`, whose certificate is in that file. `substitute` is sent for names without
    a certificate. `inner_tls` is for protocols that have no TLS on the link. Of a live page `trust` and `substitute`
    may be None: the authorities are those that the browser knows, and no certificate is taken without them.
    """

    client: Host
    protocol: Protocol
    replay: Replay
    start_url: str
    hosts: frozenset[str]
    secure_origins: tuple[str, ...]
    local: Mapping[str, str]
    mentioned: Mapping[str, str]
    loopback_ports: Mapping[tuple[str, int], str]
    address: str
    trust: Path | None
    authority: Path
    substitute: Certificate | None
    inner_tls: InnerTls | None
