"""What a probe is handed of the lab: the link, the client, and where the page is served. It knows no more of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from typing import Protocol as Interface

from harness.model.link import LinkAccount
from sites.servers.servedrequest import ServedRequest


class MeasuredLink(Interface):
    """The link of one load, under way."""

    def reading(self) -> Mapping[str, Any]:
        """The counters now: packets, IP bytes, drops and lateness per direction."""

    def account(self) -> LinkAccount | None:
        """When each way was busy so far; None where nothing tells."""


class MeasuredClient(Interface):
    """The host of one load's browser."""

    @property
    def link(self) -> MeasuredLink:
        """What joins it to the server."""

    @property
    def address(self) -> str:
        """Its own, which no other load has."""


class MeasuredServer(Interface):
    """The server that answers a load."""

    @property
    def log_offset(self) -> int:
        """The present end of its log, to read from later."""

    def requests(self, since: int) -> Sequence[ServedRequest]:
        """What it has logged from that on, in the order in which it ended."""

    def cpu_seconds(self) -> float | None:
        """User and system CPU seconds of all of it since its start; None when a process has gone."""


class ServedPage(Interface):
    """Where the page of a load is served."""

    @property
    def server(self) -> MeasuredServer:
        """What answers."""

    @property
    def programs(self) -> Mapping[str, int]:
        """The main process of each program that answers a load, by name."""
