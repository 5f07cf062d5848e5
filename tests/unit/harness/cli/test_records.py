"""`coldload records`: what it gives out, what it refuses, and that the examples of its page run."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.scale import LargeRun
from harness.cli.commands import main
from harness.model.kind import Kind
from harness.model.metric import Unit
from harness.study.metrics import metrics_of

DOCS = Path(__file__).parents[4] / "docs"
PAGE, COLUMNS = DOCS / "records.md", DOCS / "reference" / "columns.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records") / "run"
    LargeRun(pages=1, trials=2).write(folder)
    return folder


def given(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> pd.DataFrame:
    assert main(["records", *words]) == 0
    return pd.read_csv(io.BytesIO(capfdbinary.readouterr().out))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["records", *words]) == 2
    return capsys.readouterr().err


def test_all_of_it_as_csv(run: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    found = given(capfdbinary, str(run))
    assert found["plt_ms"].tolist() == [line["plt_ms"] for line in lines]
    assert found["link"].tolist() == [line["condition"]["link"]["name"] for line in lines]


def test_what_is_asked_for(run: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    every = given(capfdbinary, str(run))
    some = given(capfdbinary, str(run), "--where", "protocol == 'h2' and rtt_ms in (20, 50)", "--csv")
    wanted = every[(every["protocol"] == "h2") & every["rtt_ms"].isin([20, 50])]
    assert some["trial"].tolist() == wanted["trial"].tolist() != []


def test_parquet_into_a_file(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "h2.parquet"
    assert main(["records", str(run), "--where", "protocol = 'h2'", "--parquet", "--out", str(out)]) == 0
    assert re.fullmatch(rf"{out}: \d+ of \d+ records\n", capsys.readouterr().out)
    assert set(pd.read_parquet(out)["protocol"]) == {"h2"}
    assert [path.name for path in tmp_path.iterdir()] == ["h2.parquet"]


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("protocl = 'h2'", r'column "protocl" not found.*"protocol"'),
        ('protocol = "h2"', 'column "h2" not found'),
        ("plt_ms >", "at character 8"),
        ("order > 1", "at character 7"),
        ("plt_ms > 'abc'", "'abc' to DOUBLE"),
        ("protocol", "to BOOL"),
        ("1 = 1; drop table records", "--where"),
        ("true) or (true", "at character 5"),
        ("count(*) > 1", "aggregates"),
        ("nothing(plt_ms) > 1", "nothing does not exist"),
        ("", "--where"),
        ("(select count(*) from read_csv('/etc/passwd')) > 0", "disabled"),
        ("(select count(*) from every) > 0", "does not exist"),
    ],
)
def test_an_expression_that_cannot_be_asked_is_one_line(
    run: Path, capsys: pytest.CaptureFixture[str], where: str, says: str
) -> None:
    error = refused(capsys, str(run), "--where", where)
    assert re.search(says, error)
    assert error.count("\n") == 1
    assert "docs/records.md" in error


def test_an_incomplete_last_line_is_left_out(
    run: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    text = (run / "records.jsonl").read_text()
    (tmp_path / "records.jsonl").write_text(text[:-40])
    assert len(given(capfdbinary, str(tmp_path))) == text.count("\n") - 1


def test_a_damaged_line_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (run / "records.jsonl").read_text()
    (tmp_path / "records.jsonl").write_text(text.replace('{"schema"', '{schema"', 1))
    assert "records.jsonl:1 is damaged" in refused(capsys, str(tmp_path))


def test_a_text_that_begins_as_a_formula_is_defused(run: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    lines[0] |= {"reason": "=1+1", "link_reading": {"=field": "plain"}}
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["records", str(tmp_path), "--out", str(tmp_path / "out.csv")]) == 0
    found = pd.read_csv(tmp_path / "out.csv")
    assert found["reason"].tolist()[0] == "'=1+1"
    assert "link_reading_=field" in found


def test_every_column_is_documented_with_its_type(run: Path, tmp_path: Path) -> None:
    assert main(["records", str(run), "--parquet", "--out", str(tmp_path / "records.parquet")]) == 0
    types = {
        "text": pa.types.is_string,
        "whole number": pa.types.is_int64,
        "true or false": pa.types.is_boolean,
    }
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \| [^|]* \|(?: (.*) \|)?$", COLUMNS.read_text(), re.MULTILINE)
    documented = {name: kind for name, kind, kinds in rows if kinds in ("", "all", f"`{Kind.LOAD}`")}
    metrics = metrics_of(Kind.LOAD)
    for column in pq.read_schema(tmp_path / "records.parquet"):
        if column.name.startswith(("link_", "link_reading_")):
            continue
        kind = documented.get(column.name) or _kind(metrics[column.name].unit)
        told = types.get(kind, lambda each: pa.types.is_float64(each) or pa.types.is_int64(each))
        assert told(column.type), column


def _kind(unit: Unit) -> str:
    return "number" if unit.is_number else "true or false" if unit is Unit.FLAG else "text"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "code", re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
)
def test_the_examples_run(run: Path, tmp_path: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["records", str(run), "--parquet", "--out", str(tmp_path / "records.parquet")]) == 0
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.py").write_text(code)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        runpy.run_path("example.py")
    assert "h2" in told.getvalue()


def test_what_a_terminal_would_act_on_is_made_visible(
    run: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    lines[0]["reason"] = "\x1b[2J\0 \u202egnp.exe\u2028 \x9b31m"
    lines[1]["reason"] = "\x1b=1+1"
    hostile = tmp_path / "run"
    shutil.copytree(run, hostile)
    (hostile / "records.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert main(["records", str(hostile)]) == 0
    said = capfdbinary.readouterr().out.decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e]", said)
    assert r"\x1b[2J\x00 \u202egnp.exe\u2028 \x9b31m" in said
    assert given(capfdbinary, str(hostile))["plt_ms"].tolist() == [line["plt_ms"] for line in lines]
