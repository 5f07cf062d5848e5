"""One recorded response as one served object: its headers, its body, and what was changed for the replay."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial

from harness.errors import ArchiveError
from harness.model.condition import CODINGS, Compression
from harness.model.protocol import Headers
from harness.model.settings import ThinkTime
from sites import rewrite
from sites.archive import Archive
from sites.archiveindex import Entry
from sites.charset import charset_of
from sites.coding import KNOWN, TooLargeError, coding_of, decode, encode, is_coded, level_of
from sites.mediatype import HTML_TYPES, SCRIPT_TYPES, compressible, is_text, sniffed_type, words
from sites.response import PARTIAL, Response, WithHeaders, header_of
from sites.urls import Url, parse_url

# Hop-by-hop headers, and those that are the business of the server that replays.
SERVER_HEADERS = words(
    "alt-svc connection content-length date http2-settings keep-alive proxy-authenticate proxy-connection server "
    "set-cookie set-cookie2 status te trailer transfer-encoding upgrade"
)
# Fonts, scripts' fetches and Resource Timing of other hosts need these; many recorders lost them.
OPEN_HEADERS = ("Access-Control-Allow-Origin", "Timing-Allow-Origin")
# Over https the testbed has no server of plain http, and a script may put a link to one together, which no rewriting
# finds. Of a page that was recorded over http, or with this policy, the browser shall take it for https, before its
# rules for mixed content.
UPGRADE_HEADER = ("Content-Security-Policy", rewrite.UPGRADE)
SCRIPTED_TYPES = HTML_TYPES | SCRIPT_TYPES
# What a browser asks with whether a response that it has kept still holds; by its ETag, where it has one.
VALIDATORS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
# A browser that uses no proxy takes the question of one for an error of the connection, and the load is then no proof.
PROXY_QUESTION, FORBIDDEN = 407, 403
# A stream that had no end when it was recorded ends as soon as it is served, and a browser then asks for it again every
# few seconds. A line of the stream says in how many ms it does: in a day. The last such line counts.
EVENT_STREAM, LATER = "text/event-stream", b"retry: 86400000\n"
HEADER_LIMIT_CHARACTERS = 8000  # the longest that all servers take from a file or a configuration
TEXTS_LIMIT_BYTES = 1_000_000_000  # of one site; they are in memory together
# Beside these words of Cache-Control or Pragma no browser looks at Expires.
CACHE_HEADERS = words("cache-control pragma")
WITHOUT_EXPIRES = re.compile(r"(?i)(?<![\w-])(?:max-age|no-cache|no-store)(?![\w-])")
LONGEST_S = 2**31 - 1  # that all browsers take (RFC 9111, 1.2.2)
# What Caddy does not compress as it sends, and other servers do.
NO_TRANSFORM = re.compile(r"(?i)(?<![\w-])no-transform(?![\w-])")
# Compression with a dictionary that the browser got before (RFC 9842).
DICTIONARY_CODINGS = words("dcb dcz")


@dataclass(frozen=True)
class ServedObject(WithHeaders):
    """One response to one request. `host` and `target` are the request's Host and request target, as sent.

    `think_ms` is how long the server waits before it answers.
    """

    host: str
    target: str
    status: int
    headers: Headers
    load: Callable[[], bytes] = field(repr=False, compare=False)
    think_ms: float = 0.0

    @property
    def body(self) -> bytes:
        """Unchanged bodies are read from the archive each time, so that a large site needs little memory."""
        return self.load()

    @property
    def key(self) -> tuple[str, str]:
        return self.host, self.target

    @property
    def validator(self) -> tuple[str, str] | None:
        """The header, with its value, by which a browser that has kept this response asks whether it still holds (RFC
        9110, 13.1); None: it cannot ask.
        """
        said = {name.lower(): value for name, value in self.headers}
        validators = ((asks, said[name]) for name, asks in VALIDATORS.items() if said.get(name))
        return next(validators, None) if self.status == 200 else None

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query with its question mark; "" when there is none."""
        return self.target[len(self.path) :]


@dataclass
class Memory:
    """What the decoded texts of a site's drafts may still take. A small archive can hold very large ones."""

    left_bytes: int = TEXTS_LIMIT_BYTES

    def take(self, text: bytes) -> None:
        self.left_bytes -= len(text)
        if self.left_bytes < 0:
            raise ArchiveError(
                f"the archive holds more than {TEXTS_LIMIT_BYTES / 1e9:g} GB of texts, decoded, that a replay changes; "
                "an archive is of one page: make one of that page alone"
            )


@dataclass(frozen=True)
class Treatment:
    """What becomes of every response of one site.

    `codings` are the content codings that all browsers compared take. `script`, the determinism script, is put
    first in every document; None: in none. `round_trips_ms` are those of the recording, by host.
    """

    archive: Archive
    scheme: str
    codings: Collection[str]
    compression: Compression
    script: str | None
    think_time: ThinkTime
    round_trips_ms: Mapping[str, float]
    memory: Memory = field(default_factory=Memory)

    @property
    def other_scheme(self) -> bool:
        """Whether the page was recorded under another scheme than it is served by."""
        return parse_url(self.archive.start_url).scheme != self.scheme

    def coding(self, mime: str, recorded: str, *, beforehand: bool = False) -> tuple[str, int | None]:
        """The content coding and level of a body, from its type and the coding it was recorded with.

        None, if the server is to code it as it sends it; never with `beforehand`.
        """
        if self.compression.kind == "none":
            return "", None
        if self.compression.level is not None and compressible(mime):
            here = beforehand or not self.compression.dynamic
            return (CODINGS[self.compression.kind], self.compression.level) if here else ("", None)
        return ("gzip" if recorded and recorded not in self.codings else recorded), None


@dataclass(eq=False)
class Draft:
    """A served object in the making: integrity may still change its text.

    `headers` are those recorded that are kept, `added` those of ours. `text` is the decoded body with its links
    moved; None for a body that is served as recorded whatever happens. `level` is what the study sets for
    `coding`; without one a changed text is coded at `recorded_level`, that of the recorded body (None: the usual
    one). `recorded_digests` are those of the recorded text.
    """

    url: Url
    status: int
    mime: str
    headers: Headers
    added: Headers
    coding: str
    level: int | None
    load_recorded: Callable[[], bytes]
    recorded_level: int | None = None
    think_ms: float = 0.0
    text: bytes | None = None
    changed: bool = False
    recorded_digests: tuple[bytes, ...] = ()
    mentioned_hosts: tuple[str, ...] = ()

    @property
    def links(self) -> list[str]:
        """The values of its Link headers."""
        return [value for name, value in self.headers if name.lower() == "link"]

    def settle_links(self, renewed: Mapping[bytes, bytes], served: Collection[bytes]) -> tuple[int, int]:
        """Renew the digests in its Link headers and drop those that nothing served meets: how many of both."""
        followed, dropped = 0, 0

        def settled(value: str) -> str:
            nonlocal followed, dropped
            new, renewals = rewrite.follow_digests(value.encode("latin-1", "replace"), renewed)
            kept, drops = rewrite.drop_link_integrity(new.decode("latin-1"), served)
            followed, dropped = followed + renewals, dropped + drops
            return kept

        self.headers = tuple(
            (name, settled(value) if name.lower() == "link" else value) for name, value in self.headers
        )
        return followed, dropped

    def finish(self) -> ServedObject:
        load, coding = self.load_recorded, self.coding
        if self.changed and self.text is not None:
            body = encode(self.text, coding, self.recorded_level if self.level is None else self.level)
            if self.level is not None and len(body) >= len(self.text):
                body, coding = self.text, ""  # a server would not send what compression made longer
            load = partial(_given, body)
        coded = (("Content-Encoding", coding),) if coding else ()
        headers = (*self.headers, *coded, *self.added)
        return ServedObject(self.url.authority, self.url.target, self.status, headers, load, self.think_ms)


def draft(url: Url, entry: Entry, treatment: Treatment, changes: Counter[str]) -> Draft:
    """The draft of what `url` answers under its scheme; every kind of change is counted in `changes`."""
    response = _lasting(_made_whole(treatment.archive.read(entry), changes), changes)
    if response.status == PROXY_QUESTION:
        changes["answers with status 407 (the question of a proxy, here an error) served with 403"] += 1
    recorded_coding, text = _decoded(response, changes)
    mime = response.mime or sniffed_type(text or b"")
    untouched = any(
        name.lower() == "cache-control" and NO_TRANSFORM.search(value) for name, value in response.headers
    )
    coding, level = (
        treatment.coding(mime, recorded_coding, beforehand=untouched) if text else (recorded_coding, None)
    )
    headers, added = _headers(response, treatment, changes)
    document = mime in HTML_TYPES and treatment.scheme == "https"
    if document and (treatment.other_scheme or rewrite.asks_for_https(response.headers, text or b"")):
        changes["documents told to ask for everything under https"] += 1
        added = (*added, UPGRADE_HEADER)
    round_trip_ms = treatment.round_trips_ms.get(entry.host)
    made = Draft(
        url=url,
        status=FORBIDDEN if response.status == PROXY_QUESTION else response.status,
        mime=mime,
        headers=headers,
        added=added,
        coding=coding,
        level=level,
        load_recorded=partial(_recorded, treatment.archive, entry),
        think_ms=treatment.think_time.of(entry.wait_ms, round_trip_ms),
    )
    if treatment.think_time.recorded and entry.wait_ms is None:
        changes["responses without a recorded think time, answered at once"] += 1
    elif treatment.think_time.recorded and round_trip_ms is None:
        changes["think times that hold a round trip of the recording, which tells none of their hosts"] += 1
    if text and is_text(mime):
        _move(made, text, treatment, changes)
    elif text is not None and mime == EVENT_STREAM and made.status == 200:
        made.text, made.changed = _not_asked_again(text), True
        changes["event streams that a browser asks for once"] += 1
    if coding != recorded_coding or level is not None:
        made.text = made.text or text
        made.changed = True
        _note_coding(made, recorded_coding, treatment, changes)
    elif text and made.text is not None:
        made.recorded_level = level_of(text, coding, entry.body_bytes)
    if made.text is not None:
        treatment.memory.take(made.text)
    return made


def _made_whole(response: Response, changes: Counter[str]) -> Response:
    """The response. A part (206) that holds all is made the whole, of which a server sends what is asked for."""
    told = response.byte_range
    if told is None or not told.is_whole or told.total != len(response.body):
        if response.status == PARTIAL:
            changes["answers 206 (parts of bodies) served as recorded, whatever part is asked for"] += 1
        return response
    changes["answers 206 that hold all of a body served with status 200"] += 1
    headers = tuple(header for header in response.headers if header[0].lower() != "content-range")
    return replace(response, status=200, headers=headers)


def _lasting(response: Response, changes: Counter[str]) -> Response:
    """The response. The date until which a browser could keep it, long past, is made the seconds that it had then."""
    controls = tuple(value for name, value in response.headers if name.lower() == "cache-control")
    said = ", ".join(value for name, value in response.headers if name.lower() in CACHE_HEADERS)
    until = _date(response.header("Expires"))
    since = _date(response.header("Date"))
    if until is None or since is None or until <= since or WITHOUT_EXPIRES.search(said):
        return response
    changes["Expires headers served as max-age, counted from the date of the recording"] += 1
    max_age = f"max-age={min(int((until - since).total_seconds()), LONGEST_S)}"
    others = tuple(
        header for header in response.headers if header[0].lower() not in ("cache-control", "expires")
    )
    return replace(response, headers=(*others, ("Cache-Control", ", ".join((*controls, max_age)))))


def served_head(recorded: Response) -> tuple[int, Headers]:
    """Status and headers that a replay has of a recorded response, before links in them are moved.

    Among them are the coding that was named, as the body is read by it, and the policy that has all asked for by https.
    """
    uncounted = Counter[str]()
    response = _lasting(_made_whole(recorded, uncounted), uncounted)
    framing = any(map(rewrite.says_who_may_frame, response.headers))
    kept = (
        (name, value)
        for name, value in response.headers
        if name.lower() not in SERVER_HEADERS and not _is_policy(name.lower(), framing=framing)
    )
    upgrade = (UPGRADE_HEADER,) if rewrite.asks_for_https(response.headers, b"") else ()
    return response.status, (*kept, *upgrade)


def _is_policy(lower: str, *, framing: bool) -> bool:
    """Whether a header is left out of a replay; `framing`: another one says who may frame the document."""
    return lower in rewrite.POLICY_HEADERS or (framing and lower == "x-frame-options")


def _date(text: str | None) -> datetime | None:
    """A date as headers have it; None for none, and for what is no date."""
    try:
        date = parsedate_to_datetime(text or "")
    except (OverflowError, ValueError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _move(made: Draft, recorded: bytes, treatment: Treatment, changes: Counter[str]) -> None:
    """Fill in what depends on the text."""
    scheme = treatment.scheme
    text, moved = rewrite.rewrite_links(
        recorded, scheme, treatment.archive.hosts, prefixes=treatment.other_scheme
    )
    changes[f"links in bodies moved to {scheme}"] += moved
    if treatment.other_scheme and made.mime in SCRIPTED_TYPES:
        text, exchanged = rewrite.exchange_scheme_names(text)
        changes['strings "http:" and "https:" in scripts exchanged'] += exchanged
    if made.mime in HTML_TYPES:
        text, dropped = rewrite.drop_policies(text)
        changes["policies within documents dropped (<meta>, csp of frames)"] += dropped
    if made.mime in HTML_TYPES and treatment.script and not 300 <= made.status < 400:
        text = _pinned(made, text, treatment.script, changes)
    made.changed = text != recorded
    made.mentioned_hosts = tuple(rewrite.mentioned_hosts(text))
    made.recorded_digests = rewrite.integrity_digests(recorded)
    if made.changed or rewrite.names_digests(text):
        made.text = text


def _not_asked_again(stream: bytes) -> bytes:
    """A stream of events with the line that puts its next request off. It dispatches no other event than before."""
    return stream + (b"" if not stream or stream.endswith((b"\n", b"\r")) else b"\n") + LATER


def _pinned(made: Draft, text: bytes, script: str, changes: Counter[str]) -> bytes:
    """The document with the determinism script, and what goes with it."""
    pinned = rewrite.pin(text, script, xml=made.mime != "text/html")
    if pinned is None:
        changes["HTML bodies left without the determinism script, as they are no whole documents"] += 1
        return text
    changes[f"documents with the determinism script ({len(script)} bytes) put first"] += 1
    if pinned.charset and charset_of(header_of(made.headers, "Content-Type")) is None:
        changes[
            "character sets named in a header, as the determinism script stands before the document's own"
        ] += 1
        made.headers = tuple(
            (name, f"{value}; charset={pinned.charset}" if name.lower() == "content-type" else value)
            for name, value in made.headers
        )
    return pinned.body


def _note_coding(made: Draft, recorded: str, treatment: Treatment, changes: Counter[str]) -> None:
    if treatment.compression.kind == "recorded":
        changes[f"bodies coded with gzip instead of {recorded}, which browsers do not take here"] += 1
        return
    how = "decoded" if treatment.compression.dynamic else "coded anew"
    if treatment.compression.dynamic and made.level is not None:
        how = "coded beforehand, as they say no-transform,"
    changes[f"bodies {how} for the setting compression = {treatment.compression}"] += 1
    varies = any(
        name.lower() == "vary" and "accept-encoding" in value.lower() for name, value in made.headers
    )
    if made.coding and not varies:
        made.added = (("Vary", "Accept-Encoding"), *made.added)


def _decoded(response: Response, changes: Counter[str]) -> tuple[str, bytes | None]:
    """The coding the body really has, and the body without it (None: it cannot be had)."""
    named = (response.header("Content-Encoding") or "").strip().lower()
    coding = named if named in DICTIONARY_CODINGS else coding_of(named)
    if not coding and named not in ("", "identity"):
        changes[f"Content-Encoding headers dropped because browsers know no coding {named[:20]}"] += 1
    if coding not in KNOWN:
        why = "needs a dictionary that no replay has" if coding in DICTIONARY_CODINGS else "is not known"
        changes[f"bodies served as recorded because their coding {coding} {why}"] += 1
        return coding, None
    if not response.body:
        return coding, b""
    try:
        return coding, decode(response.body, coding)
    except TooLargeError:
        changes["bodies served as recorded because they are too large when decoded"] += 1
        return coding, None
    except ValueError:
        if is_coded(response.body, coding, cut=True):
            changes["bodies served as recorded because they cannot be decoded"] += 1
            return coding, None
    changes["Content-Encoding headers dropped because the recorded body is not so coded"] += 1
    return "", response.body


def _headers(response: Response, treatment: Treatment, changes: Counter[str]) -> tuple[Headers, Headers]:
    """The recorded headers that are kept, and those that are added."""
    scheme, hosts = treatment.scheme, treatment.archive.hosts
    headers: list[tuple[str, str]] = []
    framing = any(map(rewrite.says_who_may_frame, response.headers))
    for name, value in response.headers:
        lower = name.lower()
        if lower in SERVER_HEADERS or lower == "content-encoding":
            continue
        if _is_policy(lower, framing=framing):
            changes[f"{lower} headers dropped"] += 1
            continue
        kept = rewrite.rewrite_value(value, scheme, hosts) if lower in rewrite.LINK_HEADERS else value
        changes[f"headers with links moved to {scheme}"] += kept != value
        if len(name) + len(kept) > HEADER_LIMIT_CHARACTERS:
            changes[f"headers longer than {HEADER_LIMIT_CHARACTERS} characters dropped"] += 1
            continue
        headers.append((name, kept))
    recorded = {name.lower() for name, _ in headers}
    missing = tuple(name for name in OPEN_HEADERS if name.lower() not in recorded)
    for name in missing:
        changes[f"{name} headers added"] += 1
    return tuple(headers), tuple((name, "*") for name in missing)


def _recorded(archive: Archive, entry: Entry) -> bytes:
    return archive.read(entry).body


def _given(body: bytes) -> bytes:
    return body
