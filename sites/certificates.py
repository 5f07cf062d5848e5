"""A certificate authority per run, a certificate per host, and the browser's trust in them.

Unless a study asks for more, a host has one small certificate (ECDSA P-256, some 500 bytes, without the transparency
proofs of public ones), signed by the root itself, which is not sent. With a chain of certificates, issuers stand in
between, and all below the root have keys of the kind that the study names.

Names that no archive knows, which a page's scripts may put together, share a substitute: a certificate of the same kind
with a key of its own, which the browsers are told to take for any name.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from harness.errors import TestbedFailed
from harness.model.settings import LONGEST_CHAIN, ONE_CERTIFICATE, CertificateChain, CertificateKey
from harness.system.program import Command, run
from sites.urls import ascii_host, is_local

NAME = "coldload test authority"
SUBSTITUTE_NAME = "unknown.coldload.invalid"
VALID_BEFORE = timedelta(days=1)  # a clock may be wrong
VALID_AFTER = timedelta(days=90)  # a long run; browsers refuse more than 398 days
COMMON_NAME_LIMIT = 64
RSA_EXPONENT = 65537
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


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


@dataclass(frozen=True)
class Issuer:
    """Signs certificates of hosts, which all have the key in `key_file`; `_key` is its own.

    `chain` is what a server sends beside the host's certificate, in PEM: the issuers up to the root, without that.
    """

    certificate: x509.Certificate
    chain: bytes
    key_file: Path
    _key: PrivateKey
    _host_key: PrivateKey
    _now: datetime

    @classmethod
    def root(cls, name: str, key_file: Path, now: datetime) -> Issuer:
        """One that has signed itself; the key of its hosts is written to a file."""
        key, host_key = _new_key(CertificateKey.ECDSA_P256), _new_key(CertificateKey.ECDSA_P256)
        certificate = issuing(named(name), key, LONGEST_CHAIN - 1, now).issuer_name(named(name))
        _write(key_file, host_key)
        return cls(certificate.sign(key, hashes.SHA256()), b"", key_file, key, host_key, now)

    def below(self, chain: CertificateChain, key_file: Path) -> Issuer:
        """The last issuer of a chain that begins below this root; the key of its hosts is written to a file."""
        last: Issuer = self
        for number in range(1, chain.length):
            name, key = named(f"coldload test issuer {number}"), _new_key(chain.key)
            certificate = (
                issuing(name, key, LONGEST_CHAIN - 1 - number, self._now)
                .issuer_name(last.certificate.subject)
                .add_extension(of_issuer(last._key), critical=False)
                .sign(last._key, hashes.SHA256())
            )
            sent = certificate.public_bytes(Encoding.PEM) + last.chain
            last = Issuer(certificate, sent, key_file, key, self._host_key, self._now)
        host_key = _new_key(chain.key)
        _write(key_file, host_key)
        return Issuer(last.certificate, last.chain, key_file, last._key, host_key, self._now)

    def with_new_key(self, kind: CertificateKey, key_file: Path) -> Issuer:
        """The same one, whose hosts have another key, written to a file."""
        key = _new_key(kind)
        _write(key_file, key)
        return replace(self, key_file=key_file, _host_key=key)

    @property
    def pin(self) -> str:
        """The key of its hosts as browsers name one: the SHA-256 of its SubjectPublicKeyInfo (RFC 7469)."""
        form = (Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return base64.b64encode(
            hashlib.sha256(self._host_key.public_key().public_bytes(*form)).digest()
        ).decode()

    def certificate_for(self, host: str, *others: str) -> bytes:
        """The certificate of one host (a name, international or not, or an IP address) and others, in PEM."""
        (general, common), *further = [_names(name) for name in (host, *others)]
        names = x509.SubjectAlternativeName([general, *(each for each, _ in further)])
        known = len(common) <= COMMON_NAME_LIMIT
        certificate = (
            certificate_of(named(common) if known else x509.Name([]), self._host_key, self._now)
            .issuer_name(self.certificate.subject)
            .add_extension(names, critical=not known)
            .add_extension(key_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(of_issuer(self._key), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(Encoding.PEM)


def sent_bytes(pem: bytes) -> int:
    """How long the certificates of a file are as they travel."""
    return sum(
        len(certificate.public_bytes(Encoding.DER)) for certificate in x509.load_pem_x509_certificates(pem)
    )


def _new_key(kind: CertificateKey) -> PrivateKey:
    if kind is CertificateKey.ECDSA_P256:
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(RSA_EXPONENT, kind.bits)


def _write(file: Path, key: PrivateKey) -> None:
    file.touch(mode=0o600)
    file.write_bytes(private_bytes(key))


def private_bytes(key: PrivateKey) -> bytes:
    """A key in PEM."""
    return key.private_bytes(Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def issuing(
    name: x509.Name, key: PrivateKey, path_length: int, now: datetime, valid: timedelta = VALID_AFTER
) -> x509.CertificateBuilder:
    """The certificate of one that may sign others, so many below each other."""
    return (
        certificate_of(name, key, now, valid)
        .add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(key_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def certificate_of(
    subject: x509.Name, key: PrivateKey, now: datetime, valid: timedelta = VALID_AFTER
) -> x509.CertificateBuilder:
    """What every certificate tells, valid for so long."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID_BEFORE)
        .not_valid_after(now + valid)
    )


def named(name: str) -> x509.Name:
    """A name by which certificates know each other."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def of_issuer(key: PrivateKey) -> x509.AuthorityKeyIdentifier:
    """The key that signed a certificate."""
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def key_usage(*, signs: bool) -> x509.KeyUsage:
    """What a key is for: it signs other certificates, or handshakes."""
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
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
