"""The tables of single trials: repeated attempts, why which was left out, loads that asked for other things, and what
loads waited for.

Loads are compared by the digest of what they asked for before their load event (`requested_digest`), the lists stand
once in `requested.jsonl`. The usual set of a page is the one that most loads of a variant in an engine asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.evaluation import leftout, waits
from analysis.evaluation.results import Results
from analysis.labels import metrics, words
from analysis.labels.conditions import (
    POINT,
    cell_text,
    engine_label,
    in_reading_order,
    protocol_label,
    value_text,
    varying,
)
from analysis.runs.exclude import PAGE_IN_AN_ENGINE
from analysis.tables.cellcolumns import cell_heads, cell_of
from analysis.tables.table import NOT_KNOWN, FoldedColumn, Shown, Table, folded, total, with_interval
from harness.errors import Outcome
from harness.input.shown import clipped, shortened
from harness.model.condition import AGAIN
from harness.model.kind import Waiting

REASONS_SHOWN = 3
DRAWN_AGAIN = "packets of another run"
COUNTED = ("trials", "attempts", "repeated", "counted")
LONGEST_SHOWN = 160  # characters of a reason
DIGEST = "requested_digest"
SETTING = "setting"  # what else of a condition makes loads of a page ask for something else, where it varies
PAGE = ["page", "variant", SETTING]
CONDITION = [*PAGE, "engine", "protocol"]
COUNTS_OF_LOADS = (*CONDITION, "loads", "trials", "of")
URLS_SHOWN = 4
LONGEST_URL = 90  # characters of a URL
WAITS = tuple(waits.LABELS[waiting].capitalize() for waiting in Waiting)


def attempts(results: Results) -> Table | None:
    """Conditions of which some trial took more than one attempt; None when every trial had one."""
    records = results.records
    made = records.groupby("cell").size()
    trials = records.drop_duplicates(["run", "trial"]).groupby("cell").size()
    counted = results.sifted.kept.groupby("cell").size().reindex(made.index, fill_value=0)
    counts = pd.DataFrame({"trials": trials, "attempts": made, "counted": counted})
    counts["repeated"] = counts["attempts"] - counts["trials"]
    data = _by_condition(results, counts[counts["repeated"] > 0].reset_index())
    if data.empty:
        return None
    why = results.sifted.excluded["excluded_by"].reindex(records.index).where(results.told, DRAWN_AGAIN)
    reasons = {
        cell: ", ".join(f"{rule} {count}" for rule, count in found.value_counts().items())
        for cell, found in why.dropna().groupby(records["cell"])
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


def _by_condition(results: Results, counts: pd.DataFrame) -> pd.DataFrame:
    """The rows of `counts`, which have a `cell`, beside what their conditions are, in reading order.

    Those of conditions that were measured again come last; where there are any, a column `again` tells them.
    """
    first = results.conditions.merge(counts, on="cell", how="inner")
    records = results.records
    twins = records[records[AGAIN] & records["cell"].isin(counts["cell"])].drop_duplicates("cell")
    if twins.empty:
        return first
    ordered = in_reading_order(twins, [*results.panel_columns, *POINT[::-1]])
    again = ordered[[*results.condition_columns, "cell"]].merge(counts, on="cell", how="inner")
    parts = [part.assign(**{AGAIN: part is again}) for part in (first, again) if not part.empty]
    return pd.concat(parts, ignore_index=True)


def exclusion_shares(results: Results) -> Table | None:
    """What the values of each dimension lost, with the test; None when nothing was left out."""
    losses = results.left_out.losses
    if not losses:
        return None
    cells = {int(cell["cell"]): cell for cell in results.cells.to_dict("records")}
    telling = varying(results.cells, [*results.panel_columns, *POINT])

    def value_of(dimension: str, value: Any) -> str:
        if dimension != leftout.CONDITION:
            return value_text(dimension, value)
        return cell_text(cells[value], telling) if value in cells else "measured again"

    return Table(
        name="exclusion-shares",
        title="Whether some lost more attempts than others",
        note="The greatest share and the least of each dimension, in per cent of the attempts. p: the chance of shares "
        "as uneven when the losses of a block are shuffled over its trials; q: corrected for all dimensions. "
        "Files hold all.",
        data=pd.DataFrame(
            {
                "dimension": loss.dimension,
                "value": value_of(loss.dimension, share.value),
                "left_out": share.lost,
                "attempts": share.attempts,
                "p": loss.p,
                "q": loss.q,
            }
            for loss in losses
            for share in loss.shares
        ),
        head=("Dimension", "Most (%)", "Of", "Least (%)", "Of", "p", "q"),
        rows=tuple(
            (
                Shown(loss.dimension),
                *(
                    shown
                    for share in (loss.shares[0], loss.shares[-1])
                    for shown in (
                        Shown(words.number(100 * share.share, 1), f"{share.lost} of {share.attempts}"),
                        Shown(value_of(loss.dimension, share.value)),
                    )
                ),
                Shown(words.probability(loss.p)),
                Shown(words.probability(loss.q)),
            )
            for loss in losses
        ),
        keys=1,
    )


def exclusions(results: Results) -> Table | None:
    """Excluded trials per condition and rule, with what the records say; None when every trial counts."""
    data = _by_condition(results, results.sifted.by_condition(["cell"]))
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
        data=data.drop(columns="cell").assign(said=["; ".join(reasons) for reasons in data["said"]]),
        head=(*cell_heads(results), "Rule", "Excluded", "Of", "Why"),
        rows=tuple(rows),
        keys=len(cell_heads(results)),
    )
    summed = (FoldedColumn("Excluded", "excluded", total), FoldedColumn("Of", "recorded", total))
    return folded(made, summed, made.keys + 1)


def _most_common(reasons: pd.Series[str]) -> list[str]:
    return [str(reason) for reason in reasons.value_counts().index]


def _shown(reasons: Iterable[str]) -> str:
    """The first ones; the CSV has all."""
    return shortened([clipped(reason, LONGEST_SHOWN) for reason in reasons], REASONS_SHOWN, separator="; ")


def loads_that_differ(results: Results) -> Table | None:
    """One row for each protocol and other set of URLs; None when all loads of a page asked for the same."""
    if DIGEST not in results.records:
        return None
    records = results.records[results.records["outcome"] == Outcome.OK]
    records = records[records[DIGEST].notna()]
    records = records.assign(**{SETTING: _settings(records)})
    sets = {digest: urls for run in results.runs for digest, urls in run.requested.items()}
    data = pd.DataFrame([*_between_engines(records, sets), *_within(records, sets)])
    if data.empty:
        return None
    return Table(
        name="loads-that-differ",
        title="Loads that differ",
        note="What was asked for before the load event, against what most loads of the page in that variant, setting "
        "and engine asked for. Numbers made of time or chance count as one another.",
        data=data.assign(more=data["more"].str.join(" "), missing=data["missing"].str.join(" ")),
        head=("Page", "Variant", "Engine", "Loads", "Trials", "Of", "More", "Missing"),
        rows=tuple(_row_of_loads(row) for row in data.to_dict("records")),
        keys=3,
    )


def _settings(records: pd.DataFrame) -> list[str]:
    """The setting of each load: what varies of that which makes a page ask for something else, `mobile, warm cache`."""
    others = [name for name in (*PAGE_IN_AN_ENGINE, "factor") if name not in CONDITION and name in records]
    told = list(varying(records, others))
    rows = records[told].itertuples(index=False) if told else itertools.repeat((), len(records))
    return [", ".join(map(value_text, told, row)) for row in rows]


def _within(records: pd.DataFrame, sets: Mapping[str, frozenset[str]]) -> Iterator[dict[str, Any]]:
    """Loads against the usual ones of their page, variant, setting and engine."""
    usual = _usual(records)
    for key, found in records.groupby(CONDITION, sort=True):
        *page, engine, protocol = map(str, key)
        expected = usual[*page, engine]
        others = found.loc[found[DIGEST] != expected, DIGEST].value_counts()
        which = _loads(protocol_label(protocol), page[-1])
        for digest, count in others.items():
            told = (*page, engine, protocol, which, int(count), len(found))
            yield dict(zip(COUNTS_OF_LOADS, told, strict=True)) | _difference(sets, expected, str(digest))


def _between_engines(records: pd.DataFrame, sets: Mapping[str, frozenset[str]]) -> Iterator[dict[str, Any]]:
    """The usual loads of an engine against those of the first one that loaded the same page."""
    usual = _usual(records)
    first: dict[tuple[str, ...], tuple[str, str]] = {}
    for (*page, engine), digest in sorted(usual.items()):
        reference, expected = first.setdefault(tuple(page), (engine, digest))
        if digest != expected:
            here = (records[[*PAGE, "engine"]] == [*page, engine]).all(axis=1)
            trials = int((here & (records[DIGEST] == digest)).sum())
            against = _loads(f"usual, against {engine_label(reference)}", page[-1])
            told = (*page, engine, "", against, trials, int(here.sum()))
            yield dict(zip(COUNTS_OF_LOADS, told, strict=True)) | _difference(sets, expected, digest)


def _loads(which: str, setting: str) -> str:
    """Which loads of a page these are, and in which setting where it varies."""
    return f"{which}, {setting}" if setting else which


def _usual(records: pd.DataFrame) -> dict[tuple[str, ...], str]:
    """The digest of most loads; of equally many the first by its letters."""
    counts = records.groupby([*PAGE, "engine", DIGEST]).size()
    best: dict[tuple[str, ...], tuple[int, str]] = {}
    for row in counts.reset_index(name="count").to_dict("records"):
        key = tuple(str(row[name]) for name in (*PAGE, "engine"))
        if key not in best or row["count"] > best[key][0]:
            best[key] = (int(row["count"]), str(row[DIGEST]))
    return {key: digest for key, (_, digest) in best.items()}


def _difference(sets: Mapping[str, frozenset[str]], expected: str, found: str) -> dict[str, list[str]]:
    there, here = sets.get(expected, frozenset()), sets.get(found, frozenset())
    return {"more": sorted(here - there), "missing": sorted(there - here)}


def _row_of_loads(row: Mapping[Any, Any]) -> tuple[Shown, ...]:
    return (
        Shown(row["page"]),
        Shown(row["variant"]),
        Shown(engine_label(row["engine"])),
        Shown(row["loads"]),
        Shown(words.number(row["trials"])),
        Shown(words.number(row["of"])),
        _urls(row["more"]),
        _urls(row["missing"]),
    )


def _urls(urls: list[str]) -> Shown:
    """The first ones; the CSV has all."""
    if not urls:
        return NOT_KNOWN
    shown = shortened([clipped(url, LONGEST_URL) for url in urls], URLS_SHOWN, separator=" ")
    return Shown(f"{len(urls)}: {shown}")


def waiting_times(results: Results) -> Table | None:
    """The mean time of each class; None where no trial tells."""
    means = waits.means(results)
    if means.empty:
        return None
    data, rows = _with_conditions(results, means), []
    for cell, parts in means.groupby("cell", sort=False):
        row = _cell(results, cell)
        shown = [_ms(part) for part in parts.to_dict("records")]
        rows.append((*cell_of(results, row), *shown, Shown(words.number(parts["n"].iloc[0]))))
    return Table(
        name="waits",
        title=f"What loads waited for, mean in ms [{results.certainty.interval}]",
        note="The parts add up to the mean page-load time. Of what goes on at once, the first in this order counts."
        f"{metrics.ended_text(results.timed_out)}",
        data=data,
        head=(*cell_heads(results), *WAITS, "n"),
        rows=tuple(rows),
        keys=len(cell_heads(results)),
    )


def waiting_changes(results: Results) -> Table | None:
    """What variants and protocols change of it; None where there is nothing to set against another."""
    changes = waits.changes(results)
    if changes.empty:
        return None
    rows = []
    for (cell, reference, column), parts in changes.groupby(["cell", "reference", "column"], sort=False):
        against = value_text(str(column), _cell(results, reference)[column])
        against += " (the same archive)" * all(waits.of_one_archive(results, parts))
        shown = [_ms(part) for part in parts.to_dict("records")]
        n = Shown(words.number(parts["n"].iloc[0]))
        rows.append((*cell_of(results, _cell(results, cell)), Shown(against), *shown, n))
    return Table(
        name="waits-changed",
        title=f"What a variant or a protocol changes of it, mean in ms [{results.certainty.interval}]",
        note="Below 0: loads wait less for it than against what the row names. n: blocks that hold both."
        f"{metrics.ended_text(results.timed_out)}",
        data=_with_conditions(results, changes),
        head=(*cell_heads(results), "Against", *WAITS, "Whole load", "n"),
        rows=tuple(rows),
        keys=len(cell_heads(results)),
    )


def _with_conditions(results: Results, found: pd.DataFrame) -> pd.DataFrame:
    """The waits with the values of their conditions, for the CSV."""
    cells = results.conditions
    data = cells.merge(found, on="cell", how="inner")
    if "reference" in data:
        names = cells.set_index("cell")
        reference = [
            names.loc[cell, column] for cell, column in zip(data["reference"], data["column"], strict=True)
        ]
        data = data.assign(reference=reference)
    return data.drop(columns="cell")


def _cell(results: Results, cell: Any) -> Mapping[Any, Any]:
    row: Mapping[Any, Any] = results.cells[results.cells["cell"] == cell].iloc[0].to_dict()
    return row


def _ms(part: Mapping[Any, Any]) -> Shown:
    digits = words.decimals(part["ms"])
    return with_interval(part["ms"], part["low"], part["high"], digits)
