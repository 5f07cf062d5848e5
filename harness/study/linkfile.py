"""The links of a study: tables of their own, or the names of those that ship in configs/links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import configs
from harness.errors import StudyError
from harness.input import keys, textfile
from harness.input.shown import shortened, shown
from harness.model.link import (
    LEAST_CHANCE,
    LEAST_DELAY_MS,
    LOSS_PERCENT,
    MAX_DELAY_MS,
    MAX_RTT_MS,
    MAX_SEED,
    NO_LINK,
    Direction,
    Discipline,
    GilbertElliott,
    Link,
    Loss,
    Queue,
    RandomLoss,
    Way,
    default_name,
    default_queue,
)
from harness.model.rate import MAX_RATE_MBPS, MIN_RATE_MBPS, ConstantRate, Rate, RateFormat, RecordedRate

WAY_KEYS = tuple(
    key.format(way=way)
    for way in Way
    for key in (
        "{way}_mbps",
        "trace_{way}",
        "steps_{way}",
        "queue_{way}",
        "queue_{way}_bytes",
        "loss_{way}_percent",
        "gilbert_elliott_{way}",
        "jitter_{way}_ms",
        "delay_{way}_ms",
        "shared_{way}_mbps",
    )
)
LINK_KEYS = ("name", "rtt_ms", *WAY_KEYS, "per_client", "seed", "source")
SHARED_KEYS = tuple(f"shared_{way}_mbps" for way in Way)
PRESET_KEYS = ("preset", "per_client", *SHARED_KEYS)  # of a table that takes a link of configs/links
DELAY_KEYS = tuple(f"delay_{way}_ms" for way in Way)
GILBERT_ELLIOTT_KEYS = tuple(field.name for field in fields(GilbertElliott))


def links_of(data: Mapping[str, Any], folder: Path, *, per_client: bool = False) -> tuple[Link, ...]:
    """The links of a study; files that they name are looked for in `folder`.

    `per_client`: each client has a link to itself, unless its table says otherwise.
    """
    links: list[Link] = []
    entries = keys.entries(data, "links")
    for number, entry in enumerate(entries, start=1):
        if isinstance(entry, str):
            links.extend(_preset({"preset": entry}, per_client))
        elif isinstance(entry, dict):
            try:
                if "preset" in entry:
                    links.extend(_preset(entry, per_client))
                else:
                    links.extend(_links_of_table(entry, folder, per_client))
            except StudyError as error:
                which = f"link {number}: " if len(entries) > 1 else ""
                raise StudyError(f"{which}{error}") from error
        else:
            raise StudyError(f"links holds {shown(entry)}; an entry is a table or the name of a link")
    names = [link.name for link in links]
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"two links are named {name!r}")
    return tuple(links)


def _preset(table: Mapping[str, Any], per_client: bool) -> list[Link]:
    """Links of configs/links, each for one client or shared by all as the table says; `none` is no link to share."""
    keys.refuse_unknown(table, PRESET_KEYS, "a link with a preset")
    own = keys.truth(table, "per_client", default=per_client)
    links = named_links(keys.text(table, "preset"))
    down, up = _shared(table)
    return [
        replace(link, per_client=own, shared_down_mbps=down, shared_up_mbps=up) if link.emulated else link
        for link in links
    ]


def _shared(table: Mapping[str, Any]) -> list[float | None]:
    """The rate that all clients share, each way; None without limit."""
    return [
        keys.positive(key, table[key], MIN_RATE_MBPS, MAX_RATE_MBPS) if key in table else None
        for key in SHARED_KEYS
    ]


def named_links(name: str) -> tuple[Link, ...]:
    """A link of configs/links, or all those of a file with several round-trip times (`2012-10mbps`); `none` is none."""
    by_file = {file: _read(path) for file, path in configs.shipped("links").items()}
    by_name = {link.name: (link,) for links in by_file.values() for link in links}
    known = by_file | by_name | {NO_LINK.name: (NO_LINK,)}
    if name not in known:
        raise _unknown(name, known, [*by_file, NO_LINK.name])
    return known[name]


def named_link(name: str) -> Link:
    """One link of configs/links; `none` is none."""
    links = {link.name: link for link in (*shipped_links(), NO_LINK)}
    files = (*configs.shipped("links"), NO_LINK.name)
    if name in files and name not in links:
        several = named_links(name)
        raise StudyError(
            f"{name} names {len(several)} links: {', '.join(link.name for link in several)}; name one of them"
        )
    if name not in links:
        grids_last = sorted(links, key=lambda link: link not in files)
        raise _unknown(name, links, grids_last)
    return links[name]


def _unknown(name: str, known: Iterable[str], told: Sequence[str]) -> StudyError:
    near = keys.nearest(name, known)
    there = shortened(told, keys.TOLD) if near else ", ".join(told)
    return StudyError(f"no link is named {shown(name)}{near}; there are: {there}")


def shipped_links() -> tuple[Link, ...]:
    """Every link of configs/links."""
    return tuple(link for path in configs.shipped("links").values() for link in _read(path))


def _read(path: Path) -> tuple[Link, ...]:
    table = {"name": path.stem, **textfile.parse_toml(textfile.read_text(path))}
    return tuple(_links_of_table(table, path.parent, per_client=False))


def _links_of_table(table: Mapping[str, Any], folder: Path, per_client: bool) -> list[Link]:
    """One link per round-trip time of the table; each of several bears it in its name."""
    keys.refuse_unknown(table, LINK_KEYS, "a link")
    delays, times = _delays(table), _round_trips(table)
    name = keys.text(table, "name") if "name" in table else None
    if "source" in table:
        keys.text(table, "source")
    rates = {way: _rate(table, way, folder) for way in Way}
    down = rates[Way.DOWN]
    if down is None:
        raise StudyError("a link needs down_mbps (or trace_down, steps_down)")
    seed = keys.number(table, "seed", 1, 0, MAX_SEED, whole=True)
    own, shared = keys.truth(table, "per_client", default=per_client), _shared(table)
    links = []
    for time in times:
        rtt = keys.positive("rtt_ms", time, LEAST_DELAY_MS, MAX_RTT_MS, zero=True)
        to, fro = (_direction(table, way, rates[way] or down, rtt, delays[way]) for way in Way)
        called = default_name(to, fro, rtt) if name is None else name
        if name is not None and len(times) > 1:
            called = f"{name}-{rtt:g}ms"
        links.append(Link(called, rtt, to, fro, int(seed), own, *shared))
    return links


def _delays(table: Mapping[str, Any]) -> Mapping[Way, float | None]:
    """The delay of each direction; None where the table says its round-trip time instead."""
    given = [key for key in DELAY_KEYS if key in table]
    if given and "rtt_ms" in table:
        raise StudyError(f"a link has both rtt_ms and {given[0]}; give rtt_ms, or {' and '.join(DELAY_KEYS)}")
    if not given and "rtt_ms" not in table:
        raise StudyError(f"a link needs rtt_ms (or {' and '.join(DELAY_KEYS)})")
    if len(given) == 1:
        raise StudyError(f"a link has {given[0]} alone; give {' and '.join(DELAY_KEYS)}, or rtt_ms")
    return {
        way: keys.positive(key, table[key], LEAST_DELAY_MS, MAX_DELAY_MS, zero=True) if given else None
        for way, key in zip(Way, DELAY_KEYS, strict=True)
    }


def _round_trips(table: Mapping[str, Any]) -> list[Any]:
    """The round-trip times of a table: what it lists, or the one that its delays sum up to."""
    if "rtt_ms" not in table:
        return [round(sum(table[key] for key in DELAY_KEYS), 6)]
    return keys.entries(table, "rtt_ms") if isinstance(table["rtt_ms"], list) else [table["rtt_ms"]]


def _rate(table: Mapping[str, Any], way: Way, folder: Path) -> Rate | None:
    """The rate of a direction by the one key that gives it; None when none does."""
    given = [key for key in (f"{way}_mbps", *(f"{form}_{way}" for form in RateFormat)) if key in table]
    if len(given) > 1:
        raise StudyError(f"a link has both {' and '.join(given)}; a direction has one rate")
    if not given:
        return None
    if given[0] == f"{way}_mbps":
        return ConstantRate(keys.positive(given[0], table[given[0]], MIN_RATE_MBPS, MAX_RATE_MBPS))
    return RecordedRate.read(
        RateFormat(given[0].removesuffix(f"_{way}")), folder / keys.text(table, given[0])
    )


def _direction(
    table: Mapping[str, Any], way: Way, rate: Rate, rtt_ms: float, delay_ms: float | None
) -> Direction:
    return Direction(
        way,
        rate,
        _queue(table, way, rate.mean_mbps, rtt_ms),
        _loss(table, way),
        keys.positive(
            f"jitter_{way}_ms", table.get(f"jitter_{way}_ms", 0), LEAST_DELAY_MS, MAX_DELAY_MS, zero=True
        ),
        delay_ms,
    )


def _queue(table: Mapping[str, Any], way: Way, rate_mbps: float, rtt_ms: float) -> Queue:
    size_key = f"queue_{way}_bytes"
    discipline = keys.enum(f"queue_{way}", table.get(f"queue_{way}", Discipline.DROP_TAIL), Discipline)
    if size_key in table:
        size = int(keys.checked_number(size_key, table[size_key], 1, 2**40, whole=True))
        return Queue(discipline, size)
    if discipline is Discipline.UNLIMITED:
        return Queue(discipline, None)
    return Queue(discipline, default_queue(rate_mbps, rtt_ms).limit_bytes)


def _loss(table: Mapping[str, Any], way: Way) -> Loss:
    percent_key, bursty_key = f"loss_{way}_percent", f"gilbert_elliott_{way}"
    if bursty_key not in table:
        return RandomLoss(keys.positive(percent_key, table.get(percent_key, 0), *LOSS_PERCENT, zero=True))
    if percent_key in table:
        raise StudyError(f"a link has both {percent_key} and {bursty_key}; a direction has one kind of loss")
    bursty = keys.table(bursty_key, table[bursty_key], GILBERT_ELLIOTT_KEYS)
    if not {"p", "r"} <= bursty.keys():
        raise StudyError(f"{bursty_key} must be a table with at least p and r, found {shown(bursty)}")
    return GilbertElliott(
        **{
            key: keys.positive(f"{bursty_key}: {key}", value, LEAST_CHANCE, 1, zero=True)
            for key, value in bursty.items()
        }
    )
