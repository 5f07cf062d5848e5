"""Slowed processors and warm caches are dimensions: they tell conditions apart in names, tables, claims and rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from analysis.evaluation.results import Results, evaluate
from analysis.report import facts, methodtexts
from analysis.report.summary import claims
from analysis.runs.rundirectory import load
from analysis.tables.tables import median_times
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic


@dataclass(frozen=True)
class Browsers(Synthetic):
    """A run of which every condition is measured cold and warm, at full speed and slowed; a warm load asks for less."""

    def conditions(self) -> list[dict[str, Any]]:
        return [
            each | cache | slowed
            for each in super().conditions()
            for cache in ({}, {"cache": "warm"})
            for slowed in ({}, {"cpu_slowdown": 4})
        ]

    def records(self) -> list[dict[str, Any]]:
        return [self._seen(each) for each in super().records()]

    @staticmethod
    def _seen(record: dict[str, Any]) -> dict[str, Any]:
        if record["condition"].get("cache") == "warm":
            record |= {"plt_ms": record["plt_ms"] / 4, "requests": 1, "painted": False}
        return record | {"machine_speed": 100.0 + record["block"]}


MADE = Browsers(pages=("p",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=7)


def results(folder: Path, made: Synthetic = MADE) -> Results:
    return evaluate([load(made.write(folder / "run"))])


def test_they_are_told_in_tables_and_claims(tmp_path: Path) -> None:
    found = results(tmp_path)
    assert found.sifted.excluded.empty  # few requests are no sign of a broken page where the cache is warm
    table = median_times(found)
    assert {"CPU slowdown", "Cache"} <= set(table.head)
    assert len(table.rows) == 4
    said = [each.text for each in claims(found)]
    assert tells(said, "warm cache against cold cache", "faster"), said
    assert tells(said, "CPU slowed 4 times against full CPU speed"), said
    texts = {each.head: each.text for each in methodtexts.method_texts(found)}
    assert tells(texts["Conditions."], "caches: cold, warm", "slowdowns of the processor: 1, 4")
    assert "warm cache" in texts["Trials."]


def test_the_head_tells_the_speed_of_the_machine(tmp_path: Path) -> None:
    told = dict(facts.facts(results(tmp_path)))
    assert tells([told["Machine speed"]], "104.0 runs a second", "(101.0 to 107.0)")


@pytest.mark.thorough
def test_runs_of_older_versions_were_cold_and_at_full_speed(tmp_path: Path) -> None:
    plain = Synthetic(pages=("p",), protocols=("h2",), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=2)
    older = load(plain.write(tmp_path / "older"))
    assert set(older.records["cache"]) == {"cold"}
    assert set(older.records["cpu_slowdown"]) == {1}
    newer = load(replace(MADE, seed=1).write(tmp_path / "newer"))
    both = evaluate([older, newer])
    assert len(both.cells) == len(newer.records.groupby(["protocol", "cache", "cpu_slowdown"]))
    assert "Machine speed" not in dict(facts.facts(evaluate([older])))
