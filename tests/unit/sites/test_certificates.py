"""Certificates that a strict client accepts, small and quickly made."""

from __future__ import annotations

import base64
import hashlib
import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from harness.errors import TestbedFailed
from harness.model.settings import ONE_CERTIFICATE, CertificateChain, CertificateKey
from harness.system.program import Command, run
from sites.certificates import SUBSTITUTE_NAME, Authority, sent_bytes, trust_database


def key_bits(certificate: x509.Certificate) -> int:
    key = certificate.public_key()
    assert isinstance(key, EllipticCurvePublicKey | RSAPublicKey)
    return key.key_size


def accepted(authority: Authority, folder: Path, served: str, asked: str) -> bool:
    """Whether OpenSSL, asked for a host, accepts the certificate of another one."""
    certificate = folder / "host.pem"
    certificate.write_bytes(authority.issuer(ONE_CERTIFICATE).certificate_for(served))
    return shaken(authority, certificate, authority.key_file, asked)


def shaken(authority: Authority, certificate: Path, key_file: Path, asked: str) -> bool:
    """Whether OpenSSL accepts what a server of this file sends, asked for a host; a handshake in memory."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key_file)
    client_context = ssl.create_default_context(cafile=str(authority.certificate_file))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=asked)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    return True


def test_a_certificate_is_for_its_host_alone(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path)
    assert accepted(authority, tmp_path, "site.example", "site.example")
    assert not accepted(authority, tmp_path, "site.example", "other.example")
    assert accepted(authority, tmp_path, "127.0.0.1", "127.0.0.1")
    assert accepted(authority, tmp_path, "müller.example", "xn--mller-kva.example")
    assert accepted(authority, tmp_path, "a" * 60 + ".long.example", "a" * 60 + ".long.example")


@pytest.mark.thorough
@pytest.mark.parametrize("key", CertificateKey)
@pytest.mark.parametrize("length", [1, 3])
def test_a_chain_is_sent_from_the_host_up_and_accepted(
    tmp_path: Path, length: int, key: CertificateKey
) -> None:
    authority = Authority.create(tmp_path)
    chain = CertificateChain(length, key)
    issuer = authority.issuer(chain)
    assert authority.issuer(chain) is issuer
    (file,) = authority.certificate_files(["site.example"], tmp_path, chain).values()
    sent = x509.load_pem_x509_certificates(file.read_bytes())
    assert len(sent) == length
    assert [each.issuer for each in sent[:-1]] == [each.subject for each in sent[1:]]
    assert {key_bits(each) for each in sent} == {key.bits}
    assert sent_bytes(file.read_bytes()) == sum(len(each.public_bytes(Encoding.DER)) for each in sent)
    assert shaken(authority, file, issuer.key_file, "site.example")


@pytest.mark.thorough
def test_a_longer_chain_and_larger_keys_are_more_bytes(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path)
    sizes = [
        len(issuer.certificate_for("site.example") + issuer.chain)
        for issuer in map(
            authority.issuer,
            (
                ONE_CERTIFICATE,
                CertificateChain(2),
                CertificateChain(2, CertificateKey.RSA_2048),
                CertificateChain(5, CertificateKey.RSA_2048),
            ),
        )
    ]
    assert sizes == sorted(set(sizes))


def test_names_without_a_certificate_share_one_of_the_same_size_with_another_key(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path / "authority")
    for chain in (ONE_CERTIFICATE, CertificateChain(2)):
        made = authority.substitute(chain)
        assert authority.substitute(chain) is made
        (own,) = authority.certificate_files(["a.site.example"], _new(tmp_path, chain), chain).values()
        assert abs(sent_bytes(made.certificate_file.read_bytes()) - sent_bytes(own.read_bytes())) < 40
        assert shaken(authority, made.certificate_file, made.key_file, SUBSTITUTE_NAME)
        assert not shaken(authority, made.certificate_file, made.key_file, "a.site.example")
        key = x509.load_pem_x509_certificates(made.certificate_file.read_bytes())[0].public_key()
        info = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        assert base64.b64decode(made.pin) == hashlib.sha256(info).digest()
        assert made.pin != authority.issuer(chain).pin


def _new(folder: Path, chain: CertificateChain) -> Path:
    made = folder / str(chain.length)
    made.mkdir()
    return made


def test_another_authority_is_not_trusted(tmp_path: Path) -> None:
    first, second = Authority.create(tmp_path / "1"), Authority.create(tmp_path / "2")
    (tmp_path / "mixed.pem").write_bytes(second.certificate_file.read_bytes())
    mixed = replace(first, certificate_file=tmp_path / "mixed.pem")
    assert not accepted(mixed, tmp_path, "site.example", "site.example")


def test_certificates_are_small_short_lived_and_differ(tmp_path: Path) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    authority = Authority.create(tmp_path, now=now)
    first, second = (
        x509.load_pem_x509_certificate(authority.issuer(ONE_CERTIFICATE).certificate_for("site.example"))
        for _ in range(2)
    )
    assert 350 <= len(first.public_bytes(Encoding.DER)) <= 600
    assert first.serial_number != second.serial_number
    assert first.not_valid_before_utc < now < first.not_valid_after_utc
    assert first.not_valid_after_utc - first.not_valid_before_utc < timedelta(days=398)


def test_the_key_is_for_its_owner_only(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path)
    assert authority.key_file.stat().st_mode & 0o077 == 0
    assert load_pem_private_key(authority.key_file.read_bytes(), None)


def test_addresses_are_named_as_addresses(tmp_path: Path) -> None:
    made = x509.load_pem_x509_certificate(
        Authority.create(tmp_path).issuer(ONE_CERTIFICATE).certificate_for("[2001:db8::1]")
    )
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("2001:db8::1")]


def test_what_is_no_host_gets_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(TestbedFailed, match="no host name"):
        Authority.create(tmp_path).issuer(ONE_CERTIFICATE).certificate_for("not a host")


def test_the_browsers_database_trusts_the_authority(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path / "authority")
    folder = trust_database(authority, tmp_path / "home" / ".pki" / "nssdb")
    assert {path.name for path in folder.iterdir()} == {"cert9.db", "key4.db", "pkcs11.txt"}
    certificate = tmp_path / "host.pem"
    certificate.write_bytes(authority.issuer(ONE_CERTIFICATE).certificate_for("site.example"))
    database = f"sql:{folder}"
    run(Command.of("certutil", "-d", database, "-A", "-t", ",,", "-n", "host", "-i", certificate))
    assert "certificate is valid" in run(
        Command.of("certutil", "-d", database, "-V", "-u", "V", "-n", "host")
    )
