"""What a study file varies: `variants`, with two tables beside them, and `[[factors]]`.

`[without]` names for a page the filters that its variants go without, as those that break it; an empty list says that
the page is measured with all of them. `[filters]` sets limits of filters, as `inline_css = {max_bytes = 4096}`.

A factor is what is measured once more with something changed. It is a study of its own: the file with the keys of the
factor's table in the place of the file's. So a factor can be whatever a study can say of its conditions, and one factor
changes one thing if its table has one key.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shortened, shown
from harness.model.condition import USUAL_FACTOR
from harness.model.engine import Engine
from harness.model.filtersettings import SETTINGS, Changed, settings_in
from harness.model.link import NO_LINK
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.model.variant import FILTERS, PLAIN, Variant, factorial, parse_variant
from harness.study.study import Study, Without

WITHOUT, FILTER_TABLES = "without", "filters"  # keys of a study; the second holds a table for each filter
MAX_PAGES = 1000
PAGES_SHOWN = 12
MAX_FACTORS = 50
LONGEST_FACTOR = 60
OF_ITSELF = ("claims", "figures", "only_figures", "published", "factors")  # of a study with all its factors
# What a study says of its run and not of its conditions.
OF_THE_RUN = (
    *("name", "title", "kind", "trials", "seed", "aa", "timeout_s", "keep", "vitals", "portraits"),
    *OF_ITSELF,
)
BY_ENGINE = ("server", "tls")  # may be a table with a value for each engine
LINK = "link"  # keys that every link of the study gets
TCP = "tcp"
MERGED = (TCP, WITHOUT)  # tables that keep what a factor's does not name
TLS = ("TLS", tuple(protocol for protocol in Protocol if protocol.encrypted))
SPDY_PLAIN = ("SPDY without TLS", (Protocol.SPDY_PLAIN,))
# Keys that are about something which not all protocols have: what they set of a replay, what that is of, and by which
# protocols.
OF_PROTOCOLS: Mapping[str, tuple[str, tuple[str, tuple[Protocol, ...]]]] = {
    "tls": ("tls", TLS),
    "tls_resumption": ("tls_resumption", TLS),
    "certificate_chain": ("chain", TLS),
    "certificate_key": ("chain", TLS),
    "h2_stream_window_bytes": ("h2_stream_window_bytes", ("HTTP/2", (Protocol.H2,))),
    "spdy_header_compression": ("spdy_header_compression", SPDY_PLAIN),
}


def variants_of(data: Mapping[str, Any]) -> tuple[Variant, ...]:
    """A list of variants, each a text or a list of filters and sets; or `{ factorial = variant }`."""
    if isinstance(data.get("variants"), dict):
        table = keys.table("variants", data["variants"], ("factorial",))
        return factorial(_variant(table.get("factorial")))
    variants = [parse_variant(_variant(entry)) for entry in keys.entries(data, "variants", [PLAIN])]
    names = [variant.name for variant in variants]
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"variants holds {shown(name)} twice")
    return tuple(variants)


def _variant(entry: Any) -> str:
    parts = entry if isinstance(entry, list) else [entry]
    if not parts or not all(isinstance(part, str) for part in parts):
        raise StudyError(f"variants holds {shown(entry)}; a variant is a text or a list of filters and sets")
    return ",".join(parts)


def without_of(data: Mapping[str, Any]) -> Without:
    """The filters that each page goes without; StudyError for what is no filter."""
    table = _table(data, WITHOUT, 'agency = ["inline_css"]')
    if len(table) > MAX_PAGES:
        raise StudyError(f"{WITHOUT} holds {len(table):,} pages; it may hold {MAX_PAGES:,}")
    return {page: _filters(page, found) for page, found in table.items()}


def filter_settings_of(data: Mapping[str, Any]) -> Changed:
    """The limits of filters that are not the usual ones."""
    return settings_in(_table(data, FILTER_TABLES, "inline_css = {max_bytes = 4096}"))


def parse_without(text: str) -> Without:
    """`PAGE=FILTER,FILTER`, as `--without` takes it; nothing behind the sign: the page as it is."""
    page, equals, names = (part.strip() for part in text.partition("="))
    if not page or not equals:
        raise StudyError(
            f"--without {shown(text)}: write PAGE=FILTERS, as in agency=inline_css, or agency= to leave nothing out"
        )
    return {page: _filters(page, [name.strip() for name in names.split(",")] if names else [])}


def without_text(without: Without) -> str:
    """The key of a study as its file has it, on one line: `without = {agency = ["inline_css"]}`."""
    pages = (
        f"{page if keys.BARE_KEY.fullmatch(page) else json.dumps(page)} = {json.dumps(list(names))}"
        for page, names in without.items()
    )
    return f"{WITHOUT} = {{{', '.join(pages)}}}"


def refuse_without_use(study: Study) -> None:
    """StudyError for a page that the study has not, and for a filter that none of its variants has."""
    used = {name for part in study.parts for variant in part.variants for name in variant.filters}
    for part in study.parts:
        for page, names in part.without.items():
            if page not in study.every_page:
                near = keys.nearest(page, study.every_page)
                there = shortened(study.every_page, PAGES_SHOWN)
                raise StudyError(f"{WITHOUT}: the study has no page {shown(page)}{near}; it has: {there}")
            _refuse_unused(f"{WITHOUT}: {page}", names, used)
        for name, _ in part.filter_settings:
            if not used & set(SETTINGS[name].filters):
                _refuse_unused(f"{FILTER_TABLES}: {name}", SETTINGS[name].filters, used)


def _refuse_unused(where: str, names: Iterable[str], used: Collection[str]) -> None:
    for name in names:
        if name not in used:
            raise StudyError(f"{where}: no variant of the study has {name}; leave it out")


def refuse_needless(
    named: Collection[str],
    protocols: Collection[Protocol],
    replays: Mapping[Engine, Replay],
    usual: Mapping[Engine, Replay],
) -> None:
    """StudyError for a key among these that changes nothing, as it is about what none of the protocols has.

    `usual`: what `replays` are without these keys. To say what is so anyway is no mistake.
    """
    for key, (attribute, (what, having)) in OF_PROTOCOLS.items():
        changed = any(
            getattr(replay, attribute) != getattr(usual.get(engine, Replay.usual(engine)), attribute)
            for engine, replay in replays.items()
        )
        if key in named and changed and set(having).isdisjoint(protocols):
            there = f"the only protocols are {', '.join(dict.fromkeys(protocols))}"
            raise StudyError(
                f"{key} changes nothing: it is about {what}, and {there}; leave {key} out, or add a protocol that has "
                f"{what} ({', '.join(having)})"
            )


def refuse_idle(factor: Study, usual: Study) -> None:
    """StudyError for a factor all of which is measured without it, too; a link is none other by its name alone."""
    mine, its = (
        replace(study, links=tuple(replace(link, name=NO_LINK.name) for link in study.links))
        for study in (factor, usual)
    )
    compared = (each.name for each in fields(Study) if each.compare and each.name not in ("factor", "vitals"))
    if all(_holds(getattr(its, name), getattr(mine, name)) for name in compared):
        raise StudyError(
            "it changes nothing: all that it measures is measured without it, too; change something else, or leave it "
            "out"
        )


def _holds(usual: Any, mine: Any) -> bool:
    """Whether a factor has nothing of a study's attribute that the study as it is has not."""
    if isinstance(mine, tuple):
        return set(mine) <= set(usual)
    if isinstance(mine, Mapping):
        return all(key in usual and usual[key] == each for key, each in mine.items())
    return bool(mine == usual)


def _filters(page: str, found: Any) -> tuple[str, ...]:
    """Filters in a list, in their order; a set is none, as `core` is the whole variant."""
    if not isinstance(found, list):
        raise StudyError(f"{WITHOUT}: {page} must be a list of filters, found {shown(found)}")
    for name in found:
        known = isinstance(name, str) and name in FILTERS
        if not known:
            near = keys.nearest(name, FILTERS) if isinstance(name, str) else ""
            raise StudyError(
                f"{WITHOUT}: {page}: there is no filter {shown(name)}{near}; `coldload optimize` without arguments "
                "lists them"
            )
    return tuple(name for name in FILTERS if name in found)


def _table(data: Mapping[str, Any], key: str, example: str) -> Mapping[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict) or (key in data and not value):
        raise StudyError(
            f"{key} must be a table, as in [{key}] {example}, found {shown(value)}; or leave {key} out"
        )
    return value


def factors_in(data: Mapping[str, Any]) -> Iterator[tuple[str, Collection[str], dict[str, Any]]]:
    """The name of every factor, the keys that it names, and the study file as it would be with that factor alone."""
    if "factors" not in data:
        return
    tables = keys.entries(data, "factors")
    if len(tables) > MAX_FACTORS:
        raise StudyError(f"factors holds {len(tables)} tables; it may hold {MAX_FACTORS}")
    seen: list[str] = []
    for table in tables:
        name = _factor_name(table)
        if name in (*seen, USUAL_FACTOR):
            raise StudyError(
                f"factors: two are called {shown(name)}, or it is the study as it is; rename one"
            )
        seen.append(name)
        try:
            changes = {key: each for key, each in table.items() if key != "name"}
            yield name, changes.keys(), _changed(data, changes)
        except StudyError as error:
            raise StudyError(f"factor {name}: {error}") from error


def _factor_name(table: Any) -> str:
    if not isinstance(table, dict):
        raise StudyError(f"factors holds {shown(table)}; an entry is a table, [[factors]]")
    name = keys.text(table, "name")
    if len(name) > LONGEST_FACTOR:
        raise StudyError(f"factors: a name has up to {LONGEST_FACTOR} characters, found {shown(name)}")
    return name


def _changed(data: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The file with the table's keys; those of MERGED, `filters` and `link` go into the tables that are there."""
    if not table:
        raise StudyError("it changes nothing; give it a key of the study file, or leave it out")
    for key in table:
        if key in OF_THE_RUN:
            raise StudyError(f"{key} is the same for the whole run; leave it out")
    own = {key: each for key, each in data.items() if key not in OF_ITSELF}
    changed = {**own, **{key: each for key, each in table.items() if key != LINK}}
    if {"engine", "engines"} & table.keys():
        changed = _of_engines(changed, table)
    for key in (key for key in MERGED if key in table):
        changed[key] = {**_changeable(data.get(key, {}), key), **_changeable(table[key], key)}
    if FILTER_TABLES in table:
        there, new = (_changeable(source.get(FILTER_TABLES, {}), FILTER_TABLES) for source in (data, table))
        changed[FILTER_TABLES] = {
            **there,
            **{
                name: {**_changeable(there.get(name, {}), name), **_changeable(new[name], name)}
                for name in new
            },
        }
    if LINK in table:
        changed["links"] = [
            {**_changeable(link, "links"), **_changeable(table[LINK], LINK)}
            for link in changed.get("links", [])
        ]
    return changed


def _of_engines(changed: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Without what the file says of engines that the factor leaves out."""
    left = table["engines"] if isinstance(table.get("engines"), list) else [table.get("engine")]
    kept: dict[str, Any] = {}
    for key, each in changed.items():
        if key in ("engine", "engines") and key not in table:
            continue
        by_engine = key in BY_ENGINE and isinstance(each, dict) and key not in table
        kept[key] = {name: value for name, value in each.items() if name in left} if by_engine else each
    return {key: each for key, each in kept.items() if key not in BY_ENGINE or each != {}}


def _changeable(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise StudyError(f"{key} must be a table for a factor to change it, found {shown(value)}")
    return value
