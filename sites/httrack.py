"""Archiving a live page with the real HTTrack.

HTTrack crawls in rounds. The first takes the page and what its own parser finds, limited by type of file,
so that no <a> link leads it on into the site. Then the page is read as a browser would: what it needs and
HTTrack did not take (no telling file name, srcset, frames, redirects) is given to HTTrack by URL, until
nothing is missing.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ArchiveError
from harness.model.engine import DEFAULT_ENGINE, DESKTOP, MOBILE, Engine
from harness.system.process import running
from harness.system.program import Command
from sites.archive import TOTAL_LIMIT_BYTES, Archive, write_archive
from sites.htcache import (
    LIST_FILE,
    LOG_FILE,
    Cache,
    Cached,
    gzip_encoded,
    is_mirror,
    read_cache,
    text_gzipped,
    text_in,
    url_key,
)
from sites.requisites import missing, walk
from sites.response import Response
from sites.urls import canonical_url, resolve
from sites.visitor import NOBODY, Visitor
from sites.warc import About

USER_AGENTS: Mapping[str, str] = {device.name: device.user_agent or "" for device in (DESKTOP, MOBILE)}
LONGEST_USER_AGENT = 125  # HTTrack refuses more
LONGEST_URL = 1000  # HTTrack's buffers hold 1024
MAX_ROUNDS = 8
MAX_SECONDS = 900  # for one round
POLL_SECONDS = 0.1
FILE_TYPES = (
    *("css", "js", "mjs", "webmanifest", "woff", "woff2", "ttf", "otf"),
    *("png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "bmp"),
)

FLAGS = (
    *("-O", ".", "-%L", "urls.txt", "-q", "-I0"),  # here, these URLs, no questions, no index page
    *("-r9", "-e"),  # style sheets of style sheets; on every host
    *("-k", "-%p", "-o0", "-%u0", "-%N1"),  # all bodies kept, nothing changed or added
    "-s0",  # a browser does not read robots.txt either, and this is one page, not a site
    *("-T30", "-R0", "-H1", f"-E{MAX_SECONDS}", "-m100000000,20000000"),  # dead hosts, endless downloads
    *("-%l", "en-US,en;q=0.9", "-%a", "text/html,image/avif,image/webp,*/*;q=0.8"),  # as Chrome asks
)
# Why HTTrack 3.49 is slow: its limit of connections per second computes with a clock of whole seconds and
# lets one request through per second, whatever the number. Only 0 turns it off, and built-in limits put it
# back unless -%! is given. And when all its sockets are in use it sleeps 100 ms before every read.
UNLIMITED_FLAGS = ("-%!", "-%c0", "-A0", "-c32")
FILTERS = ("-*", *(f"+*.{kind}" for kind in FILE_TYPES))

NOTES = (
    "HTTrack keeps status, Content-Type, Last-Modified, ETag and Location; all other headers are lost, also "
    "those for caching and CORS.",
    "HTTrack keeps decoded bodies: what travelled gzip-encoded was gzip-encoded again, at level 6.",
    "URLs that scripts put together are not known to HTTrack and not in the archive.",
)

Progress = Callable[[str, int, str], None]
"""Called again and again with what fetches (HTTrack, a browser), the number of objects that it has fetched so far and
the URL of the last one ("" before the first of a round). What it raises ends HTTrack."""


@dataclass(frozen=True)
class Mirror:
    """A finished mirror. `unanswered` are URLs the page needs and nobody answered for."""

    url: str
    folder: Path
    user_agent: str
    unanswered: tuple[str, ...]


@dataclass(frozen=True)
class Visit:
    """How a live page is fetched; all that comes on the way goes into the folder `work`, new or empty.

    `user_agent` is "desktop", "mobile" (for a browser: a phone in all) or the string itself. `network` is the
    namespace file of the host to work on, `trust` an NSS database of authorities that a browser trusts there. What the
    `visitor` brings a browser takes along; HTTrack does not. `engine` is that browser, one that tells bodies as they
    travel.
    """

    work: Path
    user_agent: str = "desktop"
    network: Path | None = None
    trust: Path | None = None
    progress: Progress | None = None
    visitor: Visitor = NOBODY
    engine: Engine = DEFAULT_ENGINE


def archive_with_httrack(
    url: str, root: Path, name: str, visit: Visit, notes: tuple[str, ...] = ()
) -> Archive:
    """Mirror the page at `url` with HTTrack and store it as the archive `name`, with `notes` before HTTrack's own."""
    made = mirror(url, visit)
    unanswered = f"Needed by the page, but nobody answered: {' '.join(made.unanswered)}"
    notes += (*NOTES, unanswered) if made.unanswered else NOTES
    about = About(made.url, "httrack", made.user_agent, notes)
    return write_archive(root, name, about, responses_of(made.folder))


def mirror(url: str, visit: Visit, *, polite: bool | None = None) -> Mirror:
    """Fetch a page and what it needs; ArchiveError when there is no page.

    `polite` keeps HTTrack's limits (1 request and 100 kB per second); when not given, a namespace of ours is not
    spared and the live web is.
    """
    start, folder, network = canonical_url(url), visit.work, visit.network
    agent = _user_agent(visit.user_agent)
    if folder.exists() and any(folder.iterdir()):
        raise ArchiveError(f"cannot mirror {start} into {folder}: it is not empty; give a new folder")
    politely = network is None if polite is None else polite
    flags = (*FLAGS, *(() if politely else UNLIMITED_FLAGS), "-F", agent, *FILTERS)
    asked: Counter[str] = Counter()
    count = 0
    wanted = [start]
    for number in range(1, MAX_ROUNDS + 1):
        part = folder / f"round-{number}"
        _httrack(
            part, wanted, Command.of("httrack", *flags).on(network), _counting_from(count, visit.progress)
        )
        asked.update(wanted)
        cache = read_rounds(folder)
        count = len(cache.entries)
        had = {entry.key: entry.response for entry in cache.entries}
        _check_page(start, had, asked, part)
        absent = missing(had, start)
        again = {url for url in absent if url_key(url) in cache.lost}
        wanted = [u for u in absent if len(u) <= LONGEST_URL and asked[u] < (2 if u in again else 1)]
        if not wanted:
            break
    return Mirror(start, folder, agent, tuple(absent))


def responses_of(folder: Path) -> Iterator[Response]:
    """The responses of a mirror folder (ours, or any that HTTrack wrote), ready for an archive.

    First what the page needs, in page order and under the very URLs that it names, then the rest. What
    travelled gzip-encoded is so encoded again; of text that HTTrack says nothing about, all is.
    """
    entries = {entry.key: entry for entry in read_rounds(folder).entries}
    known = {key: each.response for key, each in entries.items()}
    start = next(iter(known.values())).url if known else ""
    needed = [response for _, response in walk(known, start) if response is not None]
    others = known.keys() - {url_key(response.url) for response in needed}
    for response in (*needed, *(response for key, response in known.items() if key in others)):
        gzipped = entries[url_key(response.url)].gzipped
        if gzipped is None:
            yield text_gzipped(response)
        else:
            yield gzip_encoded(response) if gzipped else response


def _user_agent(asked: str) -> str:
    agent = USER_AGENTS.get(asked, asked)
    if not agent.isprintable() or not agent.isascii() or not 0 < len(agent) <= LONGEST_USER_AGENT:
        raise ArchiveError(
            f"HTTrack cannot send the user agent {agent[:60]!r}; give {', '.join(USER_AGENTS)} "
            f"or at most {LONGEST_USER_AGENT} printable ASCII characters"
        )
    return agent


def _httrack(folder: Path, urls: Sequence[str], command: Command, report: Callable[[str], None]) -> None:
    """One run of HTTrack over `urls` in the new folder; ArchiveError when it fails or does not end."""
    folder.mkdir(parents=True)
    (folder / "urls.txt").write_text("".join(f"{url}\n" for url in urls))
    # Its own settings file (~/.httrackrc) must not change what is archived; its log must tell UTC.
    quiet = command.with_environment(HOME=str(folder), TZ="UTC", LC_ALL="C").dying_with_us()
    deadline = time.monotonic() + MAX_SECONDS + 60
    with running(quiet, folder / "httrack.log", cwd=folder) as process:
        while process.alive and time.monotonic() < deadline:
            report(text_in(folder / LIST_FILE))
            time.sleep(POLL_SECONDS)
        late = process.alive
        code = process.end()
    report(text_in(folder / LIST_FILE))
    log = text_in(folder / LOG_FILE)
    if late or "giving up" in log:
        raise ArchiveError(
            f"HTTrack did not finish {urls[0]} within {MAX_SECONDS} s; "
            "the page is too large or its server too slow: try again, or archive another page"
        )
    if code != 0 or not is_mirror(folder):
        raise ArchiveError(f"httrack failed on {urls[0]} with exit code {code}: {process.last_lines()}")


def _counting_from(before: int, progress: Progress | None) -> Callable[[str], None]:
    """A reporter that reads HTTrack's new.txt (one line per object, after a heading)."""

    def report(listing: str) -> None:
        lines = [line.split("\t") for line in listing.splitlines()[1:]]
        if progress is not None:
            last = lines[-1][7] if lines and len(lines[-1]) > 7 else ""
            progress("HTTrack", before + len(lines), last)

    return report


def read_rounds(folder: Path) -> Cache:
    """The caches of all rounds (or of the one mirror that `folder` is) in one, each URL as first recorded."""
    parts = [folder] if is_mirror(folder) else sorted(folder.glob("round-*")) or [folder]
    entries: dict[str, Cached] = {}
    lost: set[str] = set()
    left_bytes = TOTAL_LIMIT_BYTES
    for part in parts:
        cache = read_cache(part, left_bytes)
        left_bytes -= cache.body_bytes
        lost |= cache.lost
        for entry in cache.entries:
            entries.setdefault(entry.key, entry)
    return Cache(tuple(entries.values()), frozenset(lost - entries.keys()))


def _check_page(start: str, responses: Mapping[str, Response], asked: Container[str], part: Path) -> None:
    """ArchiveError unless the page was recorded, or a redirect to it is still to be followed."""
    page, response = start, responses.get(url_key(start))
    for _ in range(MAX_ROUNDS):
        if response is None or not 300 <= response.status < 400:
            break
        page = resolve(page, response.header("Location") or "") or page
        response = responses.get(url_key(page))
    if response is None and page not in asked:
        return
    if response is None:
        match = re.search(r'Error:\s+"(.*?)" \(-?\d+\)', text_in(part / LOG_FILE))
        said = f"no answer ({match[1]})" if match else "no answer"
    elif response.status >= 400:
        said = f"the server says {response.status} {response.reason}"
    else:
        return
    where = page if page == start else f"{page}, to which {start} leads"
    raise ArchiveError(f"HTTrack could not fetch {where}: {said}; check the address and the network")
