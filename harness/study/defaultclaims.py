"""What is compared where a study does not say: baselines of settings, filters of a factorial study, claims. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from harness.model.condition import CODED_AS_RECORDED, UNCOMPRESSED, USUAL, USUAL_FACTOR, is_again, value
from harness.model.kind import Kind, main_metric
from harness.model.protocol import Protocol, baseline
from harness.model.protocol import baseline as baseline_of
from harness.model.variant import PLAIN
from harness.study.claim import Claim, Dimensions, pairs

Thing = TypeVar("Thing")


class Compared(NamedTuple):
    """What tells the conditions of a setting apart, by name."""

    protocol: str
    variant: Any
    compression: Any


def baseline_among(setting: Sequence[Thing], compared: Callable[[Thing], Compared]) -> Thing:
    """The condition with http1 or the first protocol, plain, without compression; the first of equally near ones."""
    protocol = baseline(compared(condition).protocol for condition in setting)

    def distance(each: Thing) -> tuple[bool, bool, bool]:
        traits = compared(each)
        return traits.protocol != protocol, traits.variant != PLAIN, traits.compression != UNCOMPRESSED

    return min(setting, key=distance)


WITHOUT = ",-"


def factors(variants: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The filters of each whole variant that some variant leaves out."""
    filters: dict[str, list[str]] = {}
    for variant in sorted(variants):
        whole, mark, name = variant.rpartition(WITHOUT)
        if mark and whole in variants:
            filters.setdefault(whole, []).append(name)
    return {whole: tuple(names) for whole, names in filters.items()}


def single_filters(variants: Collection[str]) -> frozenset[str]:
    """The variants that only serve to tell filters apart: one filter alone, the whole without one."""
    wholes = factors(variants).items()
    alone = {name for _, names in wholes for name in names}
    return frozenset(variants) & (
        alone | {f"{whole}{WITHOUT}{name}" for whole, names in wholes for name in names}
    )


def default_claims(conditions: Sequence[Dimensions], kind: Kind = Kind.LOAD) -> tuple[Claim, ...]:
    """One claim for each protocol, variant and compression that is not itself the baseline; none expects anything.

    They are about the main metric of the kind. Of loads there is one for each slowdown of the processor and for a warm
    cache, too, in other kinds for each server.

    A protocol is compared within its engine, in the plain variant and the first compression; a variant with each
    protocol, in the first compression; a compression with each protocol, in the plain variant. Single filters of a
    factorial study are left to exploration.

    A factor that lacks the baseline, the plain variant or the first compression of the study has its own first one.
    """
    measured = [condition for condition in conditions if not is_again(condition)]
    claims = (*_protocols(measured), *_variants(measured), *_compressions(measured))
    if kind is Kind.LOAD:
        claims = (*claims, *(claim for dimension in USUAL for claim in _unlike_usual(measured, dimension)))
    else:
        claims = (*claims, *_servers(measured))
    return tuple(replace(claim, metric=main_metric(kind)) for claim in claims if pairs(claim, measured))


def _protocols(conditions: Sequence[Dimensions]) -> list[Claim]:
    """Engines that have the same baseline share a claim. What runs over TLS is set against HTTP/1.1 over TLS, too."""
    engines: dict[tuple[str, str], list[str]] = {}
    baselines: set[str | None] = set()
    for engine in _values(conditions, "engine"):
        its_own = [condition for condition in conditions if value(condition, "engine") == engine]
        baselines.add(baseline_of(_values(its_own, "protocol")))
        for part in _parts(its_own):
            spoken = _values(part, "protocol")
            for protocol in spoken:
                for reference in (_with_tls(protocol, spoken), baseline_of(spoken)):
                    if reference is not None and reference != protocol:
                        named = engines.setdefault((protocol, reference), [])
                        named += [engine] * (engine not in named)
    order = _values(conditions, "protocol")
    place = _first(conditions, "variant") | _first(conditions, "compression")
    several = len(baselines) > 1
    return [
        _claim("protocol", protocol, baseline, place | ({"engine": tuple(names)} if several else {}))
        for (protocol, baseline), names in sorted(engines.items(), key=lambda each: order.index(each[0][0]))
    ]


def _with_tls(protocol: str, spoken: Collection[str]) -> str | None:
    """What a protocol over TLS is set against first, where it was measured: cleartext would count TLS as its cost."""
    encrypted = protocol in {member.value for member in Protocol if member.encrypted}
    return Protocol.HTTPS1.value if encrypted and Protocol.HTTPS1.value in spoken else None


def _variants(conditions: Sequence[Dimensions]) -> list[Claim]:
    single = single_filters(_values(conditions, "variant"))
    whole = [[name for name in _values(part, "variant") if name not in single] for part in _parts(conditions)]
    place = _first(conditions, "compression")
    return [_claim("variant", name, reference, place) for name, reference in _against_first(whole)]


def _compressions(conditions: Sequence[Dimensions]) -> list[Claim]:
    names = [_values(part, "compression") for part in _parts(conditions)]
    told = [each for each in names if {UNCOMPRESSED, CODED_AS_RECORDED} & set(each)]
    place = _first(conditions, "variant")
    return [_claim("compression", name, reference, place) for name, reference in _against_first(told)]


def _servers(conditions: Sequence[Dimensions]) -> list[Claim]:
    """Of a study that lists several: those after the first, each by every protocol that both speak."""
    names = list(dict.fromkeys(str(condition["server"]) for condition in conditions))
    there = [{str(condition["server"]) for condition in part} for part in _parts(conditions)]
    of_parts = [[name for name in names if name in part] for part in there]
    place = _first(conditions, "variant") | _first(conditions, "compression")
    return [_claim("server", name, reference, place) for name, reference in _against_first(of_parts)]


def _unlike_usual(conditions: Sequence[Dimensions], dimension: str) -> list[Claim]:
    """Of a study that also holds the browser as it usually is."""
    options = sorted(
        {option for option in (value(one, dimension) for one in conditions) if option is not None}
    )
    usual = USUAL[dimension]
    place = _first(conditions, "variant") | _first(conditions, "compression")
    return [
        Claim(
            name=f"{dimension} {option} against {usual}",
            subject={dimension: option},
            reference={dimension: usual},
            where=place,
        )
        for option in options
        if usual in options and option != usual
    ]


def _claim(dimension: str, subject: str, reference: str, where: Mapping[str, tuple[str, ...]]) -> Claim:
    place = f" in {' and '.join(where['engine'])}" if "engine" in where else ""
    return Claim(
        name=f"{subject} against {reference}{place}",
        subject={dimension: subject},
        reference={dimension: reference},
        where=where,
    )


def _first(conditions: Sequence[Dimensions], dimension: str) -> dict[str, tuple[str, ...]]:
    """A `where` that keeps to the first value of a dimension; nothing where there is only one.

    Of a factor that lacks it, its own first one is kept to as well, also in the study as it is: a factor is set against
    that.
    """
    names = _values(conditions, dimension)
    firsts: list[str] = []
    for part in _parts(conditions):
        there = _values(part, dimension)
        firsts += there[:1] if not set(firsts) & set(there) else []
    return {dimension: tuple(firsts)} if len(names) > len(firsts) else {}


def _against_first(of_parts: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Every name with the first one of its part, each such pair once."""
    yield from dict.fromkeys((name, names[0]) for names in of_parts for name in names[1:])


def _parts(conditions: Sequence[Dimensions]) -> list[list[Dimensions]]:
    """The conditions of the study as it is, then those with each factor, in the order of their names."""
    parts: dict[str, list[Dimensions]] = defaultdict(list)
    for condition in conditions:
        parts[str(value(condition, "factor") or USUAL_FACTOR)].append(condition)
    return [parts[name] for name in sorted(parts, key=lambda name: (name != USUAL_FACTOR, name))]


def _values(conditions: Sequence[Dimensions], dimension: str) -> list[str]:
    """The values of a dimension, whatever the order of the conditions: baselines first, protocols as in tables."""
    options = {str(option) for option in (value(one, dimension) for one in conditions) if option is not None}
    order = (
        (PLAIN,)
        if dimension == "variant"
        else (UNCOMPRESSED, CODED_AS_RECORDED)
        if dimension == "compression"
        else tuple(Protocol)
    )
    return sorted(options, key=lambda each: (order.index(each) if each in order else len(order), each))
