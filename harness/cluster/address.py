"""Where the scheduler is, and whether it may be trusted. Dask runs what it is sent, so that decides about much."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import UsageError
from harness.input.shown import shown

AUTHORITY, CERTIFICATE, KEY = "authority.pem", "member.pem", "member-key.pem"
FILES = (AUTHORITY, CERTIFICATE, KEY)


@dataclass(frozen=True)
class SchedulerAddress:
    """The address of a scheduler; with certificates (`tls`) or open."""

    url: str
    host: str
    tls: bool

    @classmethod
    def parse(cls, text: str) -> SchedulerAddress:
        """UsageError unless it is as in `tls://lab.example:8786` or `tcp://127.0.0.1:8786`."""
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or not port or parts.scheme not in ("tcp", "tls") or parts.path not in ("", "/"):
            raise UsageError(
                f"--on {shown(text)} is no address of a scheduler; it is as in tls://lab.example:8786, "
                "or tcp://127.0.0.1:8786"
            )
        return cls(text.rstrip("/"), host, parts.scheme == "tls")

    @property
    def is_local(self) -> bool:
        """Whether it can be reached from this machine alone."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def check(self, certificates: Path | None, *, insecure: bool) -> None:
        """UsageError for a scheduler that anybody could speak to, or speak for, unless `insecure` is wanted."""
        if self.tls and certificates is None:
            raise UsageError(
                f"{self.url} wants certificates; give --certificates DIR "
                "(`coldload cluster certificates DIR` makes them)"
            )
        if not self.tls and certificates is not None:
            raise UsageError(f"{self.url} takes no certificates; say tls:// instead of tcp://")
        if certificates is not None:
            missing = [name for name in FILES if not (certificates / name).is_file()]
            if missing:
                raise UsageError(
                    f"{certificates} lacks {', '.join(missing)}; "
                    f"`coldload cluster certificates {certificates}` makes new ones"
                )
        if not self.tls and not self.is_local and not insecure:
            raise UsageError(
                f"{self.url} is open: whoever reaches it can run programs on all its machines. Start it with "
                "certificates (`coldload cluster certificates DIR`), or say --insecure where nobody else is"
            )
