"""A study as one frozen value: what is measured, and the conditions that makes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from harness.errors import StudyError
from harness.input.keys import listed, nearest
from harness.input.shown import shown
from harness.model.condition import FULL_SPEED, CacheState, Compression, Condition, Sets, dimensions_of
from harness.model.engine import Device, Driver, Engine
from harness.model.filtersettings import Changed
from harness.model.kind import Kind, Requests, Workload
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.rate import RecordedRate
from harness.model.settings import Replay, TcpSettings
from harness.model.trials import Trials
from harness.model.variant import Variant
from harness.study.claim import Claim, Publication
from harness.study.defaultclaims import default_claims
from harness.study.figure import StudyFigure, narrowed_figure
from harness.study.pageset import FOLDER as SETS
from harness.study.pageset import narrowed_sets, set_text
from harness.study.plan import MAX_PLANNED, Options
from harness.study.serverfile import NamedServer
from harness.study.studytext import StudyText

MAX_CONDITIONS = 10_000
Without = Mapping[str, tuple[str, ...]]  # of pages, the filters that their variants go without


@dataclass(frozen=True)
class EngineSetup:
    """One engine of a study at one server: the protocols both speak there, what steers it.

    `replays` differ in their compression alone.
    """

    engine: Engine
    protocols: tuple[Protocol, ...]
    drivers: tuple[Driver, ...]
    server: NamedServer
    replays: tuple[Replay, ...]

    @property
    def compressions(self) -> tuple[Compression, ...]:
        """How text travels, in each of the replays."""
        return tuple(replay.compression for replay in self.replays)


@dataclass(frozen=True)
class Study:
    """What is measured: the conditions are the product of pages, variants, compressions, links, slowdowns of the
    processor, caches, workloads, protocols, servers and drivers.

    A protocol is measured with each of the engines that speak it, by the drivers that steer them. `servers` and
    `replays` hold what each engine gets, these with each of the compressions; of several servers, a protocol is
    measured with those that speak it, a compression with those that can compress so. A depth is measured with the
    protocols that take one, where there are others. With `only_figures` the conditions are those that a figure holds,
    and no others. With `aa` each setting's baseline is measured twice (`harness.study.planning`). `claims` are those
    of the file, `vitals` whether pages are observed until they come to rest, `portraits` whether each condition gets a
    load to look at after the measured ones, `published` what others found, `sets` the pages that it names by a set,
    `text` its file, `companions` the files that this names, `options` those of the command line that changed it.
    StudyError when that makes more trials than anybody can mean.

    A variant of a page goes `without` the filters named for it, and keeps to the limits in `filter_settings`.

    `factors` are studies of the same run, each with something changed and called by its `factor`; a study that has any
    is itself called USUAL_FACTOR. How the run is made, and what its figures are, is told by this study alone.
    """

    name: str
    title: str
    pages: tuple[str, ...]
    variants: tuple[Variant, ...]
    compressions: tuple[Compression, ...]
    protocols: tuple[Protocol, ...]
    links: tuple[Link, ...]
    engines: tuple[Engine, ...]
    drivers: tuple[Driver, ...]
    device: Device
    replays: Mapping[Engine, Replay]
    servers: Mapping[Engine, tuple[NamedServer, ...]]
    tcp: TcpSettings
    trials: Trials
    seed: int | None
    timeout_s: float
    keep: tuple[str, ...]
    kind: Kind = Kind.LOAD
    workloads: tuple[Workload | None, ...] = (None,)
    aa: bool = True
    claims: tuple[Claim, ...] = ()
    factor: str = ""
    factors: tuple[Study, ...] = ()
    sets: Sets = field(default_factory=dict)
    figures: tuple[StudyFigure, ...] = ()
    only_figures: bool = False
    vitals: bool = False
    portraits: bool = False
    published: Publication | None = None
    text: StudyText = field(default_factory=StudyText, repr=False, compare=False)
    companions: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    cpu_slowdowns: tuple[int, ...] = (FULL_SPEED,)
    caches: tuple[CacheState, ...] = (CacheState.COLD,)
    without: Without = field(default_factory=dict)
    filter_settings: Changed = ()
    options: Options = ()

    def __post_init__(self) -> None:
        conditions = sum(part.most_conditions for part in self.parts)
        if conditions > MAX_CONDITIONS:
            raise StudyError(
                f"the study has {conditions:,} conditions; it may have {MAX_CONDITIONS:,}: leave some out"
            )
        places = len(self.pages) * len(self.links) * len(self.cpu_slowdowns) * len(self.caches)
        baselines = places * sum(len(setup.drivers) for setup in self.setups)
        if (conditions + self.aa * baselines) * self.trials.most > MAX_PLANNED:
            raise StudyError(
                f"the study has {conditions:,} conditions x {self.trials.most:,} trials; "
                f"all may be {MAX_PLANNED:,}: lower trials"
            )

    @property
    def parts(self) -> tuple[Study, ...]:
        """The study as it is, then with each of its factors."""
        return (self, *self.factors)

    def part_of(self, condition: Condition) -> Study:
        """The part that one of its conditions is of."""
        return next(part for part in self.parts if part.factor == condition.factor)

    @property
    def every_page(self) -> tuple[str, ...]:
        """The pages of all parts, each once."""
        return tuple(dict.fromkeys(page for part in self.parts for page in part.pages))

    @property
    def every_protocol(self) -> tuple[Protocol, ...]:
        """The protocols of all parts, each once."""
        return tuple(dict.fromkeys(protocol for part in self.parts for protocol in part.protocols))

    @property
    def every_link(self) -> tuple[Link, ...]:
        """The links of all parts, each once."""
        return tuple(dict.fromkeys(link for part in self.parts for link in part.links))

    @property
    def every_set(self) -> Sets:
        """The sets of all parts; one of which no page is left is not among them."""
        named = {name: pages for part in self.parts for name, pages in part.sets.items()}
        return narrowed_sets(named, self.every_page)

    @property
    def most_conditions(self) -> int:
        """How many conditions its own product can have, told without making them."""
        each = sum(len(setup.protocols) * len(setup.drivers) for setup in self.setups)
        places = len(self.pages) * len(self.links) * len(self.workloads)
        browsers = len(self.cpu_slowdowns) * len(self.caches)
        return places * browsers * len(self.variants) * len(self.compressions) * each

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Every cell of all parts, in the order of the file."""
        every = tuple(cell for part in self.parts for cell in part.own_conditions)
        if not self.only_figures:
            return every
        told = zip(every, self._told(every), strict=True)
        return tuple(
            cell for cell, dimensions in told if any(figure.holds(dimensions) for figure in self.figures)
        )

    @property
    def own_conditions(self) -> tuple[Condition, ...]:
        """Every cell of the product of the study without its factors."""
        cells = itertools.product(
            self.pages,
            self.variants,
            self.compressions,
            self.links,
            self.cpu_slowdowns,
            self.caches,
            self.workloads,
            self.protocols,
            self.setups,
        )
        return tuple(
            Condition(
                page=page,
                variant=variant.leaving_out(self.without.get(page, ())).with_settings(self.filter_settings),
                protocol=protocol,
                link=link,
                engine=setup.engine,
                driver=driver,
                origins=self.replays[setup.engine].origins,
                server=setup.server.name,
                device=self.device,
                compression=compression,
                workload=workload,
                factor=self.factor,
                cpu_slowdown=cpu_slowdown,
                cache=cache,
            )
            for page, variant, compression, link, cpu_slowdown, cache, workload, protocol, setup in cells
            if protocol in setup.protocols and compression in setup.compressions and fits(workload, protocol)
            for driver in setup.drivers
        )

    @cached_property
    def dimensions(self) -> tuple[Mapping[str, Any], ...]:
        """The conditions as claims and figures see them, with the set of the page where the study names sets."""
        return self._told(self.conditions)

    @cached_property
    def all_claims(self) -> tuple[Claim, ...]:
        """Its own claims, or the usual ones; none where all that it compares was published."""
        return self.claims or (() if self._published else default_claims(self.dimensions, self.kind))

    @property
    def every_claim(self) -> tuple[Claim, ...]:
        """All of these, and the published ones that its conditions are compared for."""
        return (*self.all_claims, *self._published)

    @property
    def _published(self) -> tuple[Claim, ...]:
        return self.published.compared if self.published else ()

    def _told(self, cells: Iterable[Condition]) -> tuple[Mapping[str, Any], ...]:
        sets = self.every_set
        return tuple(dimensions_of(cell, sets) for cell in cells)

    @property
    def setups(self) -> tuple[EngineSetup, ...]:
        """The engines that have something to do, each at each of its servers."""
        found = (
            EngineSetup(
                engine,
                self._spoken(engine, server),
                tuple(driver for driver in self.drivers if driver in engine.traits.drivers),
                server,
                tuple(
                    replace(self.replays[engine], compression=compression)
                    for compression in self._coded(engine, server)
                ),
            )
            for engine in self.engines
            for server in self.servers[engine]
        )
        return tuple(setup for setup in found if setup.protocols and setup.drivers and setup.replays)

    def _spoken(self, engine: Engine, server: NamedServer) -> tuple[Protocol, ...]:
        """The study's protocols that an engine speaks with a server. What a single server does not speak is a mistake,
        which the rules tell.
        """
        spoken = (protocol for protocol in self.protocols if protocol in engine.traits.protocols)
        alone = len(self.servers[engine]) == 1
        return tuple(protocol for protocol in spoken if alone or server.speaks(protocol))

    def _coded(self, engine: Engine, server: NamedServer) -> tuple[Compression, ...]:
        """The study's compressions that a server can serve; what a single one cannot is told by the rules."""
        alone = len(self.servers[engine]) == 1
        return tuple(
            compression for compression in self.compressions if alone or server.compresses(compression)
        )


def fits(workload: Workload | None, protocol: Protocol) -> bool:
    """Whether a protocol can carry a workload: not all take a depth."""
    return not isinstance(workload, Requests) or workload.depth == 1 or protocol.takes_depth


def refuse_outside_figures(study: Study) -> None:
    """StudyError for what a study that measures its figures alone lists, and none of them has."""
    for key, values in _lists_of(study, study).items():
        for value in getattr(study, key):
            if value not in values:
                name = value if isinstance(value, str) else getattr(value, "name", value)
                raise StudyError(f"{key}: {name} is in no figure, and only_figures is true; leave it out")


def of_one_figure(study: Study, name: str) -> Study:
    """The study with the conditions that a figure needs, and no others; StudyError when it does not make it."""
    wanted_figure = next((figure for figure in study.figures if figure.name == name), None)
    if wanted_figure is None:
        made = [figure.name for figure in study.figures]
        has = f"it makes: {listed(name, made)}" if made else "it has none"
        raise StudyError(f"the study makes no figure {shown(name)}{nearest(name, made)}; {has}")
    return trimmed(replace(study, figures=(wanted_figure,), only_figures=True))


def trimmed(study: Study) -> Study:
    """The study without what none of its conditions has, so that nothing is served or looked for in vain."""
    factors = tuple(replace(part, **_lists_of(study, part)) for part in study.factors if _cells(study, part))
    own = _lists_of(study, study) if _cells(study, study) else {"pages": ()}
    return replace(study, factors=factors, **own)


def figures_left(study: Study) -> tuple[StudyFigure, ...]:
    """The figures of which some condition is left, each with its series that are."""
    left = (narrowed_figure(figure, study.dimensions) for figure in study.figures)
    return tuple(figure for figure in left if figure is not None)


def _cells(study: Study, part: Study) -> list[Condition]:
    """What is measured of a part of the study."""
    return [cell for cell in study.conditions if cell.factor == part.factor]


def _lists_of(study: Study, part: Study) -> dict[str, Any]:
    """Of a part's lists what its conditions have, in their order."""
    cells = _cells(study, part)
    return {
        "pages": _there(part.pages, (cell.page for cell in cells)),
        "variants": tuple(
            variant for variant in part.variants if variant.name in {cell.variant.name for cell in cells}
        ),
        "compressions": _there(part.compressions, (cell.compression for cell in cells)),
        "links": _there(part.links, (cell.link for cell in cells)),
        "workloads": _there(part.workloads, (cell.workload for cell in cells)),
        "protocols": _there(part.protocols, (cell.protocol for cell in cells)),
        "engines": _there(part.engines, (cell.engine for cell in cells)),
        "drivers": _there(part.drivers, (cell.driver for cell in cells)),
    }


def _there(listed: Iterable[Any], measured: Iterable[Any]) -> tuple[Any, ...]:
    present = set(measured)
    return tuple(value for value in listed if value in present)


RATES, TEMPLATES, PUBLISHED = "rates", "templates", "published.toml"
KEPT = (RATES, TEMPLATES, SETS, PUBLISHED)  # in a run directory
DIGITS = 12  # of the digest of a trace or template, by which two of one name are told apart


def companions_of(study: Study) -> dict[str, str]:
    """The texts of the files, by their paths in a run directory."""
    texts: dict[str, str] = {}
    for part in study.parts:
        for rate in (direction.rate for link in part.links for direction in link.directions):
            if isinstance(rate, RecordedRate):
                texts[f"{RATES}/{rate.sha256[:DIGITS]}-{rate.file}"] = rate.text
        for server in (server for every in part.servers.values() for server in every):
            template = server.settings.template if server.settings else None
            if template is not None:
                texts[f"{TEMPLATES}/{template.sha256[:DIGITS]}-{template.file}"] = template.text
        for name, pages in part.sets.items():
            texts[f"{SETS}/{name}.toml"] = set_text(name, pages)
    if study.published is not None and study.published.text:
        texts[PUBLISHED] = study.published.text
    return texts
