"""What the pages of the sets weigh: the table of docs/pages.md, from what `coldload verify` stored with the archives.

    python benchmarks/pagesets.py [SET ...]        default: every set

A row is one load in Chromium by HTTP/1.1, on a phone for pages that were archived as a phone: the objects it got, their
hosts, and the bytes of their bodies as they travelled. kB are 1000 bytes. The last column is how QtWebKit loaded it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from harness.model.engine import DEFAULT_ENGINE, DESKTOP, MOBILE
from harness.study.pageset import PageSet, all_sets
from harness.verify.verification import ReplayQuality, stored
from sites.archive import Archive, archives_root, open_archive
from sites.optimise.page import bare

KINDS = ("html", "css", "script", "image", "font", "other")
HEAD = ("page", "objects", "hosts", "kB", *KINDS, "core answered", "QtWebKit")


def main(names: Iterable[str]) -> None:
    wanted = tuple(names)
    for page_set in all_sets():
        if not wanted or page_set.name in wanted:
            print(f"\n@{page_set.name}: {page_set.title}\n")
            for line in table(page_set):
                print(f"| {' | '.join(line)} |")


def table(pages: PageSet) -> Iterator[tuple[str, ...]]:
    """The lines of a Markdown table."""
    yield HEAD
    yield tuple("---" for _ in HEAD)
    for name in pages.pages:
        yield row(open_archive(archives_root(), name), pages.name)


def row(archive: Archive, of_set: str) -> tuple[str, ...]:
    """One page; dashes where it is not verified."""
    reports = [report for report in stored(archive) if report.archive_digest == archive.digest]
    device = MOBILE if of_set.startswith("mobile") else DESKTOP
    loads = [report for report in reports if report.device == device.name and report.engine == DEFAULT_ENGINE]
    historical = [report for report in reports if report.engine != DEFAULT_ENGINE]
    if not loads or loads[0].answered is None:
        return (archive.name, *("-" for _ in HEAD[1:]))
    load = loads[0]
    sizes: Counter[str] = Counter()
    known = {bare(entry.url): entry for entry in archive.entries}
    got = [known[key] for url in load.answered or () if (key := bare(url)) in known]
    for entry in got:
        sizes[kind_of(entry.mime)] += entry.body_bytes
    hosts = {urlsplit(entry.url).hostname for entry in got}
    return (
        f"`{archive.name}`",
        f"{len(got)}",
        f"{len(hosts)}",
        f"{sum(sizes.values()) / 1000:,.0f}",
        *(f"{sizes[kind] / 1000:,.0f}" for kind in KINDS),
        f"{load.core_percent:.0f} %" if load.core_percent is not None else "-",
        ", ".join(map(shown, historical)) or "-",
    )


def kind_of(mime: str) -> str:
    """The kind of a media type as the HTTP Archive counts them."""
    if "javascript" in mime:
        return "script"
    for kind in ("html", "css", "image", "font"):
        if kind in mime:
            return kind
    return "other"


def shown(report: ReplayQuality) -> str:
    """How a load in the historical engine ended."""
    errors = len(report.console_errors or ())
    return f"{report.outcome}, {errors} errors" if errors else str(report.outcome)


if __name__ == "__main__":
    main(sys.argv[1:])
