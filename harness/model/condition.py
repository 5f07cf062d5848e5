"""One cell of a study as a frozen value, and its dimensions: what tells conditions apart, columns of the analysis.

Dimensions are plain mappings of name to value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.engine import DEFAULT_ENGINE, DESKTOP, DEVICES, Device, Driver, Engine
from harness.model.filtersettings import settings_of, text_of
from harness.model.kind import Kind, Requests, Users, Workload, workload_of
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.variant import AS_ARCHIVED, Variant, parse_variant

# How text is compressed on its way to the browser.
CODED_AS_RECORDED, UNCOMPRESSED = "recorded", "none"
# The content coding of each kind of compression, as HTTP names it.
CODINGS = {"gzip": "gzip", "brotli": "br", "zstd": "zstd"}
HTTPS_ONLY = frozenset({"brotli", "zstd"})  # no browser takes these over plain http
# Least, most and default level: what servers use when they compress as they send.
COMPRESSION_LEVELS = {"gzip": (1, 9, 6), "brotli": (0, 11, 5), "zstd": (1, 19, 3)}
DYNAMIC = "-dynamic"


@dataclass(frozen=True)
class Compression:
    """The content coding of text: as `recorded`, `none`, or `gzip`, `brotli` or `zstd` of one level for all of it.

    All was coded beforehand; if `dynamic`, the server codes each answer as it sends it.
    """

    kind: str = CODED_AS_RECORDED
    level: int | None = None
    dynamic: bool = False

    @classmethod
    def parse(cls, text: str) -> Compression:
        """`recorded`, `none`, or a coding, also with its level and `-dynamic`: `gzip`, `gzip-9`, `gzip-9-dynamic`."""
        if text in (CODED_AS_RECORDED, UNCOMPRESSED):
            return cls(text)
        kind, dash, level = text.removesuffix(DYNAMIC).partition("-")
        if kind not in COMPRESSION_LEVELS:
            raise StudyError(
                f"compression: unknown {text!r}; known: recorded, none, {', '.join(COMPRESSION_LEVELS)}, "
                "a level as in gzip-9, and gzip-9-dynamic"
            )
        least, most, default = COMPRESSION_LEVELS[kind]
        if not dash:
            return cls(kind, default, text.endswith(DYNAMIC))
        if not level.isascii() or not level.isdigit() or not least <= int(level) <= most:
            raise StudyError(f"compression: {text!r}; {kind} has the levels {kind}-{least} to {kind}-{most}")
        return cls(kind, int(level), text.endswith(DYNAMIC))

    def __str__(self) -> str:
        if self.level is None:
            return self.kind
        return f"{self.kind}-{self.level}{DYNAMIC if self.dynamic else ''}"


RECORDED_COMPRESSION = Compression()


class CacheState(StrEnum):
    """The HTTP cache of a load: empty, or as an earlier load of the page has left it."""

    COLD = "cold"
    WARM = "warm"


WITHOUT, FILTER_SETTINGS = "without", "filter_settings"  # of a variant, beside its name
USUAL_FACTOR = "usual"  # in a study with factors, what its conditions are called without any
FULL_SPEED = 1
SLOWDOWNS = (FULL_SPEED, 2, 4, 6)  # how many times slower than it is a processor can be made


class Origins(StrEnum):
    """How many server addresses the names of a page resolve to."""

    SINGLE = "single"  # one for all, as in the 2012 study
    RECORDED = "recorded"  # one per recorded server address; per host where the recording does not tell


class Served(NamedTuple):
    """What tells the endpoints of a run apart; `archive` is the page in its variant.

    `server` is named where an engine may have several, which a browser has not. `factor` is named in a study with
    factors, which may change how pages are served.
    """

    archive: str
    protocol: Protocol
    engine: Engine
    compression: Compression = RECORDED_COMPRESSION
    server: str = ""
    factor: str = ""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One cell of a study: what is loaded, how its bytes travel, over which link, by which browser or generator.

    A generator has a `workload`; a browser has none, as it loads the page once. A cell is measured twice in each block
    (`again`) so that the difference of nothing is known.
    """

    page: str
    """name of the archive"""
    variant: Variant = AS_ARCHIVED
    """form of the page: `plain`, or filters and sets"""
    protocol: Protocol
    """how bytes travel"""
    link: Link
    """emulated access link"""
    engine: Engine
    """browser, or what makes the crowd or the loop"""
    driver: Driver
    """what steers the engine; a generator steers itself"""
    origins: Origins
    """one server address for all hosts, or those of the recording"""
    server: str
    """what answers"""
    device: Device = DESKTOP
    """what the browser says it is: `desktop` or `mobile`"""
    compression: Compression = RECORDED_COMPRESSION
    """how text travels: `recorded`, `none`, or a coding as `gzip-6`, `gzip-6-dynamic`"""
    again: bool = False
    """true for the second of a pair that is measured twice (A/A)"""
    workload: Workload | None = None
    """users or requests that the server gets; absent for a page load"""
    factor: str = ""
    """what the study changes, by its name, or `usual`; absent without factors"""
    cpu_slowdown: int = FULL_SPEED
    """how many times slower the page's main thread works; absent at 1"""
    cache: CacheState = CacheState.COLD
    """`warm` for a page that was loaded once before; absent where it is `cold`"""

    @classmethod
    def usual(cls, page: str, protocol: Protocol, link: Link, engine: Engine = DEFAULT_ENGINE) -> Condition:
        """A page by an engine with its own driver and server, all hosts of the page at one address."""
        return cls(
            page=page,
            protocol=protocol,
            link=link,
            engine=engine,
            driver=engine.traits.drivers[0],
            origins=Origins.SINGLE,
            server=engine.traits.server,
        )

    @property
    def kind(self) -> Kind:
        """What is measured."""
        return Kind.LOAD if self.workload is None else self.workload.kind

    @property
    def served(self) -> Served:
        """Where its page is served."""
        server = "" if self.kind is Kind.LOAD else self.server
        archive = self.variant.served_name(self.page)
        return Served(archive, self.protocol, self.engine, self.compression, server, self.factor)

    def to_json(self) -> dict[str, Any]:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        texts = {name: str(fields[name]) for name in ("device", "compression")}
        texts |= {"variant": self.variant.name}
        workload = fields.pop("workload")
        load = {} if workload is None else {"workload": workload.to_json()}
        # What few studies change is told where they do.
        unlike = {name: fields.pop(name) for name in ("factor", "cpu_slowdown", "cache")}
        usual = {"factor": "", "cpu_slowdown": FULL_SPEED, "cache": CacheState.COLD}
        changed = {name: value for name, value in unlike.items() if value != usual[name]} | _beside(
            self.variant
        )
        return fields | texts | {"link": self.link.to_json()} | load | changed

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Condition:
        """Inverse of `to_json`; raises StudyError when a value is not one of ours."""
        try:
            return cls(
                page=keys.text(data, "page"),
                variant=variant_of(data),
                protocol=Protocol(data["protocol"]),
                link=Link.from_json(data["link"]),
                engine=Engine(data["engine"]),
                driver=Driver(data["driver"]),
                origins=Origins(data["origins"]),
                server=keys.text(data, "server"),
                device=DEVICES[data["device"]],
                compression=Compression.parse(data["compression"]),
                again=keys.truth(data, "again", default=False),
                workload=workload_of(data["workload"]) if "workload" in data else None,
                factor=keys.text(data, "factor") if "factor" in data else "",
                cpu_slowdown=slowdown_of(data.get("cpu_slowdown", FULL_SPEED)),
                cache=CacheState(data.get("cache", CacheState.COLD)),
            )
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise StudyError(f"not a condition ({error}): {shown(data)}") from error

    def __str__(self) -> str:
        device = "" if self.device is DESKTOP else f" {self.device}"
        coding = "" if self.compression == RECORDED_COMPRESSION else f" {self.compression}"
        twice = " (again)" if self.again else ""
        if self.workload is not None:
            maker = f"{self.engine} {self.server} {self.workload}"
        else:
            maker = self.driver if self.engine is DEFAULT_ENGINE else f"{self.engine} {self.driver}"
        slowed = "" if self.cpu_slowdown == FULL_SPEED else f" cpu_slowdown {self.cpu_slowdown}"
        cache = "" if self.cache is CacheState.COLD else f" {self.cache} cache"
        factor = f" [{self.factor}]" if self.factor else ""
        return (
            f"{self.page} {self.variant}{coding} {self.protocol} {self.link.name} {maker}{device}{slowed}{cache}"
            f"{factor}{twice}"
        )


def _beside(variant: Variant) -> dict[str, str]:
    """What a variant is beside its name, where it is anything."""
    told = {WITHOUT: ",".join(variant.without), FILTER_SETTINGS: text_of(variant.settings)}
    return {key: text for key, text in told.items() if text}


def variant_of(data: Mapping[str, Any]) -> Variant:
    """The variant of a condition; ValueError when it does not have what it is said to go without."""
    out = tuple(data[WITHOUT].split(",")) if WITHOUT in data else ()
    variant = parse_variant(data["variant"]).leaving_out(out)
    if variant.without != out:
        raise ValueError(f"{shown(data['variant'])} cannot go without {shown(data[WITHOUT])}")
    return variant.with_settings(settings_of(data[FILTER_SETTINGS])) if FILTER_SETTINGS in data else variant


def slowdown_of(value: object) -> int:
    """One of `SLOWDOWNS`; StudyError with one line."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in SLOWDOWNS:
        raise StudyError(f"cpu_slowdown: unknown {shown(value)}; known: {', '.join(map(str, SLOWDOWNS))}")
    return value


SET = "set"  # the set of pages that a page is of, where a study names sets
SET_MARK = "@"  # before the name of a set in a study
Sets = Mapping[str, tuple[str, ...]]  # the pages of each set, by its name; a page is of one set at most
CPU_SLOWDOWN, CACHE = "cpu_slowdown", "cache"
USUAL: Mapping[str, Any] = {
    CPU_SLOWDOWN: FULL_SPEED,
    CACHE: CacheState.COLD.value,
}  # of loads that do not tell
DIMENSIONS = (
    *("page", SET, "variant", "compression", "protocol", "engine", "driver", "server", "device"),
    *("link", "rtt_ms", "down_mbps", "up_mbps", "origins", "factor"),
)  # of every kind
OF_WORKLOADS: Mapping[Kind, tuple[str, ...]] = {
    Kind.LOAD: (CPU_SLOWDOWN, CACHE),
    Kind.USERS: ("users",),
    Kind.REQUESTS: ("connections", "depth"),
}
EVERY_DIMENSION = (*DIMENSIONS, *(name for names in OF_WORKLOADS.values() for name in names))
OF_VARIANTS = (WITHOUT, FILTER_SETTINGS)  # beside their names; texts, which most conditions do not have
NAMING_VARIANTS = ("page", "variant", "factor")  # what these follow from inside a study
OF_LINKS = ("link", "rtt_ms", "down_mbps", "up_mbps")
NUMBERS = ("rtt_ms", "down_mbps", "up_mbps")  # of links
AMOUNTS = (*NUMBERS, CPU_SLOWDOWN)  # that say nothing without the name of their dimension
AGAIN = "again"  # marks the baseline that is measured a second time under another name
QUEUE_SIZES = ("queue_down_bytes", "queue_up_bytes")
FOLLOWERS: Mapping[str, tuple[str, ...]] = {
    "page": (SET, WITHOUT),
    "variant": OF_VARIANTS,
    "engine": ("server", "driver"),
    "driver": ("server",),
    "protocol": ("server", "link", *QUEUE_SIZES),
}


def dimensions_by(kind: Kind) -> tuple[str, ...]:
    """The dimensions of a kind. A metric of another kind may have the name of one: loads observe `connections`."""
    return (*DIMENSIONS, *OF_WORKLOADS[kind])


def set_of(sets: Sets, page: str) -> str | None:
    """The name of the set that a page is of; None when it is of none."""
    return next((name for name, pages in sets.items() if page in pages), None)


def dimensions_of(condition: Condition, sets: Sets | None = None) -> dict[str, Any]:
    """The dimensions of a condition, and what else its link is, flat: `link` is the name of the link.

    `sets`: those of its study, which a condition does not know.
    """
    flat = {**(USUAL if condition.kind is Kind.LOAD else {}), **condition.to_json()}
    link = flat.pop("link")
    flat.pop("workload", None)
    flat |= of_workload(condition.workload)
    taken = {"name": "link", **{key: key for key in (*NUMBERS, *QUEUE_SIZES)}}
    flat |= {taken.get(key, f"link_{key}"): value for key, value in link.items()}
    flat |= {SET: set_of(sets, condition.page)} if sets else {}
    return {key: str(each) if isinstance(each, str) else each for key, each in flat.items()}


def of_workload(workload: Workload | None) -> dict[str, Any]:
    """The dimensions that a workload has: `users` as a text, or `connections` and `depth` as numbers."""
    match workload:
        case Users():
            return {"users": str(workload)}
        case Requests():
            return {"connections": workload.connections, "depth": workload.depth}
        case None:
            return {}


def follows(dimension: str, named: str) -> bool:
    """Whether a dimension may differ between two conditions only because another one does.

    The set follows the page. What a variant goes without follows page and variant, its settings the variant. Server and
    driver follow the engine. Server, name of the link and size of its queues follow the protocol, the latter two also
    the numbers of the link. All of a link follows its name. A factor may
    change anything but protocol and engine.
    """
    if named == "factor":
        return dimension not in ("protocol", "engine", "driver")
    if named in FOLLOWERS:
        return dimension in FOLLOWERS[named]
    if named == "link":
        return dimension in OF_LINKS or dimension.startswith(("link_", "queue_"))
    if named in NUMBERS:
        return (
            dimension == "link" or dimension in QUEUE_SIZES or (named, dimension) == ("down_mbps", "up_mbps")
        )
    return False


def value(mapping: Mapping[str, Any], dimension: str) -> Any:
    """A value that can be compared and looked up: None also for NaN, text for what is nested."""
    raw = mapping.get(dimension)
    if raw is None or raw != raw:  # noqa: PLR0124  # NaN alone is not itself
        return None
    return str(raw) if isinstance(raw, dict | list) else raw


def is_again(mapping: Mapping[str, Any]) -> bool:
    """Whether conditions of this mapping only show how far two equal ones differ by chance."""
    return bool(value(mapping, AGAIN))
