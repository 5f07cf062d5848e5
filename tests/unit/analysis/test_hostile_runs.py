"""A run directory that was damaged, or made by somebody else: a report, or one line that names the file."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.evaluation.results import IDS, evaluate
from analysis.report import facts, summary
from analysis.report.report import build, render
from analysis.runs.rundirectory import load, write_parquet
from analysis.tables.table import write
from analysis.tables.tables import tables_of
from harness.cli.commands import main
from harness.errors import RecordsError
from tests.unit.analysis.synthetic import Synthetic, entitled

SMALL = Synthetic(pages=("p",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=5)
FILES = ("records.jsonl", "plan.jsonl", "calibration.jsonl", "environment.json", "study.toml")
HOSTILE = "=1+1 | \\ _a_ % $x$ # <script>alert(1)</script> [a](b) \x1b[2J\u202e \ud800 \n\t{}&amp; @"
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([HOSTILE, 10**30, 2**63, -1, 0, 1e-300, 1e300, "-1", "../../x", "\0", "plain", "run"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
NEW_KEYS = st.sampled_from(
    ["run", "cell", "place", "panel", "excluded_by", "plt_ms", "trial", "link", "name", "down_mbps", "", "=x"]
)


def places(data: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in nested JSON."""
    found = []
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        found.append((data, key))
        if isinstance(data[key], dict | list):
            found += places(data[key])
    return found


def damaged(folder: Path, draw: st.DataObject) -> None:
    """One value, line or byte of one file is another."""
    path = folder / draw.draw(st.sampled_from(FILES))
    content = path.read_bytes()
    lines = content.split(b"\n")
    number = draw.draw(st.integers(0, max(0, len(lines) - 2)))
    if path.suffix == ".toml" or draw.draw(st.integers(0, 3)) == 0:
        at = draw.draw(st.integers(0, len(content)))
        path.write_bytes(
            content[:at] + draw.draw(st.binary(max_size=5)) + content[at + draw.draw(st.integers(0, 9)) :]
        )
        return
    data = json.loads(lines[number])
    container, key = draw.draw(st.sampled_from(places(data)))
    if isinstance(container, dict) and draw.draw(st.booleans()):
        key = draw.draw(NEW_KEYS)
    container[key] = draw.draw(VALUES)
    lines[number] = json.dumps(data).encode()
    path.write_bytes(b"\n".join(lines))


def reported(folder: Path) -> None:
    """Everything of a report but its figures."""
    results = evaluate([load(folder)])
    tables = tables_of(results)
    for each in tables:
        write(each, folder / "tables")
    write_parquet(results.records.drop(columns=list(IDS)), folder / "records.parquet")
    (folder / "report.html").write_text(render(results, tables, []), encoding="utf-8")
    assert facts.title(results)
    assert summary.claims(results)
    assert summary.floor(results)
    assert summary.of_all(results) or not results.claims
    assert all(summary.interactions(results))


@pytest.mark.thorough
@given(st.data())
@settings(max_examples=25)
def test_any_damage_is_reported_or_named(draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = SMALL.write(Path(folder) / "run")
        damaged(run, draw)
        said = ""
        try:
            reported(run)
        except RecordsError as error:
            said = str(error)
        assert "\n" not in said


def changed(run: Path, name: str, number: int, change: Any) -> Path:
    """A line (from 0) of a file, with `change` applied to what it holds."""
    path = run / name
    lines = path.read_text().splitlines()
    data = json.loads(lines[number])
    change(data)
    path.write_text("\n".join([*lines[:number], json.dumps(data), *lines[number + 1 :], ""]))
    return run


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("plt_ms", 10**30, "the number 100000000000000000000000000000… is too large"),
        ("requests", 10**400, "is too large"),
        ("plt_ms", 1e300, "plt_ms is 1e+300: Expected `float` <= 1000000000000.0"),
        ("plt_ms", 1e-300, "plt_ms is 1e-300; no page loads in less"),
        ("plt_ms", float("nan"), "NaN is not JSON"),
        ("block", "x" * 10**6, "block is 'xxx"),
        ("missed", json.loads("[" * 30 + "]" * 30), "more than 20 brackets"),
        ("reason", "x" * 21_000_000, "over 20 MB long"),
    ],
)
def test_what_cannot_be_reckoned_with_is_named_by_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, value: Any, says: str
) -> None:
    run = changed(SMALL.write(tmp_path / "run"), "records.jsonl", 2, lambda data: data.update({key: value}))
    assert main(["report", str(run)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "records.jsonl:3" in said
    assert says in said
    assert len(said) < 500


def test_deep_nesting_is_named(tmp_path: Path) -> None:
    run = SMALL.write(tmp_path / "run")
    (run / "records.jsonl").write_text('{"a": ' + "[" * 10**6 + "\n")
    with pytest.raises(RecordsError, match=r"records.jsonl:1 is damaged \(more than 20 brackets"):
        load(run)


@pytest.mark.thorough
def test_texts_of_pages_are_texts_in_every_format(tmp_path: Path) -> None:
    """A study, a page and a driver whose names are made to break out; the whole report, figures and all."""
    run = SMALL.write(tmp_path / "run")
    for name in ("records.jsonl", "plan.jsonl"):
        path = run / name
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            if "condition" in row:
                row["condition"]["page"] = re.sub(
                    "[\x00-\x1f\u202e\ud800]", "", HOSTILE
                )  # no font has them, or no page can be called so
                row["reason"] = HOSTILE
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    entitled(run, "<script>alert(1)</script>")
    report = build([run])
    page = report.path.read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    written = [path for path in run.rglob("*") if path.suffix in (".html", ".csv", ".md", ".tex")]
    assert len(written) > 10
    for path in written:
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", path.read_text()), path
    csv = (run / "tables" / "median-times.csv").read_text()
    assert "'=1+1" in csv
    markdown = (run / "tables" / "median-times.md").read_text()
    assert r"=1+1 \| \\ \_a\_ % \$x\$ # \<script>alert(1)\</script> [a]\(b)" in markdown
    latex = (run / "tables" / "median-times.tex").read_text()
    assert r"=1+1 \textbar{} \textbackslash{} \_a\_ \% \$x\$ \# \textless{}script\textgreater{}" in latex
