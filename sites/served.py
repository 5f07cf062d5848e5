"""One recorded response as one served object: its headers, its body, and what was changed for the replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

from sites import rewrite
from sites.archive import Archive, Entry, Response
from sites.coding import KNOWN, coding_of, decode, encode, looks_coded
from sites.urls import Url, parse_url

# Hop-by-hop headers, and those that are the business of the server that replays.
SERVER_HEADERS = frozenset(
    {
        "alt-svc",
        "connection",
        "content-length",
        "date",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "server",
        "set-cookie",
        "set-cookie2",
        "status",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# Fonts, scripts' fetches and Resource Timing of other hosts need these; many recorders lost them.
OPEN_HEADERS = ("Access-Control-Allow-Origin", "Timing-Allow-Origin")
SCRIPTED_TYPES = rewrite.HTML_TYPES | rewrite.SCRIPT_TYPES
HEADER_LIMIT_CHARACTERS = 8000  # the longest that all servers take from a file or a configuration

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ServedObject:
    """One response to one request. `host` and `target` are the request's Host and request target, as sent."""

    host: str
    target: str
    status: int
    headers: Headers
    load: Callable[[], bytes] = field(repr=False, compare=False)

    @property
    def body(self) -> bytes:
        """Unchanged bodies are read from the archive each time, so that a large site needs little memory."""
        return self.load()

    @property
    def key(self) -> tuple[str, str]:
        return self.host, self.target

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query with its question mark; "" when there is none."""
        return self.target[len(self.path) :]


@dataclass
class Draft:
    """A served object in the making: integrity may still change its text.

    `text` is the decoded body with its links moved; None for a body that is served as recorded whatever
    happens. `recorded_digests` are those of the recorded text of scripts and style sheets.
    """

    url: Url
    status: int
    mime: str
    headers: Headers
    coding: str
    recorded_bytes: int
    load_recorded: Callable[[], bytes]
    text: bytes | None = None
    changed: bool = False
    recorded_digests: tuple[bytes, ...] = ()
    mentioned_hosts: tuple[str, ...] = ()

    def finish(self) -> ServedObject:
        load = self.load_recorded
        if self.changed and self.text is not None:
            load = partial(_given, encode(self.text, self.coding, self.recorded_bytes))
        return ServedObject(self.url.authority, self.url.target, self.status, self.headers, load)


def draft(url: Url, archive: Archive, entry: Entry, codings: Collection[str], changes: Counter[str]) -> Draft:
    """The draft of what `url` answers under its scheme; every kind of change is counted in `changes`.

    A body whose coding is not among `codings` is coded with gzip instead.
    """
    response = archive.read(entry)
    coding, text = _decoded(response, changes)
    recoded = bool(text and coding and coding not in codings)
    if recoded:
        changes[f"bodies coded with gzip instead of {coding}, which browsers do not take here"] += 1
        coding = "gzip"
    made = Draft(
        url=url,
        status=response.status,
        mime=response.mime,
        headers=_headers(response, coding, url.scheme, archive.hosts, changes),
        coding=coding,
        recorded_bytes=entry.body_bytes,
        load_recorded=partial(_recorded, archive, entry),
    )
    if text and rewrite.is_text(response.mime):
        _move(made, text, archive, changes)
    if recoded:
        made.text = made.text or text
        made.changed = True
    return made


def _move(made: Draft, recorded: bytes, archive: Archive, changes: Counter[str]) -> None:
    """Fill in what depends on the text."""
    scheme = made.url.scheme
    text, moved = rewrite.rewrite_links(recorded, scheme, archive.hosts)
    changes[f"links in bodies moved to {scheme}"] += moved
    if parse_url(archive.start_url).scheme != scheme and made.mime in SCRIPTED_TYPES:
        text, exchanged = rewrite.exchange_scheme_names(text)
        changes['strings "http:" and "https:" in scripts exchanged'] += exchanged
    if made.mime in rewrite.HTML_TYPES and (moved or scheme == "http"):
        text, dropped = rewrite.drop_policies(text)
        changes["Content-Security-Policy meta elements dropped"] += dropped
    made.changed = text != recorded
    made.mentioned_hosts = tuple(rewrite.mentioned_hosts(text))
    if made.mime in rewrite.SCRIPT_TYPES or made.mime == "text/css":
        made.recorded_digests = rewrite.integrity_digests(recorded)
    if made.changed or rewrite.names_digests(text):
        made.text = text


def _decoded(response: Response, changes: Counter[str]) -> tuple[str, bytes | None]:
    """The coding the body really has, and the body without it (None: it cannot be had)."""
    coding = coding_of(response.header("Content-Encoding"))
    if coding not in KNOWN:
        changes[f"bodies served as recorded because their coding {coding} is not known"] += 1
        return coding, None
    if not response.body:
        return coding, b""
    try:
        return coding, decode(response.body, coding)
    except ValueError:
        if looks_coded(response.body, coding):
            changes["bodies served as recorded because they cannot be decoded"] += 1
            return coding, None
    changes["Content-Encoding headers dropped because the recorded body is not so coded"] += 1
    return "", response.body


def _headers(
    response: Response, coding: str, scheme: str, hosts: tuple[str, ...], changes: Counter[str]
) -> Headers:
    headers: list[tuple[str, str]] = []
    for name, value in response.headers:
        lower = name.lower()
        if lower in SERVER_HEADERS or lower == "content-encoding":
            continue
        if lower in rewrite.POLICY_HEADERS:
            changes[f"{lower} headers dropped"] += 1
            continue
        kept = rewrite.rewrite_value(value, scheme, hosts) if lower in rewrite.LINK_HEADERS else value
        changes[f"headers with links moved to {scheme}"] += kept != value
        if len(name) + len(kept) > HEADER_LIMIT_CHARACTERS:
            changes[f"headers longer than {HEADER_LIMIT_CHARACTERS} characters dropped"] += 1
            continue
        headers.append((name, kept))
    if coding:
        headers.append(("Content-Encoding", coding))
    recorded = {name.lower() for name, _ in headers}
    for name in OPEN_HEADERS:
        if name.lower() not in recorded:
            headers.append((name, "*"))
            changes[f"{name} headers added"] += 1
    return tuple(headers)


def _recorded(archive: Archive, entry: Entry) -> bytes:
    return archive.read(entry).body


def _given(body: bytes) -> bytes:
    return body
