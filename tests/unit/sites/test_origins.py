"""Hosts by recorded address."""

from __future__ import annotations

from pathlib import Path

from sites.archive import Response, write_archive
from sites.origins import address_groups
from sites.warc import About


def test_hosts_share_an_address_as_recorded(tmp_path: Path) -> None:
    def recorded(url: str, ip: str | None) -> Response:
        return Response(url, 200, (), b"x", ip=ip)

    archive = write_archive(
        tmp_path,
        "site",
        About("https://site.example/", "test", "test", ()),
        [
            recorded("https://site.example/", "192.0.2.1"),
            recorded("https://a.cdn.example/", "192.0.2.2"),
            recorded("https://unknown.example/", None),
            recorded("https://img.site.example/", "192.0.2.1"),
            recorded("https://a.cdn.example/1", "192.0.2.9"),
            recorded("https://a.cdn.example/2", "192.0.2.9"),
            recorded("https://b.cdn.example/", "192.0.2.9"),
            recorded("https://also-unknown.example/", None),
        ],
    )
    assert address_groups(archive) == (
        ("site.example", "img.site.example"),
        ("a.cdn.example", "b.cdn.example"),
        ("unknown.example",),
        ("also-unknown.example",),
    )
