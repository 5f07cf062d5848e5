"""Estimates and measured savings side by side, from a run with made-up times of which the truth is known."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import load
from benchmarks.lighthouse import DATA, DOCUMENT, measured, told_by_lighthouse
from benchmarks.lighthousetables import AUDITS, BASE, BEGIN, END, UNMATCHED, write_tables
from harness.study.advising import Alternative
from harness.study.claim import Claim
from tests.unit.analysis.synthetic import Synthetic

RESULTS = Path(__file__).parents[3] / "docs" / "results"
IMAGES = Alternative("images", "", "", {"variant": "images"})


def run_with_images(folder: Path) -> Path:
    """Images make the page 30 % faster, and its first paint with it."""
    saves = partial(Claim, subject={"variant": "images"}, reference={"variant": "passthrough"})
    painted = (saves(name=f"images, {metric}", metric=metric) for metric in ("fcp_ms", "lcp_ms"))
    claims = (saves(name="images"), *painted)
    return Synthetic(
        pages=("dummy-2012",),
        variants=("passthrough", "images"),
        protocols=("h2",),
        rates_mbps=(10.0,),
        rtts_ms=(50.0,),
        trials=8,
        noise=0.01,
        factors={"images": 0.7},
        claims=claims,
        aa=True,
    ).write(folder / "run")


def over_the_link() -> str:
    seen = {"observedFirstContentfulPaint": 900, "observedLargestContentfulPaint": 1900}
    return json.dumps(
        {"kind": "observed", "audits": {"metrics": {"details": {"items": [seen]}}}, "warnings": []}
    )


def lighthouse_report(image_ms: float, fcp_ms: float) -> str:
    audits: dict[str, object] = {name: {} for name in (*AUDITS, *UNMATCHED)}
    audits["image-delivery-insight"] = {"metricSavings": {"FCP": 0, "LCP": image_ms}}
    audits["font-display-insight"] = {"metricSavings": {"FCP": 300}}
    audits |= {name: {"numericValue": fcp_ms} for name in BASE}
    unslowed = {"observedFirstContentfulPaint": 90, "observedLargestContentfulPaint": 190}
    audits["metrics"] = {"details": {"items": [unslowed]}}
    return json.dumps({"kind": "simulated", "audits": audits, "warnings": []})


def test_what_is_measured_is_told_beside_the_estimate(tmp_path: Path) -> None:
    seen = measured(evaluate([load(run_with_images(tmp_path))]), [IMAGES])
    for metric in ("plt_ms", "fcp_ms"):
        saved = seen["changes"]["images"][metric]
        assert saved["saved_ms"] == pytest.approx(0.3 * saved["reference_ms"], rel=0.05)
        assert saved["low_ms"] < saved["saved_ms"] < saved["high_ms"]
        assert saved["blocks"] == 8
    assert seen["plain"]["fcp_ms"]["median"] < seen["plain"]["plt_ms"]["median"]

    file = tmp_path / "lighthouse.jsonl"
    reports = (lighthouse_report(ms, 1000 + ms) for ms in (100, 150, 300))
    file.write_text("\n".join([*reports, over_the_link()]))
    estimates = told_by_lighthouse(file)
    assert estimates["loads"] == 3
    assert estimates["audits"]["image-delivery-insight"]["lcp_ms"] == {
        "median": 150.0, "low": 100.0, "high": 300.0, "n": 3
    }  # fmt: skip
    assert estimates["audits"]["cache-insight"]["fcp_ms"] is None
    assert estimates["observed"]["lcp_ms"]["median"] == 1900

    document = tmp_path / "lighthouse.md"
    document.write_text(f"# Before\n{BEGIN}\nold\n{END}\nafter\n")
    page = {
        "page": "dummy-2012",
        "lighthouse": estimates,
        "measured": seen,
        "nothing_to_do": {"rewrite_css": "it has none"},
    }
    told = {
        "date": "2026-11-26",
        "versions": {"lighthouse": "13.5.0", "chromium": "Chromium 156"},
        "machine": {"processor": "Xeon", "cores": 2},
        "load_average": {"before": [0.1], "after": [1.2]},
        "link": {"name": "cable"},
        "protocol": "h2",
        "device": "desktop",
        "blocks": 8,
        "pages": [page],
    }
    write_tables([told], document)
    write_tables([told], document)  # again, in place of the first ones
    text = document.read_text()
    assert text.startswith("# Before\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    rows = [line.split(" | ") for line in text.splitlines() if "image-delivery" in line]
    over, row = [each for each in rows if "`images`" in each]
    assert over[2:7] == ["1", "1", "0", "0", "0"]  # of one page, where both say that LCP gains
    assert over[7] == "150 (150 to 150)"
    assert row[3] == "150 (100 to 300)"
    assert row[5].startswith(f"{seen['changes']['images']['fcp_ms']['saved_ms']:,.0f} [")
    assert "| unminified-css |  |  | `rewrite_css`: nothing to do |" in text
    assert "| font-display-insight | 300 |  | none: no filter does this |" in text
    assert "modern-http-insight" not in text  # the page is served by HTTP/2


def test_the_document_shows_the_tables_of_the_data(tmp_path: Path) -> None:
    text = (RESULTS / DOCUMENT).read_text()
    document = tmp_path / DOCUMENT
    document.write_text(text)
    write_tables(json.loads((RESULTS / DATA).read_text())["sittings"], document)
    assert document.read_text() == text
