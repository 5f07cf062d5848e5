"""What a load of a page asked for, got and wrote to its console, and what other loads did otherwise. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest

from harness.engines.browser import CONSOLE_MOST, NOT_LOADED
from harness.engines.browserlog import BrowserLog, Failure, Request
from harness.input.shown import clipped, one_line, shortened
from harness.probes.evidence import Evidence, ServerAnswers
from harness.probes.loadedpage import PageConsole, Screens
from harness.probes.probe import QUIET_S
from sites.asked import normalised
from sites.mediatype import SCRIPT_TYPES, fits
from sites.optimise.derive import VariantReport
from sites.optimise.document import open_document
from sites.optimise.markup import Tag
from sites.optimise.page import Page
from sites.servers.server import Match

_STYLES = frozenset({"text/css"})
_IMAGES = frozenset({"image"})  # each of them
# What each filter makes part of another file. Of anything else that the page no longer names no filter is the reason.
_JOINING: Mapping[str, frozenset[str]] = {
    "flatten_css_imports": _STYLES,
    "combine_css": _STYLES,
    "inline_css": _STYLES,
    "combine_javascript": SCRIPT_TYPES,
    "inline_javascript": SCRIPT_TYPES,
    "inline_images": _IMAGES,
}
_RENAMING, _WAITING = "shard", "lazyload_images"


@dataclass(frozen=True)
class Terms:
    """What filters did to the files of a page; URLs as `normalised` writes them. The original has none of it.

    `joined` are part of other files or of the document, `added` are the files that filters made, `renamed` leads from
    a file's new address to its old one, and `waiting` are images that load when they come near.
    """

    joined: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()

    @classmethod
    def of(cls, report: VariantReport, original: Page, made: Page) -> Terms:
        """The terms of a variant: from the report on it, its original's page and its own.

        A file is joined when a step that joins files of its kind leaves nothing that names it, or when no element names
        it any more: a rule of a style sheet may go on naming a picture, and apply to nothing.
        """
        kinds = {normalised(url): resource.mime for url, resource in original.resources.items()}
        joined: set[str] = set()
        renamed: dict[str, str] = {}
        before = report.before
        for step in report.steps:
            gone = {_name(url) for url in set(before.unscripted) - set(step.inventory.unscripted)}
            joined |= _of_kinds(gone, kinds, [step.filter])
            if step.filter == _RENAMING:
                new = step.inventory.bytes.keys() - before.bytes.keys()  # `shard1.host/path` and so on
                renamed = {_name(url): _name(url.partition(".")[2]) for url in new}
            before = step.inventory
        added = {_name(url) for url in before.bytes.keys() - report.before.bytes.keys()}
        named = [(renamed.get(url, url), tag.get("loading") == "lazy") for url, tag in _named(made)]
        at_once, lazy = ({url for url, waits in named if waits is late} for late in (False, True))
        unnamed = {url for url, _ in _named(original)} - at_once - lazy
        joined |= _of_kinds(unnamed, kinds, [step.filter for step in report.steps])
        may_wait = any(step.filter == _WAITING for step in report.steps)
        waiting = frozenset(lazy - at_once if may_wait else ())
        return cls(frozenset(joined), frozenset(added - renamed.keys()), renamed, waiting)

    def original(self, url: str) -> str:
        """What a request of the variant asks for, as the original would have asked for it."""
        name = normalised(url)
        return self.renamed.get(name, name)

    @property
    def unasked(self) -> frozenset[str]:
        """What a whole variant need not ask for."""
        return self.joined | self.waiting


AS_RECORDED = Terms()


def _named(page: Page) -> Iterator[tuple[str, Tag]]:
    """The files that elements of the page's documents name, each with an element that does."""
    for document in filter(None, (open_document(page, url) for url in page.documents)):
        for element in document.named("img", "input", "link", "script"):
            reference = document.referred(element.tag.get("href" if element.name == "link" else "src"))
            if reference is not None:
                yield normalised(reference.url), element.tag


def _of_kinds(urls: Iterable[str], kinds: Mapping[str, str], filters: Iterable[str]) -> set[str]:
    """The URLs of files of the kinds that filters join."""
    taken = frozenset().union(*(_JOINING.get(name, frozenset()) for name in filters))
    return {url for url in urls if (mime := kinds.get(url, "")) in taken or mime.partition("/")[0] in taken}


def _name(url: str) -> str:
    """A URL of an inventory, which has no scheme, as it counts."""
    return normalised(f"any://{url}")


_URL = re.compile(r"(?:https?|wss?)://[^\s'\"<>)]+")
_IN_A_SCRIPT = re.compile(r":\d+(?::\d+)?$")  # a line, and a column
_TRAILING = ".,;:"
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z0-9]+")
LEAST_DIGITS, LEAST_LETTERS = 4, 6
SHOWN_CHARACTERS, MOST_SHOWN = 160, 3


@dataclass(frozen=True)
class AskedFor:
    """A request: its URL as the browser has it, and why it got no good answer ("" when it did, or was taken back)."""

    url: str
    failure: str = ""


@dataclass(frozen=True)
class Behaviour:
    """What a load did until the page had come to rest.

    `asked` are its requests by what they are in the original's terms, `errors` what the console got as errors and the
    uncaught exceptions. Of a page that does not come to rest `restless` is what it goes on asking for, without numbers.
    """

    asked: Mapping[str, AskedFor]
    errors: tuple[str, ...] = ()
    at_rest: bool = True
    restless: frozenset[str] = frozenset()

    @classmethod
    def of(cls, evidence: Evidence, terms: Terms) -> Behaviour:
        """What was seen of a load of a variant."""
        log = evidence.get(BrowserLog)
        requests = [exchange for exchange in log.requests if _counts(exchange)] if log else []
        answers = {answer.url: answer.match for answer in evidence.of(ServerAnswers).answered}
        asked: dict[str, AskedFor] = {}
        for request in requests:
            url = request.url.partition("#")[0]
            name = terms.original(url)
            if name not in asked or not asked[name].failure:
                asked[name] = AskedFor(url, _failure(request, answers.get(url)))
        last_ms = max((exchange.started_ms for exchange in requests), default=0.0)
        at_rest = evidence.of(Screens).at_rest is not False
        late = [
            exchange
            for exchange in requests
            if exchange.started_ms >= last_ms - QUIET_S * 1e3 and not at_rest
        ]
        restless = frozenset(_numberless(terms.original(exchange.url)) for exchange in late)
        return cls(asked, evidence.of(PageConsole).errors or (), at_rest, restless)


@dataclass(frozen=True)
class Differences:
    """What loads of a variant did otherwise: URLs, and messages of the console; `failing` are also those of `new`."""

    lost: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self._kinds.values())

    def __str__(self) -> str:
        return "; ".join(f"{what}{_listed(seen)}" for what, seen in self._kinds.items() if seen)

    @property
    def _kinds(self) -> dict[str, tuple[str, ...]]:
        return {
            "asks for what gets no answer: ": self.failing,
            "no longer asks for ": self.lost,
            "asks for what the original does not: ": self.new,
            "new errors: ": self.errors,
            "no longer writes the error ": self.gone,
        }


AS_THE_ORIGINAL = Differences()


def differences(originals: Sequence[Behaviour], loads: Sequence[Behaviour], terms: Terms) -> Differences:
    """What every load of a variant does and none of the original, and the reverse; both must have at least one load.

    What filters joined or left until it comes near need not be asked for, the files that they made may be. What the
    original asks for in some loads only tells nothing.
    """
    names = _Names(
        terms, frozenset(chain.from_iterable(behaviour.restless for behaviour in (*originals, *loads)))
    )
    before, after = ([names.asked(behaviour) for behaviour in group] for group in (originals, loads))
    lost = {url: asked for url, asked in _only(before, after).items() if url not in terms.unasked}
    new = {
        url: asked
        for url, asked in _only(after, before).items()
        if url not in terms.added or all(load[url].failure for load in after)
    }
    _pair_off(lost, new)
    failing = {
        url: each
        for url, each in after[0].items()
        if all(url in seen and seen[url].failure for seen in after)
        and (url in new or any(url in seen for seen in before))
        and not any(url in seen and seen[url].failure for seen in before)
    }
    told = {_drawn(url) for url in (*lost, *new, *failing, *terms.unasked)}
    errors, gone = _errors(originals, loads, names, told)
    return Differences(
        lost=tuple(request.url for request in lost.values()),
        new=tuple(each.url for url, each in new.items() if url not in failing),
        failing=tuple(f"{request.url} ({request.failure})" for request in failing.values()),
        errors=errors,
        gone=gone,
    )


@dataclass(frozen=True)
class _Names:
    """What requests and messages are compared by: in the original's terms, and without what a page goes on counting."""

    terms: Terms
    restless: frozenset[str]

    def asked(self, behaviour: Behaviour) -> dict[str, AskedFor]:
        """The requests of a load by their names; of several of a name one that got no answer."""
        requests: dict[str, AskedFor] = {}
        for name, asked in behaviour.asked.items():
            key = self._counted_out(name)
            if key not in requests or not requests[key].failure:
                requests[key] = asked
        return requests

    def of_url(self, url: str) -> str:
        """The name of what a message is about."""
        return _drawn(self._counted_out(self.terms.original(url.rstrip(_TRAILING))))

    def essence(self, message: str) -> str:
        """A message without numbers and without the places in scripts, which are others once files are joined."""
        resources = [self._resource(url) for url in _URL.findall(message)]
        parts = (_NUMBER.sub("", part) for part in _URL.split(message))
        return "".join(f"{part}{resource}" for part, resource in zip_longest(parts, resources, fillvalue=""))

    def _resource(self, url: str) -> str:
        joint = self.terms.joined | self.terms.added
        in_a_script = _IN_A_SCRIPT.search(url) or self.terms.original(url.rstrip(_TRAILING)) in joint
        return "" if in_a_script else f"<{self.of_url(url)}>"

    def _counted_out(self, name: str) -> str:
        bare = _numberless(name)
        return bare if bare in self.restless else name


def _only(
    some: Sequence[Mapping[str, AskedFor]], others: Sequence[Mapping[str, AskedFor]]
) -> dict[str, AskedFor]:
    """What each of some loads asks for, and none of the others."""
    never = set(chain.from_iterable(others))
    return {
        url: asked for url, asked in some[0].items() if url not in never and all(url in load for load in some)
    }


def _pair_off(lost: dict[str, AskedFor], new: dict[str, AskedFor]) -> None:
    """Take out what differs by drawn numbers alone: scripts that are joined or moved draw them in another order."""
    partners: dict[tuple[str, bool], list[str]] = {}
    for url, asked in new.items():
        partners.setdefault((_drawn(url), bool(asked.failure)), []).append(url)
    for url, asked in list(lost.items()):
        alike = partners.get((_drawn(url), bool(asked.failure)))
        if alike:
            del lost[url], new[alike.pop()]


def _errors(
    originals: Sequence[Behaviour], loads: Sequence[Behaviour], names: _Names, told: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The messages that the loads have more of than the original, and those that they have less of.

    How often a message comes tells something where that is the same in each load of the original. That a file was not
    loaded tells nothing where its request is told of.
    """
    before, after = (
        [_by_essence(behaviour.errors, names) for behaviour in group] for group in (originals, loads)
    )
    everything = (*originals, *loads)
    countable = all(behaviour.at_rest and len(behaviour.errors) < CONSOLE_MOST for behaviour in everything)
    more, less = [], []
    for essence in dict.fromkeys(chain.from_iterable((*after, *before))):
        had, has = ([messages.get(essence, ()) for messages in group] for group in (before, after))
        text = _unlike((*has, *had), others=had)
        if NOT_LOADED in text and any(names.of_url(url) in told for url in _URL.findall(text)):
            continue
        fewest_before, most_before = min(map(len, had)), max(map(len, had))
        fewest, most = min(map(len, has)), max(map(len, has))
        steady = countable and fewest_before == most_before
        if fewest > most_before and (steady or not most_before):
            more.append(_counted(text, most_before, fewest))
        elif most < fewest_before and (steady or not most):
            less.append(_counted(_unlike(had, others=has), fewest_before, most))
    return tuple(more), tuple(less)


def _by_essence(messages: Iterable[str], names: _Names) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for message in messages:
        essence = names.essence(message)
        groups[essence] = (*groups.get(essence, ()), message)
    return groups


def _unlike(some: Iterable[Sequence[str]], others: Iterable[Sequence[str]]) -> str:
    """The first message that is not among the others, letter by letter; the first of all where each is."""
    messages, known = [*chain.from_iterable(some)], set(chain.from_iterable(others))
    return next((message for message in messages if message not in known), messages[0])


def _counted(text: str, had: int, has: int) -> str:
    return f"{text} ({has} in place of {had})" if had and has else text


def _counts(request: Request) -> bool:
    """Whether the page asked for it; a CORS question is the browser's."""
    return request.of_page and request.method != "OPTIONS"


def _failure(request: Request, match: Match | None) -> str:
    if request.failure is Failure.ABORTED:
        return ""
    if request.failure:
        return request.error
    if (request.status or 0) >= 400 or match is Match.MISS:
        return str(request.status)
    kept = match is not Match.CLOSEST or fits(request.accepts, request.mime)
    return "" if kept else f"answered with {request.mime}"


def _numberless(name: str) -> str:
    return _NUMBER.sub("*", name)


def _drawn(name: str) -> str:
    """A name without what scripts draw and `normalised` leaves: numbers of four digits, six letters with two digits."""

    def word(found: re.Match[str]) -> str:
        digits = sum(map(str.isdigit, found[0]))
        length = len(found[0])
        drawn = (digits == length >= LEAST_DIGITS) or (length >= LEAST_LETTERS and digits >= 2)
        return "*" if drawn else found[0]

    return _WORD.sub(word, name)


def _listed(texts: Sequence[str]) -> str:
    return shortened(
        [one_line(clipped(text, SHOWN_CHARACTERS)) for text in texts], MOST_SHOWN, separator=" | "
    )
