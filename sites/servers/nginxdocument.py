"""A site's document as nginx answers it by itself, without the script that finds all other answers. Pure.

Finding an answer in Lua costs several times what nginx spends on sending it. In a closed loop, where one URL is asked
for without a pause, that cost would be what is measured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sites.materialise import Site
from sites.servers.closestfiles import file_name
from sites.urls import parse_url

EARLY_REQUESTS = (
    8  # of a connection, that are logged in a closed loop: enough to see how deep it is pipelined
)
# What stands for itself in nginx.conf, and in a path what nginx takes as it is.
_PLAIN_PATH = re.compile(r"/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*)?")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9-]+")
_PLAIN_VALUE = re.compile(r"[\x20-\x7e]*")  # quoted, all but what begins a variable
_TYPE = re.compile(r"(?P<mime>[a-z0-9/_.+-]+)(?:; charset=(?P<charset>[A-Za-z0-9_-]+))?")


@dataclass(frozen=True)
class NativeAnswer:
    """One response as directives of nginx: the path, the file of the body, the type, and the other headers."""

    host: str
    path: str
    file: str
    mime: str
    charset: str | None
    headers: tuple[tuple[str, str], ...]


def native_document(site: Site) -> NativeAnswer | None:
    """The answer to the site's start URL; None where it takes the script to give it as it was recorded."""
    url = parse_url(site.start_url)
    served = next((each for each in site.objects if each.key == (url.authority, url.target)), None)
    if served is None or served.status != 200 or served.think_ms or not _PLAIN_PATH.fullmatch(served.target):
        return None
    headers = {name.lower(): (name, value) for name, value in served.headers}
    kind = _TYPE.fullmatch(headers.pop("content-type", ("", ""))[1])
    repeated = len(headers) + 1 < len(served.headers)
    if kind is None or repeated or not all(_is_plain(name, value) for name, value in headers.values()):
        return None
    return NativeAnswer(
        host=served.host,
        path=served.target,
        file=file_name(served.host, served.target),
        mime=kind["mime"],
        charset=kind["charset"],
        headers=tuple((name, _quoted(value)) for name, value in headers.values()),
    )


def _is_plain(name: str, value: str) -> bool:
    return bool(_PLAIN_NAME.fullmatch(name) and _PLAIN_VALUE.fullmatch(value)) and "$" not in value


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
