"""What could be done to an archived page: its alternatives, each with what is known of it before any load."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from harness.input.shown import clipped, one_line
from harness.model.condition import CODINGS, Compression
from harness.model.engine import DEFAULT_ENGINE
from harness.model.protocol import Protocol
from harness.model.variant import FILTERS, PASSTHROUGH, SETS, parse_variant
from harness.study.advising import ONE_HOST, Alternative
from sites.archive import Archive
from sites.coding import encode
from sites.mediatype import compressible
from sites.optimise.derive import Derived, derive, derived_before
from sites.optimise.filters import REGISTRY
from sites.optimise.findings import broken_by
from sites.optimise.page import Inventory, Page, bare

BUILD, HEADER, SERVER = "a build step", "a header", "a setting of the server"
FAMILIES = {
    "hints": "a change of the page's markup",
    "caching": HEADER,
    "domains": "more host names",
}  # others take a build step
TAKES = {"hint_preload_subresources": HEADER}
REORDERS = ("move_css_to_head", "defer_javascript", "lazyload_images", "hint_preload_subresources")
EXTEND_CACHE = "extend_cache"
# No filter at all, sets that are another one of the list but for little, and what is tried on repeat views.
LEFT_OUT = (PASSTHROUGH, "core-2012", "rewrite_images", "bandwidth", EXTEND_CACHE)
CODED = {
    "gzip-6": "a setting of the server: text is compressed by gzip",
    "brotli-11": "a build step and a setting of the server: text is compressed beforehand by brotli",
}
BY_TLS = (Protocol.HTTPS1, Protocol.H2, Protocol.H3)
SET_UP = {
    Protocol.HTTP1: 1,
    Protocol.HTTPS1: 2,
    Protocol.H2: 2,
    Protocol.H3: 1,
}  # round trips of a connection
SIDE_BY_SIDE = {"http/1.1": 6}  # requests under way to a host; by other protocols MANY
MANY = 24
LONGEST_REASON = 200  # characters


@dataclass
class Possible:
    """The alternatives of a page, and by name why others are none."""

    alternatives: list[Alternative] = field(default_factory=list)
    idle: dict[str, str] = field(default_factory=dict)


def alternatives_of(
    archive: Archive, protocol: Protocol, asked: Collection[str], tell: Callable[[str], None]
) -> Possible:
    """Those of a page that a load of asks for the URLs `asked`. Variants are made to know what they change."""
    possibilities = Possible()
    page = Page.of(archive)
    original = Inventory.of(page)
    requests = original.size_of_load(original, asked).requests
    possibilities.alternatives += _protocols(protocol, requests)
    _compressions(possibilities, page, protocol, original.asked(asked))
    if len(archive.address_groups) > 1:
        possibilities.alternatives.append(_one_host(archive, protocol))
    else:
        possibilities.idle[ONE_HOST] = "the page has one host"
    _variants(possibilities, archive, original, asked, SIDE_BY_SIDE.get(protocol.wire, MANY), tell)
    return possibilities


def _protocols(usual: Protocol, requests: int) -> Iterator[Alternative]:
    def round_trips(protocol: Protocol) -> float:
        return SET_UP[protocol] + requests / SIDE_BY_SIDE.get(protocol.wire, MANY)

    for candidate in BY_TLS:
        if candidate is not usual:
            yield Alternative(
                candidate.label,
                f"the page is served by {candidate.label}",
                SERVER,
                {"protocol": candidate.value},
                fewer_round_trips=round_trips(usual) - round_trips(candidate),
            )


def _compressions(found: Possible, page: Page, protocol: Protocol, loaded: Collection[str]) -> None:
    texts = [
        each
        for url, each in page.resources.items()
        if bare(url) in loaded and each.usable and compressible(each.mime)
    ]
    for name, takes in CODED.items():
        coding = Compression.parse(name)
        if coding.kind != "gzip" and not protocol.encrypted:
            continue  # no browser takes it over plain http
        smaller = {}
        for resource in texts:
            coded = encode(resource.body, CODINGS[coding.kind], coding.level)
            smaller[resource.url] = len(resource.wire_body) - min(len(coded), len(resource.body))
        spared = sum(smaller.values())
        if spared <= 0:
            found.idle[name] = "text travels as small already"
            continue
        files = tuple(sorted((url for url in smaller if smaller[url] > 0), key=lambda url: -smaller[url]))
        found.alternatives.append(
            Alternative(
                name,
                f"text is compressed by {coding.kind}",
                takes,
                {"compression": name},
                spared,
                files=files,
            )
        )


def _one_host(archive: Archive, protocol: Protocol) -> Alternative:
    count = len(archive.address_groups)
    return Alternative(
        ONE_HOST,
        f"all is served at one address in place of {count}",
        "files of other hosts on your own server",
        {"factor": ONE_HOST},
        fewer_round_trips=1 + SET_UP[protocol],
        files=tuple(archive.hosts),
    )


def _variants(
    found: Possible,
    archive: Archive,
    original: Inventory,
    asked: Collection[str],
    side_by_side: int,
    tell: Callable[[str], None],
) -> None:
    names = [name for name in (*FILTERS, *SETS) if name not in LEFT_OUT]
    before = original.size_of_load(original, asked)
    seen: dict[str, str] = {}
    for number, name in enumerate((*names, EXTEND_CACHE), 1):
        variant = parse_variant(name)
        broken = broken_by(archive, variant, DEFAULT_ENGINE)
        if broken:
            found.idle[name] = f"it breaks the page: {broken[0].reason}"
            continue
        if derived_before(archive, variant, DEFAULT_ENGINE) is None:
            tell(f"making {name} of {archive.name} ({number} of {len(names) + 1})")
        derived = derive(archive, variant)
        if derived.report.unchanged:
            why = (reason.removeprefix(f"{name}: ") for reason in derived.report.why_unchanged)
            found.idle[name] = clipped(one_line("; ".join(why)), LONGEST_REASON)
            continue
        if derived.archive.digest in seen:
            found.idle[name] = f"it makes the same page as {seen[derived.archive.digest]}"
            continue
        seen[derived.archive.digest] = name
        after = derived.report.after.size_of_load(original, asked)
        files = changed_files(archive, derived)
        repeat_view = name == EXTEND_CACHE
        fewer = len(files) if repeat_view else before.requests - after.requests
        found.alternatives.append(
            Alternative(
                f"{name}, on a repeat view" if repeat_view else name,
                FILTERS.get(name) or _together(derived),
                TAKES.get(name)
                or (FAMILIES.get(REGISTRY[name].family, BUILD) if name in REGISTRY else BUILD),
                {"variant": variant.name},
                before.bytes - after.bytes,
                fewer / side_by_side + (name in REORDERS),
                files,
                repeat_view,
            )
        )


def _together(derived: Derived) -> str:
    """The filters of a set that change anything of the page."""
    at_work = [step.filter for step in derived.report.steps if step.changed]
    return f"{len(at_work)} filters together: {', '.join(at_work)}"


def changed_files(archive: Archive, derived: Derived) -> tuple[str, ...]:
    """The URLs that are answered otherwise, or only here, and those that are gone."""
    before, after = _answers(archive), _answers(derived.archive)
    return tuple(url for url in {**before, **after} if before.get(url) != after.get(url))


def _answers(archive: Archive) -> Mapping[str, tuple[str, str]]:
    return {entry.url: (entry.sha256, entry.head_sha256) for entry in archive.entries}
