"""A certificate authority per run, a certificate per host, and the browser's trust in them.

Unless a study asks for more, a host has one small certificate (ECDSA P-256, some 500 bytes, without the transparency
proofs of public ones), signed by the root itself, which is not sent. With a chain of certificates, issuers stand in
between (`sites.issuers`), and all below the root have keys of the kind that the study names.

Names that no archive knows, which a page's scripts may put together, share a substitute: a certificate of the same kind
with a key of its own, which the browsers are told to take for any name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding

from harness.model.settings import ONE_CERTIFICATE, CertificateChain
from harness.system.command import Command
from harness.system.program import run
from sites.issuers import Issuer
from sites.urls import is_local

NAME = "coldload test authority"
SUBSTITUTE_NAME = "unknown.coldload.invalid"


@dataclass(frozen=True)
class Substitute:
    """The certificate that is sent for names without one, its key, and by what a browser knows that key."""

    certificate_file: Path
    key_file: Path
    pin: str


@dataclass(frozen=True)
class Authority:
    """A private CA; `certificate_file` is its own certificate. All hosts of a kind of chain share one key."""

    certificate_file: Path
    _root: Issuer
    _issuers: dict[CertificateChain, Issuer] = field(default_factory=dict)
    _substitutes: dict[CertificateChain, Substitute] = field(default_factory=dict)

    @classmethod
    def create(cls, folder: Path, *, now: datetime | None = None) -> Authority:
        """Make an authority; its files lie in `folder`, its own key only in memory."""
        folder.mkdir(parents=True, exist_ok=True)
        made = cls(
            folder / "authority.pem", Issuer.root(NAME, folder / "hosts.key", now or datetime.now(UTC))
        )
        made.certificate_file.write_bytes(made._root.certificate.public_bytes(Encoding.PEM))
        return made

    @property
    def key_file(self) -> Path:
        """The key of all hosts that have one certificate."""
        return self._root.key_file

    def issuer(self, chain: CertificateChain) -> Issuer:
        """What signs certificates that are sent with such a chain; made once."""
        if chain == ONE_CERTIFICATE:
            return self._root
        if chain not in self._issuers:
            key_file = self.key_file.with_name(f"hosts-{chain.length}-{chain.key}.key")
            self._issuers[chain] = self._root.below(chain, key_file)
        return self._issuers[chain]

    def substitute(self, chain: CertificateChain = ONE_CERTIFICATE) -> Substitute:
        """What is sent for names without a certificate, with such a chain; made once."""
        if chain not in self._substitutes:
            file = self.certificate_file.with_name(f"unknown-{chain.length}-{chain.key}.pem")
            issuer = self.issuer(chain).with_new_key(chain.key, file.with_suffix(".key"))
            file.write_bytes(issuer.certificate_for(SUBSTITUTE_NAME) + issuer.chain)
            self._substitutes[chain] = Substitute(file, issuer.key_file, issuer.pin)
        return self._substitutes[chain]

    def certificate_for(self, host: str, *others: str) -> bytes:
        """The one certificate of a host (a name, international or not, or an IP address) and others, in PEM."""
        return self._root.certificate_for(host, *others)

    def certificate_files(
        self, hosts: Collection[str], folder: Path, chain: CertificateChain = ONE_CERTIFICATE
    ) -> dict[str, Path]:
        """A file with what is sent for each host, by host, in a new folder within `folder`.

        Local hosts share one: a browser names no IP address in its handshake, and so the server does not know which.
        """
        issuer = self.issuer(chain)
        made = folder / "certificates"
        made.mkdir()
        files = {host: made / f"{number}.pem" for number, host in enumerate(hosts) if not is_local(host)}
        for host, file in files.items():
            file.write_bytes(issuer.certificate_for(host) + issuer.chain)
        local = {host: made / "local.pem" for host in hosts if is_local(host)}
        if local:
            next(iter(local.values())).write_bytes(issuer.certificate_for(*local) + issuer.chain)
        return {**local, **files}


def trust_database(authority: Authority, folder: Path) -> Path:
    """Make `folder` an NSS database that trusts `authority`: what Chromium reads in $HOME/.pki/nssdb."""
    folder.mkdir(parents=True, exist_ok=True)
    database = f"sql:{folder}"
    run(Command.of("certutil", "-d", database, "-N", "--empty-password"), timeout_s=30)
    run(
        Command.of(
            "certutil", "-d", database, "-A", "-t", "C,,", "-n", NAME, "-i", authority.certificate_file
        ),
        timeout_s=30,
    )
    return folder
