"""What a page asks for, in which order and by which dependency: taken from proved loads of it in the browser.

A browser's log names no initiator but an origin. So the rule is one of time, over several loads of the page:

    An object is asked for once all that has come which in every load had come before the browser asked for it.

Only things count in which a browser finds what to ask for, or for which it holds requests back: documents, style
sheets, scripts and data; no pictures, fonts and media. What merely happened to come earlier does not do so in every
load. An object always waits for the document, and a hop of a redirect for the hop before. Where the Referer names a
frame or a style sheet, the object waits for that, too: a browser reads those while they arrive.

What a browser finds while the document arrives waits here for the whole of it.

The recipes of a run are kept in its directory: all of its trials follow the same, also those of a later call.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from harness.engines.browserlog import Request
from harness.errors import MeasurementRefused, Outcome
from harness.input import jsontext
from harness.input.shown import one_line
from harness.model.condition import Condition, Served
from harness.model.link import Link
from harness.model.trials import PlannedTrial
from harness.probes.harentry import asked_ms
from harness.probes.probe import TrialOptions
from harness.probes.timeline import load_requests
from harness.system.files import write_whole
from harness.trial.trial import BrowserLab, run_observed
from sites.asked import refused
from sites.urls import DEFAULT_PORTS

DOCUMENT = -1  # as an index
# Media types and destinations of what leads a browser to no further request.
LEADS_NOWHERE = ("image", "font", "audio", "video", "track", "application/font", "application/x-font")
# What a client makes anew for each request, or what a log does not tell in full.
NOT_SENT_AGAIN = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "cookie", "authorization", "te", "upgrade"}
)
RECIPES = "recipes"
SCHEMA = 1
LOADS = 3  # so that what merely happened to come earlier in one of them is not taken for a dependency
MOST_LOADS = 6
# So long that what the browser computes between one request and the next takes no time beside it: over a quick link all
# style sheets are there before a busy browser has read to the end of its document.
LEAST_RTT_MS = 400.0


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing a page asks for: also an object that is not archived is part of the page."""

    url: str
    """URL"""
    method: str
    """method of the request"""
    headers: dict[str, str]
    """headers of the request"""
    status: int
    """what the server answered in the browser"""
    after: tuple[int, ...]
    """numbers of the objects that it waits for, from 0; -1 is the document"""


@dataclass(frozen=True)
class PageRecipe:
    """The document, and the objects in the order in which the browser asked for them.

    `left_out` counts what not every load asked for.
    """

    document: Item
    objects: tuple[Item, ...]
    left_out: int = 0

    @property
    def requests(self) -> int:
        return 1 + len(self.objects)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every host that is asked, in the order of the page."""
        return tuple(
            dict.fromkeys(
                urlsplit(resource.url).hostname or "" for resource in (self.document, *self.objects)
            )
        )

    @property
    def origins(self) -> tuple[tuple[str, int], ...]:
        """Every host and port that is asked, in the order of the page. Each has connections of its own."""
        return tuple(
            dict.fromkeys(_host_and_port(resource.url) for resource in (self.document, *self.objects))
        )

    def to_json(self) -> dict[str, Any]:
        """The page as the generator takes it."""
        return {
            "document": self.document.url,
            "headers": self.document.headers,
            "status": self.document.status,
            "objects": msgspec.to_builtins(self.objects),
        }


def recipe_of(loads: Sequence[Sequence[Request]]) -> PageRecipe:
    """The recipe of a page from what it asked for in each of its proved loads (`Evidence.load_requests`)."""
    seen = [_answered(load) for load in loads]
    if not seen or not all(seen):
        raise MeasurementRefused("the page's load in the browser left no request that was answered")
    named = [_named(load) for load in seen]
    common = set.intersection(*(set(load) for load in named))
    names = [name for name in named[0] if name in common]
    requests = [[load[name] for name in names] for load in named]
    waits = [_waits(load) for load in requests]
    after = [set.intersection(*(load[number] for load in waits)) for number in range(len(names))]
    items = [_item(request, _needed(after[number], after)) for number, request in enumerate(requests[0])]
    return PageRecipe(
        document=items[0],
        objects=tuple(items[1:]),
        left_out=sum(len(load) - len(names) for load in named),
    )


def _answered(load: Iterable[Request]) -> list[Request]:
    """What was sent and answered, in the order asked for; the document, or its first hop, stands first.

    Without what a server refuses: a generator cannot even ask for it.
    """
    sent = [request for request in load if request.protocol is not None and request.status is not None]
    asked = [request for request in sent if not refused(request.address)]
    return sorted(asked, key=lambda each: (not each.main_frame, asked_ms(each), each.started_ms))


def _named(load: Iterable[Request]) -> dict[tuple[str, str, int], Request]:
    """Each request by what makes it the same in another load: method, URL, and which one of those it was."""
    counts: Counter[tuple[str, str]] = Counter()
    requests = {}
    for request in load:
        key = request.method, request.url.partition("#")[0]
        requests[(*key, counts[key])] = request
        counts[key] += 1
    return requests


def _waits(load: Sequence[Request]) -> list[set[int]]:
    """For each request the numbers of those it had to wait for, in this load; 0 is the document."""
    leading = [number for number, each in enumerate(load) if _leads_on(each)]
    last_hop = max(number for number, each in enumerate(load) if each.chain == load[0].chain)
    dependencies: list[set[int]] = [set()]
    for number, each in enumerate(load[1:], start=1):
        earlier = [other for other in leading if other < number]
        waits = {other for other in earlier if _ended_ms(load[other]) <= asked_ms(each)}
        waits |= {other for other in range(number) if load[other].chain == each.chain}
        waits |= {0} if number <= last_hop else {0, last_hop}
        waits |= _named_by_referer(each, load, earlier, waits)
        dependencies.append(waits)
    return _closed(dependencies)


def _named_by_referer(
    request: Request, load: Sequence[Request], earlier: Sequence[int], waits: set[int]
) -> set[int]:
    """The frame or style sheet that is still arriving; of one on another host the Referer tells the origin alone."""
    referer = dict(request.sent).get("referer", "")
    named = [number for number in earlier if referer in (load[number].url, _origin(load[number].url))]
    return set() if not named or waits.intersection(named) else {named[-1]}


def _closed(waits: Sequence[set[int]]) -> list[set[int]]:
    """With what those wait for in turn, which stand before them."""
    closure: list[set[int]] = []
    for wait in waits:
        closure.append(wait.union(*(closure[other] for other in wait)))
    return closure


def _needed(waits: set[int], after: Sequence[set[int]]) -> tuple[int, ...]:
    """Without those that another one of them waits for, as indices of objects."""
    implied = set().union(*(after[other] for other in waits))
    return tuple(number - 1 for number in sorted(waits - implied))


def _item(request: Request, after: tuple[int, ...]) -> Item:
    headers = {name: value for name, value in request.sent if name not in NOT_SENT_AGAIN}
    return Item(request.url.partition("#")[0], request.method, headers, request.status or 0, after)


def _leads_on(request: Request) -> bool:
    return not request.accepts.startswith(LEADS_NOWHERE) and not request.mime.startswith(LEADS_NOWHERE)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 0)


def _ended_ms(request: Request) -> float:
    return float("inf") if request.ended_ms is None else request.ended_ms


def network_ms(load: Sequence[Request]) -> float:
    """What the network took in a load: from asking for the document to the last byte of the last object."""
    seen = _answered(load)
    return max(_ended_ms(request) for request in seen) - asked_ms(seen[0])


class KeptRecipe(msgspec.Struct, forbid_unknown_fields=True):
    """The file of a recipe: of which archive it is, and what its page asks for, the document first."""

    schema: int
    """version of the recipe's format"""
    archive_digest: str
    """digest of the archive that it was learned from"""
    left_out: int
    """requests that not every load made"""
    items: list[Item]
    """what the page asks for, the document first"""

    def recipe(self) -> PageRecipe:
        """ValueError when it is none that could be followed."""
        if self.schema != SCHEMA:
            raise ValueError(f"schema {self.schema}, not {SCHEMA}")
        if not self.items or self.items[0].after:
            raise ValueError("no document comes first")
        document, *objects = self.items
        for number, each in enumerate(objects):
            if not all(-1 <= other < number for other in each.after):
                raise ValueError(f"object {number} waits for a later one")
        return PageRecipe(document, tuple(objects), self.left_out)


class KeptRecipes:
    """A folder with a file per page and protocol. `warn` is told of one that is damaged, which is as good as none."""

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._folder, self._warn = folder, warn

    def read(self, page: Served, digest: str) -> PageRecipe | None:
        """The recipe of a page in the archive with this digest; None when there is none."""
        path = self._path(page)
        try:
            kept = msgspec.convert(jsontext.read(path), KeptRecipe)
            recipe = kept.recipe()
        except FileNotFoundError:
            return None
        except ValueError as error:
            self._warn(f"{path} is damaged ({one_line(str(error))}), so that the page is learned anew")
            return None
        if kept.archive_digest != digest:
            self._warn(f"{path} is of another archive, so that the page is learned anew")
            return None
        return recipe

    def write(self, page: Served, digest: str, recipe: PageRecipe) -> None:
        self._folder.mkdir(exist_ok=True)
        kept = KeptRecipe(SCHEMA, digest, recipe.left_out, [recipe.document, *recipe.objects])
        write_whole(self._path(page), json.dumps(msgspec.to_builtins(kept)) + "\n")

    def _path(self, page: Served) -> Path:
        return self._folder / f"{page.archive}-{page.protocol}-{page.engine}.json"


def in_the_browser(condition: Condition) -> Condition:
    """The condition of a load in the browser for one of a crowd: one client has the link to itself, and no factor."""
    engine = condition.engine.browser
    link = replace(condition.link, per_client=False, shared_down_mbps=None, shared_up_mbps=None)
    return replace(
        condition, engine=engine, driver=engine.traits.drivers[0], link=link, workload=None, factor=""
    )


def unhurried(link: Link) -> Link:
    """The link with a long round trip."""
    if link.rtt_ms >= LEAST_RTT_MS:
        return link
    down, up = (replace(direction, delay_ms=None) for direction in link.directions)
    return replace(link, name="recipe", rtt_ms=LEAST_RTT_MS, down=down, up=up)


def proved_recipe(opened: BrowserLab, condition: Condition, files: Path) -> PageRecipe:
    """What the page of a crowd's condition asks for, from loads by its protocol that were proved.

    They go over the condition's link with a long round trip. MeasurementRefused when not enough of them count.
    """
    usual = in_the_browser(condition)
    asked = replace(usual, link=unhurried(usual.link))
    loads: list[Sequence[Request]] = []
    said = ""
    for number in range(1, MOST_LOADS + 1):
        planned = PlannedTrial(f"recipe-{number}", number, number, asked)
        record, evidence = run_observed(opened.testbed, opened.browsers, planned, TrialOptions(), files)
        if record.outcome is Outcome.OK and evidence is not None:
            loads.append(load_requests(evidence))
        else:
            said = f"{record.outcome}: {record.reason}"
        if len(loads) == LOADS:
            return recipe_of(loads)
    raise MeasurementRefused(
        f"what {condition.page} asks for by {condition.protocol} is taken from {LOADS} loads of it in the browser, and "
        f"only {len(loads)} of {MOST_LOADS} counted ({said}); see `coldload load {condition.page} --protocol "
        f"{condition.protocol}`"
    )
