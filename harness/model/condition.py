"""One cell of a study as a frozen value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.compression import RECORDED_COMPRESSION, Compression
from harness.model.device import DESKTOP, DEVICES, Device
from harness.model.engine import DEFAULT_ENGINE, Driver, Engine
from harness.model.filtersettings import settings_of, text_of
from harness.model.kind import Kind
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.revisit import CacheState
from harness.model.variant import AS_ARCHIVED, Variant, parse_variant
from harness.model.workload import Workload, workload_of

WITHOUT, FILTER_SETTINGS = "without", "filter_settings"  # of a variant, beside its name
USUAL_FACTOR = "usual"  # in a study with factors, what its conditions are called without any
FULL_SPEED = 1
SLOWDOWNS = (FULL_SPEED, 2, 4, 6)  # how many times slower than it is a processor can be made


class Origins(StrEnum):
    """How many server addresses the names of a page resolve to."""

    SINGLE = "single"  # one for all, as in the 2012 study
    RECORDED = "recorded"  # one per recorded server address; per host where the recording does not tell


class Served(NamedTuple):
    """What tells the places apart at which a run serves its pages; `archive` is the page in its variant.

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

    A generator has a `workload`; a browser has none, as it loads the page once. `again` tells apart a
    cell that is measured twice in each block (A/A), so that the difference of nothing is known. `factor` is what the
    study changes for this cell, by its name there (`harness.study.factorfile`); "" in a study without factors.
    `cpu_slowdown` is how many times slower than it is the processor runs the page's scripts.
    """

    page: str
    variant: Variant = AS_ARCHIVED
    protocol: Protocol
    link: Link
    engine: Engine
    driver: Driver
    origins: Origins
    server: str
    device: Device = DESKTOP
    compression: Compression = RECORDED_COMPRESSION
    again: bool = False
    workload: Workload | None = None
    factor: str = ""
    cpu_slowdown: int = FULL_SPEED
    cache: CacheState = CacheState.COLD

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
