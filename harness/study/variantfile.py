"""The variants of a study file: `variants`, and two tables beside them.

`[without]` names for a page the filters that its variants go without, as those that break it; an empty list says that
the page is measured with all of them. `[filters]` sets limits of filters, as `inline_css = {max_bytes = 4096}`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shortened, shown
from harness.model.filtersettings import SETTINGS, Changed, settings_in
from harness.model.variant import FILTERS, PLAIN, Variant, factorial, parse_variant
from harness.study.study import Study, Without

WITHOUT, FILTER_TABLES = "without", "filters"  # keys of a study
MAX_PAGES = 1000
PAGES_SHOWN = 12


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
