"""Which schedulers are taken."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from harness.cluster.trust import AUTHORITY, CERTIFICATE, KEY, SchedulerAddress, make_certificates
from harness.errors import UsageError


@pytest.mark.parametrize(
    "text",
    ["lab", "tcp://lab", "http://lab:8786", "tcp://lab:x", "tcp://:8786", "tcp://lab:1/x", "tcp://[::1"],
)
def test_what_is_no_address_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="is no address of a scheduler"):
        SchedulerAddress.parse(text)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "[::1]"])
def test_a_scheduler_of_this_machine_may_be_open(host: str) -> None:
    SchedulerAddress.parse(f"tcp://{host}:8786").check(None, insecure=False)


def test_an_open_scheduler_that_others_reach_has_to_be_wanted() -> None:
    address = SchedulerAddress.parse("tcp://10.0.0.7:8786")
    with pytest.raises(UsageError, match="say --insecure"):
        address.check(None, insecure=False)
    address.check(None, insecure=True)


def test_certificates_are_wanted_where_they_are_used_and_there(tmp_path: Path) -> None:
    address = SchedulerAddress.parse("tls://lab.example:8786/")
    assert address.url == "tls://lab.example:8786"
    with pytest.raises(UsageError, match="give --certificates DIR"):
        address.check(None, insecure=True)
    with pytest.raises(UsageError, match=r"lacks authority\.pem, member\.pem, member-key\.pem"):
        address.check(tmp_path, insecure=False)
    make_certificates(tmp_path / "new")
    address.check(tmp_path / "new", insecure=False)
    with pytest.raises(UsageError, match="say tls://"):
        SchedulerAddress.parse("tcp://127.0.0.1:8786").check(tmp_path / "new", insecure=False)


def test_both_ends_know_each_other_by_the_certificates_and_nobody_else_is_let_in(tmp_path: Path) -> None:
    make_certificates(tmp_path / "ours")
    make_certificates(tmp_path / "others")
    assert shaken_hands(tmp_path / "ours", tmp_path / "ours")
    for one, other in (("ours", "others"), ("others", "ours")):
        with pytest.raises(ssl.SSLError):
            shaken_hands(tmp_path / one, tmp_path / other)


def test_certificates_are_not_replaced_and_their_key_is_private(tmp_path: Path) -> None:
    make_certificates(tmp_path / "ours")
    assert (tmp_path / "ours" / KEY).stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="already"):
        make_certificates(tmp_path / "ours")


def context(folder: Path, purpose: ssl.Purpose) -> ssl.SSLContext:
    """As Dask makes it: a certificate of the authority is asked for, and no name."""
    made = ssl.create_default_context(purpose, cafile=str(folder / AUTHORITY))
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    return made


def shaken_hands(server: Path, client: Path) -> bool:
    """A handshake in memory; ssl.SSLError when one refuses the other."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        context(server, ssl.Purpose.CLIENT_AUTH).wrap_bio(to_server, to_client, server_side=True),
        context(client, ssl.Purpose.SERVER_AUTH).wrap_bio(to_client, to_server),
    ]
    done: set[int] = set()
    for _ in range(10):
        for number, end in enumerate(ends):
            try:
                end.do_handshake()
                done.add(number)
            except ssl.SSLWantReadError:
                pass
    return len(done) == len(ends)
