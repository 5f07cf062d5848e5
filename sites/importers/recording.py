"""What every importer fills in: the responses of a recording, in its order, and the tally of what was left out.

Bodies wait in an unnamed temporary file beside the archives, which vanishes with the process. An archive is of
one page, so the limits are far above any page and far below what would fill a machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import ArchiveError, StorageFailed
from harness.input.shown import brief
from harness.model.protocol import Headers
from sites.archive import TOTAL_LIMIT_BYTES
from sites.response import BODY_LIMIT_BYTES, RecordedLoad, Response, ip_text
from sites.visitor import hidden
from sites.warc import COOKIE_HEADERS, UNDATED, clean, is_header_name

RESPONSE_LIMIT = 200_000
EXAMPLES = 10
EXAMPLE_CHARACTERS = 200
FIRST_YEAR, LAST_YEAR = 1990, 2100  # a recording of the web is from between them
NOT_MODIFIED = 304
_NO_BODY = (204, 205)
BODILESS_METHODS = frozenset({"HEAD", "OPTIONS", "CONNECT", "TRACE"})
NEED_BODY = "responses left out because their bodies are not in the recording"
ONE_PAGE = "an archive is of one page; give a recording of that page alone"
NO_NAME = "headers left out because HTTP knows no such names"
NO_LINE = "values of headers made a line of ASCII, other bytes percent-encoded"
IN_FAVOUR = "captures left out in favour of another one of the same URL"
WITHOUT_BODY = "answers 304 (not modified) left out, as they have no body"


@dataclass(frozen=True)
class Body:
    """A body in the recording's temporary file."""

    offset: int
    length: int
    sha256: str


@dataclass(frozen=True)
class Capture:
    """One response of a recording; the body of `response` is empty and stands in `body`.

    `decoded` tells that the body has been decoded since it travelled with the Content-Encoding of its headers;
    `wire_bytes` how long it was then, where the recording tells. `charset` is what the Content-Type must name, as the
    body is in another character set than recorded ("": it need not). `destination` is what the browser asked for it
    for, as Sec-Fetch-Dest has it; "" where that is not known. `cached`: the browser's cache gave it, not a server.
    `cut`: the end of the body is missing.
    """

    response: Response
    body: Body
    method: str = "GET"
    decoded: bool = False
    wire_bytes: int | None = None
    charset: str = ""
    destination: str = ""
    cached: bool = False
    cut: bool = False


@dataclass(frozen=True)
class Head:
    """A response without its body, as a recording has it: unchecked, with headers that an archive does not keep."""

    url: str
    status: int
    headers: Headers = ()
    date: datetime | None = None
    reason: str = ""
    ip: str | None = None
    wait_ms: float | None = None
    connect_ms: float | None = None
    method: str = "GET"
    destination: str = ""
    cached: bool = False


class Tally:
    """What was done or left out, how often, with the first few examples.

    Examples are shown without `secrets`. They are hidden before an example is clipped: part of a secret is not found.
    """

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        self._secrets = secrets
        self._counts: Counter[str] = Counter()
        self._examples: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def add(self, what: str, example: str = "", count: int = 1) -> None:
        self._counts[what] += count
        if example and len(self._examples[what]) < EXAMPLES:
            self._examples[what][brief(hidden(example, self._secrets), EXAMPLE_CHARACTERS)] = None

    def count(self, what: str) -> int:
        """How often that was done or left out."""
        return self._counts[what]

    def notes(self) -> tuple[str, ...]:
        """One line for each kind, in the order of first mention."""
        return tuple(
            f"{what}: {count}" + (f" ({' '.join(self._examples[what])})" if self._examples[what] else "")
            for what, count in self._counts.items()
            if count
        )


class Recording:
    """The responses of a recording as an importer finds them; a context manager that closes the temporary file.

    `pages` are URLs that the recording itself names as its pages, the main one first; `source` says what made it,
    `remarks` are the importer's own notes. `loads` are those of pages whose times it tells, by the URL.
    `asked_for_coding`: some request offered to take gzip, so that a body without it travelled without. The tally shows
    no `secrets`.
    """

    def __init__(self, folder: Path, secrets: tuple[str, ...] = ()) -> None:
        self.captures: list[Capture] = []
        self.tally = Tally(secrets)
        self.pages: list[str] = []
        self.loads: dict[str, RecordedLoad] = {}
        self.remarks: list[str] = []
        self.user_agents: Counter[str] = Counter()
        self.source = ""
        self.asked_for_coding = False
        self._folder = _existing(folder)
        self._file = tempfile.TemporaryFile(dir=self._folder, prefix=".coldload-")  # noqa: SIM115
        self._size = 0
        self._known: dict[str, Body] = {}

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # what could not be written is not missed any more
            self._file.close()

    def keep(self, body: bytes) -> Body:
        """Put a body aside, equal ones once; ArchiveError when the recording is larger than a page can be.

        StorageFailed when it cannot be written.
        """
        digest = hashlib.sha256(body).hexdigest()
        if digest not in self._known:
            if self._size + len(body) > TOTAL_LIMIT_BYTES:
                raise ArchiveError(
                    f"it holds more than {TOTAL_LIMIT_BYTES / 1e9:g} GB of bodies, and {ONE_PAGE}"
                )
            try:
                self._file.seek(self._size)
                self._file.write(body)
                self._file.flush()
            except OSError as error:
                raise StorageFailed(
                    f"cannot put the bodies of the recording aside in {self._folder}: {error.strerror or error}; make "
                    "room, or see `ulimit -f`; nothing was changed"
                ) from error
            self._known[digest] = Body(self._size, len(body), digest)
            self._size += len(body)
        return self._known[digest]

    def body(self, kept: Body) -> bytes:
        """A body that was kept."""
        self._file.seek(kept.offset)
        return self._file.read(kept.length)

    def too_large(self, url: str, size: int) -> bool:
        """Whether a body of that size is left out; if so it is counted."""
        if size > BODY_LIMIT_BYTES:
            self.tally.add(f"responses left out because they are over {BODY_LIMIT_BYTES / 1e6:g} MB", url)
        return size > BODY_LIMIT_BYTES

    def take(self, response: Response) -> None:
        """`add` of a response that is whole already, unless it is too large."""
        if not self.too_large(response.url, len(response.body)):
            head = Head(
                response.url, response.status, response.headers, date=response.date, reason=response.reason
            )
            self.add(head, self.keep(response.body))

    def date(self, text: object, url: str) -> datetime | None:
        """A date in UTC at which a response can have been recorded; None for none, which is counted."""
        date = parse_date(text)
        if date == UNDATED:  # so our own recordings have it
            return None
        if text and (date is None or not FIRST_YEAR <= date.year < LAST_YEAR):
            self.tally.add("dates that cannot be when it was recorded, taken as not known", f"{text} {url}")
            return None
        return date

    def add(
        self,
        head: Head,
        body: Body,
        *,
        decoded: bool = False,
        wire_bytes: int | None = None,
        charset: str = "",
        cut: bool = False,
    ) -> None:
        """Take a response in, or count why not."""
        url, status = head.url, head.status
        if status == NOT_MODIFIED:
            self.tally.add(WITHOUT_BODY, url)
            return
        if not 200 <= status <= 599:
            self.tally.add("responses left out because their status is not 200 to 599", f"{status} {url}")
            return
        if not url[:8].lower().startswith(("http://", "https://")):
            self.tally.add("responses left out because they are not of http or https", url)
            return
        cookies = sum(name.lower() in COOKIE_HEADERS for name, _ in head.headers)
        given = [(name, value) for name, value in head.headers if name.lower() not in COOKIE_HEADERS]
        kept = tuple((name, clean(value)) for name, value in given if is_header_name(name))
        try:
            response = Response(
                url, status, kept, b"", head.date, head.reason, head.ip, head.wait_ms, head.connect_ms
            )
        except ArchiveError:
            self.tally.add("responses left out because their URL cannot be asked for", url)
            return
        if cookies:
            self.tally.add("headers with the recorder's cookies or credentials removed", count=cookies)
        for name, value in given:
            if not is_header_name(name):
                self.tally.add(NO_NAME, name)
            elif clean(value) != value.strip():
                self.tally.add(NO_LINE, name)
        if status in _NO_BODY and body.length:
            self.tally.add(f"bodies of answers {status} left out: they can have none", url)
            body, decoded, charset = self.keep(b""), False, ""
        if len(self.captures) >= RESPONSE_LIMIT:
            raise ArchiveError(f"it holds more than {RESPONSE_LIMIT} responses, and {ONE_PAGE}")
        self.captures.append(
            Capture(
                response,
                body,
                head.method.upper(),
                decoded,
                wire_bytes,
                charset,
                head.destination,
                head.cached,
                cut,
            )
        )


def in_time(captures: Iterable[Capture]) -> list[Capture]:
    """The captures in the order of their dates; one without a date comes after the one recorded before it."""
    known = datetime.min.replace(tzinfo=UTC)
    dated: list[tuple[datetime, Capture]] = []
    for capture in captures:
        known = capture.response.date or known
        dated.append((known, capture))
    return [capture for _, capture in sorted(dated, key=lambda each: each[0])]


def why(error: BaseException) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def parse_date(text: object) -> datetime | None:
    """An ISO 8601 date in UTC; None when it is none."""
    try:
        date = datetime.fromisoformat(str(text))
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_ip(text: object) -> str | None:
    """An IP address; None when it is none."""
    try:
        return ip_text(str(text).strip("[] "))
    except ValueError:
        return None


def parse_wait(value: object) -> float | None:
    """A time in ms; None when it is none (HAR writes -1)."""
    try:
        wait = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return wait if math.isfinite(wait) and wait >= 0 else None


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
