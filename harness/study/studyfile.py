"""A study file (TOML) as a `Study`. Unknown keys and impossible values are refused by name."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import configs
from harness.errors import StudyError
from harness.input import keys
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shortened, shown
from harness.model.condition import (
    CODED_AS_RECORDED,
    FULL_SPEED,
    USUAL_FACTOR,
    CacheState,
    Compression,
    Origins,
    dimensions_of,
    slowdown_of,
)
from harness.model.engine import DESKTOP, DEVICES, Engine
from harness.model.kind import BODIES, HAR, KEPT_FILES, Kind
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import (
    EQUAL,
    LONGEST_CHAIN,
    STREAM_WINDOW_BYTES,
    TLS_VERSIONS,
    CertificateChain,
    CertificateKey,
    Distances,
    NameSide,
    Replay,
    TcpSettings,
    ThinkTime,
)
from harness.model.trials import USUAL_TRIALS, Trials
from harness.study.claim import Publication
from harness.study.claimfile import claims_in
from harness.study.enginefile import (
    by_engine,
    drivers_in,
    engines_in,
    refuse_blind,
    vitals_in,
    workloads_of,
)
from harness.study.figure import figures_of
from harness.study.linkfile import links_of
from harness.study.pageset import pages_of, refuse_overlap
from harness.study.plan import Plan
from harness.study.publicationfile import left_of, publication_of
from harness.study.rules import check, unpipelined
from harness.study.serverfile import SERVER_KEYS, servers_of
from harness.study.study import Study, companions_of, fits, refuse_outside_figures
from harness.study.studytext import StudyText
from harness.study.variantfile import (
    factors_in,
    filter_settings_of,
    refuse_idle,
    refuse_needless,
    refuse_without_use,
    variants_of,
    without_of,
)

COMMON_KEYS = (
    *("name", "title", "kind", "pages", "variants", "without", "filters", "protocols", "links", "origins"),
    *("determinism", "compression", "think_time", *SERVER_KEYS, "tls", "tls_resumption"),
    *("certificate_chain", "certificate_key", "tcp", "trials", "seed", "aa"),
    *("claims", "figures", "only_figures", "published", "factors"),
)  # of every kind
OF_KINDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.LOAD: (
        *("engine", "engines", "drivers", "device", "cpu_slowdown", "cache", "h2_stream_window_bytes", "dns"),
        *("spdy_header_compression", "distance", "timeout_s", "keep", "vitals", "portraits"),
    ),
    Kind.USERS: ("generator", "users"),
    Kind.REQUESTS: ("generator", "requests", "keep"),
}
STUDY_KEYS = (*COMMON_KEYS, *dict.fromkeys(itertools.chain.from_iterable(OF_KINDS.values())))
TCP_KEYS = (
    *("congestion_control", "initial_window", "slow_start_after_idle", "tail_loss_probe"),
    "remembers_destinations",
)


def read_study(path: Path) -> Study:
    """Read and validate a study file; raises StudyError with one line that names the file and the key."""
    try:
        text = StudyText.read(path).text
    except FileNotFoundError as error:
        raise StudyError(f"no study file {path}{_studies_like(path)}") from error
    except (OSError, StudyError, ValueError) as error:  # a path with a NUL is a ValueError
        why = getattr(error, "strerror", None) or error
        raise StudyError(f"cannot read the study file {path}: {why}") from error
    return parse_study(text, str(path), path.parent)


def _studies_like(path: Path) -> str:
    """The studies that ship, for who named none. The name of a file is seldom meant for one of them."""
    shipped, name = shipped_studies(), path.name.removesuffix(".toml")
    is_file = str(path) != name
    near = keys.nearest(name, shipped, keys.VERY_LIKE if is_file else keys.LIKE)
    there = shortened(list(shipped), keys.TOLD) if near or is_file else ", ".join(shipped)
    return f"{near}; studies that ship: {there}"


def parse_study(text: str, where: str, folder: Path = Path()) -> Study:
    """`read_study` on text; `where` names it in errors, files that it names are looked for in `folder`."""
    told = StudyText(text)
    try:
        study = replace(_with_same_bodies(_study(told.keys, folder)), text=told)
        refuse_without_use(study)
        refuse_needless(told.keys, study.every_protocol, study.replays, {})
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from error
    return study


def shipped_studies() -> dict[str, Path]:
    """The studies that ship with the project, by name."""
    return configs.shipped("studies")


def published_today(plan: Plan) -> Publication | None:
    """What ships today of the publication that a plan repeats, for the conditions of the plan.

    None when the plan repeats nothing that ships. StudyError when a shipped study cannot be read.
    """
    path = shipped_studies().get(plan.study)
    if plan.published is None or path is None:
        return None
    today = read_study(path).published
    if today is None or today.source != plan.published.source:
        return None
    conditions = [dimensions_of(cell, plan.sets) for cell in plan.cells]
    return left_of(today, conditions, [figure.name for figure in plan.figures])


def _study(data: Mapping[str, Any], folder: Path) -> Study:
    keys.refuse_unknown(data, STUDY_KEYS, "the study")
    kind = _kind(data)
    name = keys.text(data, "name")
    if not NAME_PATTERN.fullmatch(name):
        raise StudyError(f"name is {shown(name)}; it may hold letters, digits, '.', '_' and '-' only")
    protocols = tuple(keys.enums(data, "protocols", Protocol))
    engines = engines_in(data, kind, protocols)
    pages, sets = pages_of(data, folder)
    device = DEVICES[keys.choice("device", data.get("device", DESKTOP.name), tuple(DEVICES))]
    replays = {
        engine: _replay(data, keys.choice("tls", value, TLS_VERSIONS))
        for engine, value in by_engine(data, "tls", {engine: engine.traits.tls for engine in engines}).items()
    }
    study = Study(
        name=name,
        kind=kind,
        title=keys.text(data, "title", name),
        pages=pages,
        sets=sets,
        variants=variants_of(data),
        without=without_of(data),
        filter_settings=filter_settings_of(data),
        compressions=_compressions(data),
        protocols=protocols,
        links=links_of(data, folder, per_client=kind is Kind.USERS),
        engines=engines,
        drivers=drivers_in(data, engines),
        device=device,
        workloads=workloads_of(data, kind),
        replays=replays,
        servers=servers_of(data, engines, kind, folder),
        tcp=_tcp(keys.table("tcp", data["tcp"], TCP_KEYS) if "tcp" in data else {}),
        trials=Trials.parse(data.get("trials", USUAL_TRIALS)),
        seed=int(keys.number(data, "seed", 0, 0, 2**63 - 1, whole=True)) if "seed" in data else None,
        timeout_s=keys.number(data, "timeout_s", 60, 1, 3600),
        keep=_kept(data, kind, engines),
        aa=keys.truth(data, "aa", default=Study.aa),
        portraits=kind is Kind.LOAD and keys.truth(data, "portraits", default=True),
        cpu_slowdowns=tuple(
            slowdown_of(slowdown) for slowdown in _one_or_more(data, "cpu_slowdown", FULL_SPEED)
        ),
        caches=tuple(
            keys.enum("cache", cache, CacheState) for cache in _one_or_more(data, "cache", CacheState.COLD)
        ),
    )
    factors: list[Study] = []
    for factor, named, changed in factors_in(data):
        factors.append(_factor(factor, named, changed, (study, *factors), folder))
    if factors:
        study = replace(study, factor=USUAL_FACTOR, factors=tuple(factors))
        refuse_overlap(study.every_set)
    study = _with_figures(study, data)
    _check(study)
    every = claims_in(data, study.dimensions, kind, {figure.name: figure.where for figure in study.figures})
    claims = tuple(claim for claim in every if not claim.is_published)
    published = publication_of(data, folder, study, [claim for claim in every if claim.is_published])
    compared = published.compared if published else ()
    about = [*(claim.metric for claim in (*claims, *compared)), *(figure.metric for figure in study.figures)]
    vitals = kind is Kind.LOAD and vitals_in(data, study.keep, about, study.engines)
    study = replace(study, claims=claims, vitals=vitals, published=published)
    return replace(study, companions=companions_of(study))


def _with_same_bodies(study: Study) -> Study:
    """The study where an engine gets the same bodies by all its protocols and with every factor.

    That stays so when some of them are left out later.
    """
    over_http = {
        setup.engine
        for part in study.parts
        for setup in part.setups
        if any(protocol.scheme == "http" for protocol in setup.protocols)
    }
    parts = [
        replace(
            part,
            replays={
                engine: replace(replay, over_http=engine in over_http)
                for engine, replay in part.replays.items()
            },
        )
        for part in study.parts
    ]
    return replace(parts[0], factors=tuple(parts[1:]))


def _with_figures(study: Study, data: Mapping[str, Any]) -> Study:
    """The study with the figures of its file; StudyError when it measures them alone, and lists what none has."""
    figures = figures_of(data, study.dimensions, study.kind)
    only = keys.truth(data, "only_figures", default=False)
    if only and not figures:
        raise StudyError("only_figures is true and the study has no [[figures]]; leave it out, or add some")
    whole = replace(study, figures=figures, only_figures=only)
    if only:
        refuse_outside_figures(whole)
    return whole


def _factor(
    name: str, named: Collection[str], changed: Mapping[str, Any], before: Sequence[Study], folder: Path
) -> Study:
    """The study of one factor, which names some keys, by the file as it would be with that factor alone.

    `before`: the study without any factor, then those of the factors before this one.
    """
    try:
        made = replace(_study(changed, folder), factor=name)
        _refuse_namesakes(made.links, {link.name: link for part in before for link in part.links})
        refuse_needless(named, made.protocols, made.replays, before[0].replays)
        refuse_idle(made, before[0])
    except StudyError as error:
        raise StudyError(f"factor {name}: {error}") from error
    return made


def _refuse_namesakes(links: Sequence[Link], others: Mapping[str, Link]) -> None:
    """StudyError when a link is called as another one of `others`, by their names, that differs."""
    for link in links:
        if others.get(link.name, link) != link:
            raise StudyError(
                f"link: the study has another link that is called {link.name}; give this one a name"
            )


def _kept(data: Mapping[str, Any], kind: Kind, engines: Collection[Engine]) -> tuple[str, ...]:
    """What is kept of each trial; StudyError for bodies that nothing would hold, and for what an engine cannot give."""
    kept = keys.choices(data, "keep", KEPT_FILES[kind], ())
    if BODIES in kept and HAR not in kept:
        raise StudyError('keep: "bodies" are kept in the HAR; name "har", too, or leave "bodies" out')
    refuse_blind(kept, engines)
    return kept


def _kind(data: Mapping[str, Any]) -> Kind:
    """The kind of a study; StudyError when it has keys of another one."""
    kind = keys.enum("kind", data.get("kind", Kind.LOAD), Kind)
    for key in data:
        if key not in (*COMMON_KEYS, *OF_KINDS[kind]):
            others = " or ".join(f'"{other}"' for other, own in OF_KINDS.items() if key in own)
            raise StudyError(
                f"{key} goes with kind = {others}, and this study's kind is {kind}; leave it out"
            )
    return kind


def _check(study: Study) -> None:
    """StudyError when a condition cannot be measured, or something that the study names has nothing to do."""
    programs = {server.name: server for servers in study.servers.values() for server in servers}
    for condition in study.conditions:
        if condition.factor != study.factor:
            continue  # of another part, which was checked by itself
        replay = replace(study.replays[condition.engine], compression=condition.compression)
        server = programs[condition.server]
        check(condition, replay, server.program)
        server.refuse_unless_spoken(condition.protocol)
    for driver in study.drivers:
        if set(driver.engines).isdisjoint(study.engines):
            steered = ", ".join(driver.engines)
            raise StudyError(f"drivers: {driver} steers {steered}, and no engine of this study")
    working = {(setup.engine, setup.server) for setup in study.setups}
    for engine, servers in study.servers.items():
        for server in servers:
            if (engine, server) not in working:
                raise StudyError(
                    f"server: {server} speaks none of the protocols by {engine}, or compresses by none of the "
                    "compressions; leave it out"
                )
    for protocol in study.protocols:
        if not any(fits(workload, protocol) for workload in study.workloads):
            raise StudyError(unpipelined(protocol))
        if not any(protocol in setup.protocols for setup in study.setups):
            raise StudyError(f"server: none of the servers speaks {protocol}; leave {protocol} out")
    for compression in study.compressions:
        if not any(compression in setup.compressions for setup in study.setups):
            raise StudyError(
                f"server: none of the servers compresses by {compression}; leave {compression} out"
            )


def _replay(data: Mapping[str, Any], tls: str) -> Replay:
    """The settings of an engine that gets this version of TLS, but for the compression."""
    return Replay(
        origins=keys.enum("origins", data.get("origins", "single"), Origins),
        determinism=keys.truth(data, "determinism", default=Replay.determinism),
        think_time=ThinkTime.parse(data.get("think_time", "none")),
        tls_resumption=keys.truth(data, "tls_resumption", default=Replay.tls_resumption),
        tls=tls,
        h2_stream_window_bytes=int(
            keys.number(data, "h2_stream_window_bytes", None, *STREAM_WINDOW_BYTES, whole=True)
        )
        if "h2_stream_window_bytes" in data
        else None,
        dns=keys.enum("dns", data.get("dns", Replay.dns), NameSide),
        spdy_header_compression=keys.truth(
            data, "spdy_header_compression", default=Replay.spdy_header_compression
        ),
        distance=Distances.parse(data.get("distance", EQUAL)),
        chain=CertificateChain(
            int(keys.number(data, "certificate_chain", 1, 1, LONGEST_CHAIN, whole=True)),
            keys.enum(
                "certificate_key", data.get("certificate_key", CertificateKey.ECDSA_P256), CertificateKey
            ),
        ),
    )


def _compressions(data: Mapping[str, Any]) -> tuple[Compression, ...]:
    """One compression, or a list of several."""
    value = data.get("compression", CODED_AS_RECORDED)
    compressions = []
    for entry in keys.entries(data, "compression") if isinstance(value, list) else [value]:
        if not isinstance(entry, str):
            raise StudyError(f"compression is {shown(entry)}; it must be text, or a list of texts")
        compressions.append(Compression.parse(entry))
        if compressions.count(compressions[-1]) > 1:
            raise StudyError(f"compression holds {shown(entry)} twice")
    return tuple(compressions)


def _one_or_more(data: Mapping[str, Any], key: str, default: Any) -> list[Any]:
    """One value, or a list of several."""
    value = data.get(key, default)
    return keys.entries(data, key) if isinstance(value, list) else [value]


def _tcp(table: Mapping[str, Any]) -> TcpSettings:
    default = TcpSettings()
    return TcpSettings(
        congestion_control=keys.text(table, "congestion_control", default.congestion_control),
        initial_window=int(keys.number(table, "initial_window", default.initial_window, 1, 1000, whole=True)),
        slow_start_after_idle=keys.truth(
            table, "slow_start_after_idle", default=default.slow_start_after_idle
        ),
        tail_loss_probe=keys.truth(table, "tail_loss_probe", default=default.tail_loss_probe),
        remembers_destinations=keys.truth(
            table, "remembers_destinations", default=default.remembers_destinations
        ),
    )
