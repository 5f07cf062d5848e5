"""A certificate authority per run, a small certificate per host, and the browser's trust in them.

ECDSA P-256 throughout: the certificate of a host is then about as small as they come (some 500 bytes, without
the transparency proofs of public ones), and it is the only one sent, as the authority itself is the root.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from harness.errors import TestbedFailed
from harness.system.command import Command
from harness.system.program import run
from sites.urls import ascii_host, is_local

NAME = "coldload test authority"
VALID_BEFORE = timedelta(days=1)  # a clock may be wrong
VALID_AFTER = timedelta(days=90)  # a long run; browsers refuse more than 398 days
COMMON_NAME_LIMIT = 64


@dataclass(frozen=True)
class Authority:
    """A private CA. All host certificates share one key: `key_file`. `certificate_file` is the CA's own."""

    certificate_file: Path
    key_file: Path
    _certificate: x509.Certificate
    _key: ec.EllipticCurvePrivateKey
    _host_key: ec.EllipticCurvePrivateKey
    _now: datetime

    @classmethod
    def create(cls, folder: Path, *, now: datetime | None = None) -> Authority:
        """Make an authority; its two files lie in `folder`, its own key only in memory."""
        moment = now or datetime.now(UTC)
        key, host_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
        certificate = (
            _builder(name, name, key.public_key(), moment)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(sign_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        folder.mkdir(parents=True, exist_ok=True)
        made = cls(folder / "authority.pem", folder / "hosts.key", certificate, key, host_key, moment)
        made.certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        made.key_file.touch(mode=0o600)
        made.key_file.write_bytes(
            host_key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return made

    def certificate_for(self, host: str, *others: str) -> bytes:
        """The certificate of one host (a name, international or not, or an IP address) and others, in PEM."""
        (general, common), *further = [_names(each) for each in (host, *others)]
        names = x509.SubjectAlternativeName([general, *(each for each, _ in further)])
        attributes = (
            [x509.NameAttribute(NameOID.COMMON_NAME, common)] if len(common) <= COMMON_NAME_LIMIT else []
        )
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = (
            _builder(x509.Name(attributes), self._certificate.subject, self._host_key.public_key(), self._now)
            .add_extension(names, critical=not attributes)
            .add_extension(_key_usage(sign_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(issuer_key, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)

    def certificate_files(self, hosts: Collection[str], folder: Path) -> dict[str, Path]:
        """A file with the certificate of each host, by host, in a new folder within `folder`.

        Local hosts share one: a browser names no IP address in its handshake, and so the server does not know which.
        """
        made = folder / "certificates"
        made.mkdir()
        files = {host: made / f"{number}.pem" for number, host in enumerate(hosts) if not is_local(host)}
        for host, file in files.items():
            file.write_bytes(self.certificate_for(host))
        local = {host: made / "local.pem" for host in hosts if is_local(host)}
        if local:
            next(iter(local.values())).write_bytes(self.certificate_for(*local))
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


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID_BEFORE)
        .not_valid_after(now + VALID_AFTER)
    )


def _key_usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _names(host: str) -> tuple[x509.GeneralName, str]:
    try:
        return x509.IPAddress(ipaddress.ip_address(host.strip("[]"))), host
    except ValueError:
        name = ascii_host(host)
    if name is None:
        raise TestbedFailed(
            f"no certificate can be made for {host[:100]!r}: it is no host name; leave it out"
        )
    return x509.DNSName(name), name
