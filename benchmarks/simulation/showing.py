"""What docs/results/statistics.md shows of the simulations, between a line as below and `<!-- end -->`.

    <!-- simulated PART -->        the tables of a part
    <!-- simulated properties -->  the table of all properties
    <!-- simulated changes -->     which figures are of other code than the present one

The parts are those of `benchmarks.simulation.parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from benchmarks.common import markdown
from benchmarks.simulation.keeping import KeptPart, KeptParts
from benchmarks.simulation.properties import EVERY_PROPERTY, NOT_KEPT

PROPERTIES, CHANGES = "properties", "changes"
NOT_YET = "Not simulated yet."
HasChanged = Callable[[str, KeptPart], bool]


def simulated(what: str, parts: KeptParts, names: Iterable[str], has_changed: HasChanged) -> str:
    """What stands in a document: the tables of a part, all properties, or what has changed. `names`: of every part."""
    if what == PROPERTIES:
        return _properties(parts, has_changed)
    if what == CHANGES:
        return _changes(parts, names, has_changed)
    return _tables(parts[what]) if what in parts else f"{NOT_YET}\n"


def _properties(parts: KeptParts, has_changed: HasChanged) -> str:
    columns = ("property", "", "held to, %", "reached, %", "studies", "seed", "date", "commit", "code since")
    rows: list[tuple[str, ...]] = []
    for promise in EVERY_PROPERTY:
        part = parts.get(promise.part)
        if part is None:
            rows.append((promise.of, promise.text, promise.held_to, NOT_YET.rstrip("."), *[""] * 5))
            continue
        commit = f"`{part.commit}`" if part.commit else NOT_KEPT
        since = NOT_KEPT if not part.code else "changed" if has_changed(promise.part, part) else "the same"
        figures = (promise.told(part), f"{part.studies:,}", str(part.seed), part.date, commit, since)
        rows.append((promise.of, promise.text, promise.held_to, *figures))
    return f"{markdown(columns, rows, naming=2)}\n"


def _changes(parts: KeptParts, names: Iterable[str], has_changed: HasChanged) -> str:
    every = list(names)
    missing = [name for name in every if name not in parts]
    changed = [name for name in every if name in parts and has_changed(name, parts[name])]
    lines = [
        *_listed("Not simulated yet", missing),
        *_listed("Of other code than the present one, or of code that nobody kept", changed),
    ]
    return "".join(f"- {line}\n" for line in lines) or "All figures are of the present code.\n"


def _listed(head: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{head}: {', '.join(f'`{name}`' for name in names)}."


def _tables(part: KeptPart) -> str:
    commit = f", commit `{part.commit}`" if part.commit else ""
    seconds = f", {part.seconds} s" if part.seconds else ""
    of = f"Seed {part.seed}, {part.date}{commit}{seconds}."
    heads = (f"**{table.title}.** {f'{table.precision} {of}'.lstrip()}" for table in part.tables)
    tables = (markdown(table.columns, table.rows) for table in part.tables)
    return "\n".join(f"{head}\n\n{table}\n" for head, table in zip(heads, tables, strict=True))
