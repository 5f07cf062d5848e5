"""Who signs the certificates of hosts: a root, or the last of a chain of issuers below it."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from harness.errors import TestbedFailed
from harness.model.settings import LONGEST_CHAIN, CertificateChain, CertificateKey
from sites.urls import ascii_host

VALID_BEFORE = timedelta(days=1)  # a clock may be wrong
VALID_AFTER = timedelta(days=90)  # a long run; browsers refuse more than 398 days
COMMON_NAME_LIMIT = 64
RSA_EXPONENT = 65537

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


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
        certificate = _issuing(_named(name), key, LONGEST_CHAIN - 1, now).issuer_name(_named(name))
        _write(key_file, host_key)
        return cls(certificate.sign(key, hashes.SHA256()), b"", key_file, key, host_key, now)

    def below(self, chain: CertificateChain, key_file: Path) -> Issuer:
        """The last issuer of a chain that begins below this root; the key of its hosts is written to a file."""
        last: Issuer = self
        for number in range(1, chain.length):
            name, key = _named(f"coldload test issuer {number}"), _new_key(chain.key)
            certificate = (
                _issuing(name, key, LONGEST_CHAIN - 1 - number, self._now)
                .issuer_name(last.certificate.subject)
                .add_extension(_of_issuer(last._key), critical=False)
                .sign(last._key, hashes.SHA256())
            )
            sent = certificate.public_bytes(serialization.Encoding.PEM) + last.chain
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
        form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return base64.b64encode(
            hashlib.sha256(self._host_key.public_key().public_bytes(*form)).digest()
        ).decode()

    def certificate_for(self, host: str, *others: str) -> bytes:
        """The certificate of one host (a name, international or not, or an IP address) and others, in PEM."""
        (general, common), *further = [_names(each) for each in (host, *others)]
        names = x509.SubjectAlternativeName([general, *(each for each, _ in further)])
        known = len(common) <= COMMON_NAME_LIMIT
        certificate = (
            _builder(_named(common) if known else x509.Name([]), self._host_key, self._now)
            .issuer_name(self.certificate.subject)
            .add_extension(names, critical=not known)
            .add_extension(_key_usage(sign_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_of_issuer(self._key), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)


def sent_bytes(pem: bytes) -> int:
    """How long the certificates of a file are as they travel."""
    return sum(
        len(each.public_bytes(serialization.Encoding.DER)) for each in x509.load_pem_x509_certificates(pem)
    )


def _new_key(kind: CertificateKey) -> PrivateKey:
    if kind is CertificateKey.ECDSA_P256:
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(RSA_EXPONENT, kind.bits)


def _write(file: Path, key: PrivateKey) -> None:
    file.touch(mode=0o600)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _issuing(name: x509.Name, key: PrivateKey, path_length: int, now: datetime) -> x509.CertificateBuilder:
    """The certificate of one that may sign others, so many below each other."""
    return (
        _builder(name, key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(_key_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _builder(subject: x509.Name, key: PrivateKey, now: datetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID_BEFORE)
        .not_valid_after(now + VALID_AFTER)
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _of_issuer(key: PrivateKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


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
