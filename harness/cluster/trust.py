"""Where the scheduler is, and whether it may be trusted. Dask runs what it is sent, so that decides about much.

The certificates of a cluster: an authority of its own, and one certificate for all of its members. Dask asks for a
certificate of that authority and not for a name. So whoever has the member's key belongs to the cluster, and can run
programs on all its machines. The authority's own key is not kept: nobody can make further ones.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from harness.errors import UsageError
from harness.input.shown import shown
from sites.certificates import certificate_of, issuing, key_usage, named, of_issuer, private_bytes

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


VALID_AFTER = timedelta(days=825)


def make_certificates(folder: Path) -> None:
    """Write the three files into a folder; UsageError when it has some already, which members may use."""
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise UsageError(f"{folder} has {', '.join(there)} already; choose another folder, or remove them")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    began = datetime.now(UTC)
    name = named("coldload cluster authority")
    authority = (
        issuing(name, authority_key, 0, began, VALID_AFTER)
        .issuer_name(name)
        .sign(authority_key, hashes.SHA256())
    )
    both_ways = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    member = (
        certificate_of(named("coldload cluster member"), key, began, VALID_AFTER)
        .issuer_name(authority.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs=False), critical=True)
        .add_extension(both_ways, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(of_issuer(authority_key), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    for file_name, content, mode in (
        (AUTHORITY, authority.public_bytes(Encoding.PEM), 0o644),
        (CERTIFICATE, member.public_bytes(Encoding.PEM), 0o644),
        (KEY, private_bytes(key), 0o600),
    ):
        descriptor = os.open(folder / file_name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
