"""The tables of what was not counted: attempts that were repeated, and why which trial was left out."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.tables.cellcolumns import cell_heads, cell_of
from analysis.tables.folding import FoldedColumn, folded, total
from analysis.tables.table import Shown, Table
from harness.input.shown import clipped, shortened

REASONS_SHOWN = 3
COUNTED = ("trials", "attempts", "repeated", "counted")
LONGEST_SHOWN = 160  # characters of a reason


def attempts(results: Results) -> Table | None:
    """Conditions of which some trial took more than one attempt; None when every trial had one."""
    records = results.records
    made = records.groupby("cell").size()
    trials = records.drop_duplicates(["run", "trial"]).groupby("cell").size()
    counted = results.sifted.kept.groupby("cell").size().reindex(made.index, fill_value=0)
    counts = pd.DataFrame({"trials": trials, "attempts": made, "counted": counted})
    counts["repeated"] = counts["attempts"] - counts["trials"]
    data = _cells(results).merge(counts[counts["repeated"] > 0], on="cell", how="inner")
    if data.empty:
        return None
    reasons = {
        cell: ", ".join(f"{rule} {count}" for rule, count in found.value_counts().items())
        for cell, found in results.sifted.excluded.groupby("cell")["excluded_by"]
    }
    data["reasons"] = [reasons.get(cell, "") for cell in data["cell"]]
    table = Table(
        name="attempts",
        title="Trials that took more than one attempt",
        note="An attempt that does not count is repeated in its block. Of a trial, at most one attempt counts, "
        "unless its block was begun again on another machine.",
        data=data.drop(columns="cell"),
        head=(
            *cell_heads(results),
            "Trials",
            "Attempts",
            "Repeated",
            "Trials that count",
            "Not counted because",
        ),
        rows=tuple(
            (
                *cell_of(results, row),
                *(Shown(words.number(row[name])) for name in COUNTED),
                Shown(row["reasons"] or words.DASH),
            )
            for row in data.to_dict("records")
        ),
        keys=len(cell_heads(results)),
    )
    summed = zip(table.head[table.keys : -1], COUNTED, strict=True)
    return folded(table, [FoldedColumn(head, name, total) for head, name in summed], table.keys)


def exclusions(results: Results) -> Table | None:
    """Excluded trials per condition and rule, with what the records say; None when every trial counts."""
    data = _cells(results).merge(results.sifted.by_condition(["cell"]), on="cell", how="inner")
    if data.empty:
        return None
    excluded = results.sifted.excluded
    said = (
        {}
        if "reason" not in excluded
        else {
            key: _most_common(found.dropna().astype(str))
            for key, found in excluded.groupby(["cell", "excluded_by"])["reason"]
        }
    )
    meanings = {rule.name: rule.meaning for rule in results.sifted.rules}
    data["said"] = [said.get(key, []) for key in zip(data["cell"], data["excluded_by"], strict=True)]
    rows = [
        (
            *cell_of(results, row),
            Shown(row["excluded_by"]),
            Shown(words.number(row["excluded"])),
            Shown(words.number(row["recorded"])),
            Shown(_shown(row["said"]) or meanings[row["excluded_by"]]),
        )
        for row in data.to_dict("records")
    ]
    made = Table(
        name="exclusions",
        title="Excluded trials",
        note="By the first rule that applies. Why: what the records say, the most frequent first.",
        data=data.drop(columns="cell").assign(said=["; ".join(each) for each in data["said"]]),
        head=(*cell_heads(results), "Rule", "Excluded", "Of", "Why"),
        rows=tuple(rows),
        keys=len(cell_heads(results)),
    )
    summed = (FoldedColumn("Excluded", "excluded", total), FoldedColumn("Of", "recorded", total))
    return folded(made, summed, made.keys + 1)


def _cells(results: Results) -> pd.DataFrame:
    return results.cells[[*results.condition_columns, "cell"]]


def _most_common(reasons: pd.Series[str]) -> list[str]:
    return [str(reason) for reason in reasons.value_counts().index]


def _shown(reasons: Iterable[str]) -> str:
    """The first ones; the CSV has all."""
    return shortened([clipped(reason, LONGEST_SHOWN) for reason in reasons], REASONS_SHOWN, separator="; ")
