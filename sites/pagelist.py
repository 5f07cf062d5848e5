"""Many pages to archive: the list they stand in, and archiving them several at a time."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ArchiveError, ColdloadError
from harness.input.textfile import read_file
from sites.archive import Archive, check_name, open_archive
from sites.urls import canonical_url, parse_url

MAX_BYTES = 10_000_000  # of a list: some 100,000 pages


@dataclass(frozen=True)
class Wanted:
    """A page to archive: its URL and the archive's name."""

    url: str
    name: str


@dataclass(frozen=True)
class PageResult:
    """What became of a page. Without `archive` it failed, for the reason in `said`."""

    wanted: Wanted
    archive: Archive | None
    said: str = ""


def read_list(path: Path) -> list[Wanted]:
    """One page a line: the URL and, after white space, a name; # starts a comment. ArchiveError names bad lines."""
    try:
        lines = read_file(path, MAX_BYTES).decode("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        why = "it is no text" if isinstance(error, ValueError) else getattr(error, "strerror", None) or error
        raise ArchiveError(
            f"cannot read the list {str(path)[:200]}: {why}; give a text file of URLs"
        ) from error
    wanted: dict[str, tuple[int, Wanted]] = {}
    for number, line in enumerate(lines, 1):
        # A # within a word is the URL's.
        words = re.split(r"(?:^|\s)#", line, maxsplit=1)[0].split()
        if not words:
            continue
        try:
            page = _wanted(words)
        except ArchiveError as error:
            raise ArchiveError(f"{path}, line {number}: {error}") from error
        first, same = wanted.setdefault(page.name, (number, page))
        if same.url != page.url:
            raise ArchiveError(
                f"{path}, lines {first} and {number}: both pages would be archived as {page.name}; "
                "write another name after one of the URLs"
            )
    if not wanted:
        raise ArchiveError(f"{path} names no page; write one URL per line")
    return [page for _, page in wanted.values()]


def default_name(url: str) -> str:
    """A name for the archive of a URL: the host, and for more than its home page what follows."""
    parsed = parse_url(url)
    words = re.findall(r"[A-Za-z0-9._]+(?:-+[A-Za-z0-9._]+)*", f"{parsed.host} {parsed.target}")
    return "-".join(words).strip("._")[:100]


def archive_all(
    wanted: Sequence[Wanted],
    root: Path,
    archive_one: Callable[[Wanted, Callable[[], None]], Archive],
    *,
    jobs: int,
    replace: bool = False,
) -> Iterator[PageResult]:
    """Archive each page, `jobs` at a time; yields what became of each as soon as that is known.

    A page that is archived already is not archived again unless `replace` is given, so that the same call goes on
    where an earlier one ended. `archive_one` is given the page and a function to call now and then, which
    raises when all is to stop.
    """
    stopping = threading.Event()

    def go_on() -> None:
        if stopping.is_set():
            raise ArchiveError("stopped")

    def archived(page: Wanted) -> PageResult:
        try:
            go_on()
            return PageResult(page, archive_one(page, go_on))
        except (ColdloadError, OSError) as error:
            return PageResult(page, None, str(error))

    todo = []
    for page in wanted:
        before = None if replace else _before(page, root)
        if before is None:
            todo.append(page)
        else:
            yield before
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(archived, page) for page in todo]):
                yield future.result()
        finally:
            stopping.set()


def _before(page: Wanted, root: Path) -> PageResult | None:
    """What an earlier call left of a page; None when it is still to be archived."""
    if not (root / page.name).exists():
        return None
    try:
        archive = open_archive(root, page.name)
    except ArchiveError as error:
        return PageResult(page, None, str(error))
    if archive.start_url != page.url:
        return PageResult(
            page, None, f"the name {page.name} is taken by {archive.start_url}; write another name"
        )
    return PageResult(page, archive, "archived already")


def _wanted(words: list[str]) -> Wanted:
    if len(words) > 2:
        raise ArchiveError(f"{len(words)} words; write a URL and, if you like, a name")
    url = canonical_url(words[0])
    name = words[1] if len(words) == 2 else default_name(url)
    check_name(name)
    return Wanted(url, name)
