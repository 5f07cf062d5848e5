"""`coldload archive` with the real HTTrack, on a site of several hosts that the testbed serves."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.errors import ArchiveError, TestbedFailed
from harness.lab.testbed import testbed
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import AS_RECORDED
from harness.system.enclosure import WORKSPACE
from sites.archive import Archive, open_archive, write_archive
from sites.coding import decode
from sites.httrack import Visit, archive_with_httrack
from sites.response import Response
from sites.warc import About
from tests.system.conftest import OTHER_HOST, START_URL, Coldload, inside, small_site

pytestmark = pytest.mark.side_by_side

FAST = Link.of(1000, 0)


def crawled(origin: Archive, root: Path, url: str, protocol: Protocol, user_agent: str) -> bytes:
    """Archive `url` of a served site into `root` as `copy`; the packets HTTrack sent and got."""

    def crawl() -> bytes:
        pcap = WORKSPACE / "crawl.pcap"
        with testbed() as made:
            made.serve(origin, [protocol], AS_RECORDED)
            made.resolver.use(made.endpoint_of(origin.name, protocol).address)
            with made.client(FAST, pcap=pcap) as client:
                archive_with_httrack(
                    url,
                    root,
                    "copy",
                    Visit(WORKSPACE / "crawl", user_agent, client.host.path),
                )
        return pcap.read_bytes()

    return inside(crawl)


def bodies(archive: Archive) -> dict[str, tuple[int, bytes]]:
    """Status and decoded body by URL."""
    found = {}
    for response in archive.responses():
        coding = response.header("Content-Encoding") or ""
        found[response.url] = (response.status, decode(response.body, coding) if coding else response.body)
    return found


def test_a_page_of_several_hosts_comes_out_as_it_went_in(tmp_path: Path) -> None:
    origin = small_site(tmp_path / "origin")
    crawled(origin, tmp_path, START_URL, Protocol.HTTPS1, "desktop")
    copy = open_archive(tmp_path, "copy")
    assert copy.start_url == START_URL
    assert copy.captured_with == "httrack"
    assert set(copy.hosts) == {"site.example", OTHER_HOST}
    missing = f"https://{OTHER_HOST}/missing.png"
    found = bodies(copy)
    assert found.pop(missing, (404, b""))[0] == 404
    assert found == bodies(origin)
    types = {response.url: response.mime for response in copy.responses()}
    assert types[START_URL] == "text/html"
    assert types[f"https://{OTHER_HOST}/s.css"] == "text/css"


def test_redirects_keep_their_status_and_target(tmp_path: Path) -> None:
    moved = Response(
        url="http://old.example/", status=301, headers=(("Location", "http://new.example/home"),), body=b""
    )
    home = Response(
        url="http://new.example/home",
        status=200,
        headers=(("Content-Type", "text/html"),),
        body=b"<!doctype html><title>t</title>hello",
    )
    origin = write_archive(tmp_path / "origin", "moved", About(moved.url, "t", "", ()), [moved, home])
    crawled(origin, tmp_path, moved.url, Protocol.HTTP1, "desktop")
    copy = {response.url: response for response in open_archive(tmp_path, "copy").responses()}
    assert copy[moved.url].status == 301
    assert copy[moved.url].header("Location") == "http://new.example/home"
    assert copy[home.url].status == 200


def test_the_mobile_user_agent_is_what_the_server_sees(tmp_path: Path) -> None:
    page = Response(
        url="http://m.example/",
        status=200,
        headers=(("Content-Type", "text/html"),),
        body=b"<!doctype html><title>t</title>hello",
    )
    origin = write_archive(tmp_path / "origin", "m", About(page.url, "t", "", ()), [page])
    packets = crawled(origin, tmp_path, page.url, Protocol.HTTP1, "mobile")
    agent = open_archive(tmp_path, "copy").user_agent
    assert "Mobile" in agent
    assert f"User-Agent: {agent}".encode() in packets


def test_a_page_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    origin = small_site(tmp_path / "origin")
    with pytest.raises(ArchiveError, match="404"):
        crawled(origin, tmp_path, f"{START_URL}nothing.html", Protocol.HTTPS1, "desktop")
    assert [path.name for path in tmp_path.iterdir()] == ["origin"]


@pytest.mark.lengthy  # set-up makes them, too
def test_the_pages_that_ship_are_made_once_and_load(coldload: Coldload) -> None:
    code, out, err = coldload.run("archive", "--shipped")
    assert (code, err) == (0, "")
    assert "archiving agency" in out
    assert coldload.run("archive", "--shipped") == (0, "", "")
    agency = open_archive(coldload.folder / "archives", "agency")
    assert len(agency.hosts) >= 5
    code, out, _ = coldload.run("verify", "agency", "--protocol", "http1")
    assert code == 0
    assert out.count("core 32 of 32 (100.0 %)") == 2, out


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    origin = small_site(tmp_path)

    def taken() -> str:
        with testbed() as made:
            with made.server.entered():
                other = socket.create_server(("0.0.0.0", 80))
            with other:
                try:
                    made.serve(origin, [Protocol.HTTP1], AS_RECORDED, server="apache")
                except TestbedFailed as error:
                    return str(error)
            return "not noticed"

    said = inside(taken)
    assert "Address already in use" in said
    assert "apache2" in said
