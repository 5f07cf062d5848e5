"""Portraits are shown, and change no estimate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from analysis.evaluation.results import evaluate
from analysis.report.portraits import portraits, rendered
from analysis.report.report import build
from analysis.runs.rundirectory import load as load_run
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic
from tests.unit.analysis.synthetic_film import keep_film
from tests.unit.analysis.synthetic_har import load

MADE = Synthetic(pages=("p",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=3)
SLOW_MS = 9000.0  # what no trial took


def portrayed(folder: Path, outcome: str = "ok") -> Path:
    """A run with a portrait of each condition, which took long; the second one has a damaged screenshot."""
    run = MADE.write(folder)
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    first_block = [each for each in records if each["block"] == 1]
    with (run / "portraits.jsonl").open("w") as file:
        for number, record in enumerate(first_block):
            name = f"portrait-{record['trial']}"
            told = {"trial": name, "block": 4, "portrait": True, "attempt": 1, "plt_ms": SLOW_MS}
            told |= {"outcome": outcome}
            file.write(json.dumps({**record, **told}) + "\n")
            kept = run / "trials" / name
            keep_film(kept, [1000.0, SLOW_MS])
            (kept / "load.har").write_text(json.dumps(load(12, SLOW_MS)))
            if number:
                (kept / "screenshot.png").write_bytes(b"\x89PNG\r\n\x1a\n<script>")
            else:
                Image.new("RGB", (640, 400), "blue").save(kept / "screenshot.png")
    return run


@pytest.mark.thorough
def test_what_is_looked_at_is_shown_and_in_no_estimate(tmp_path: Path) -> None:
    plain, run = evaluate([load_run(MADE.write(tmp_path / "plain"))]), portrayed(tmp_path / "run")
    results = evaluate([load_run(run)])
    assert results.cells["median"].tolist() == plain.cells["median"].tolist()
    assert len(results.records) == len(plain.records)
    found = portraits(results)
    assert [each.plt_ms for each in found.shown] == [SLOW_MS] * 2
    assert all(each.load is not None and each.film is not None for each in found.shown)
    assert len({each.label for each in found.shown}) == 2
    page = str(rendered(found))
    assert page.count("<figure>") == 2
    assert page.count('class="shot"') == 1  # the damaged one is left out
    assert "9.00 s, median" in page


def test_a_load_that_is_not_as_it_should_be_is_shown_as_failed(tmp_path: Path) -> None:
    found = portraits(evaluate([load_run(portrayed(tmp_path / "run", "missing-objects"))]))
    assert [each.plt_ms for each in found.shown] == [None] * 2
    assert "failed (missing-objects)" in str(rendered(found))


@pytest.mark.thorough
def test_the_report_draws_portraits_where_no_other_load_was_kept(tmp_path: Path) -> None:
    run = portrayed(tmp_path / "run")
    page = build([run]).path.read_text()
    assert 'id="portraits"' in page
    assert tells(page, "portrait of its condition")
    assert "trial portrait-" in page


@pytest.mark.thorough
def test_a_run_without_portraits_has_no_such_part(tmp_path: Path) -> None:
    assert 'id="portraits"' not in build([MADE.write(tmp_path / "run")]).path.read_text()
