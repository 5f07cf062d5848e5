"""What tells conditions apart, as plain mappings of dimension to value: the columns of the analysis. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.model.condition import FILTER_SETTINGS, FULL_SPEED, WITHOUT, Condition
from harness.model.kind import Kind
from harness.model.pageset import Sets, set_of
from harness.model.revisit import CacheState
from harness.model.workload import Requests, Users, Workload

SET = "set"  # the set of pages that a page is of, where a study names sets
CPU_SLOWDOWN, CACHE = "cpu_slowdown", "cache"
USUAL: Mapping[str, Any] = {
    CPU_SLOWDOWN: FULL_SPEED,
    CACHE: CacheState.COLD.value,
}  # of loads that do not tell
DIMENSIONS = (
    "page",
    SET,
    "variant",
    "compression",
    "protocol",
    "engine",
    "driver",
    "server",
    "device",
    "link",
    "rtt_ms",
    "down_mbps",
    "up_mbps",
    "origins",
    "factor",
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
        return dimension in OF_LINKS or _of_link_alone(dimension)
    if named in NUMBERS:
        return (
            dimension == "link" or dimension in QUEUE_SIZES or (named, dimension) == ("down_mbps", "up_mbps")
        )
    return False


def value(mapping: Mapping[str, Any], dimension: str) -> Any:
    """A value that can be compared and looked up: None also for NaN, text for what is nested."""
    found = mapping.get(dimension)
    if found is None or found != found:  # noqa: PLR0124  # NaN alone is not itself
        return None
    return str(found) if isinstance(found, dict | list) else found


def is_again(mapping: Mapping[str, Any]) -> bool:
    """Whether conditions of this mapping only show how far two equal ones differ by chance."""
    return bool(value(mapping, AGAIN))


def _of_link_alone(dimension: str) -> bool:
    return dimension.startswith(("link_", "queue_"))
