"""`import coldload`: the tables it gives are those of the run, and what goes wrong is one line."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import coldload
from harness.cli.commands import main
from harness.cli.interface import _print
from harness.errors import EnvironmentLacks, MeasurementRefused, RecordsError, UsageError
from tests.unit.analysis.synthetic import Synthetic

ROOT = Path(__file__).parents[4]
SMALL = Synthetic(pages=("news-mobile",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,))
NONE_COUNTS = replace(SMALL, outcomes={f"{trial:05d}": "testbed-failed" for trial in range(1, 11)})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return replace(SMALL, outcomes={"00003": "wrong-protocol"}).write(tmp_path_factory.mktemp("runs") / "run")


def test_records_are_a_table_that_says_which_of_them_count(run: Path) -> None:
    records = coldload.read(run)
    assert len(records) == 10
    assert records[~records["counts"]]["trial"].tolist() == ["00003"]
    assert records.loc[records["trial"] == "00003", "left_out"].tolist() == ["wrong-protocol"]


def test_columns_are_those_of_the_command(run: Path, tmp_path: Path) -> None:
    assert main(["records", str(run), "--parquet", "--out", str(tmp_path / "records.parquet")]) == 0
    assert (
        coldload.read(run).columns.tolist() == pd.read_parquet(tmp_path / "records.parquet").columns.tolist()
    )


def test_medians_are_those_of_the_records(run: Path) -> None:
    records, medians = coldload.read(run), coldload.medians(run)
    mine = medians[medians["metric"] == "plt_ms"].set_index("protocol")
    counted = records[records["counts"]].groupby("protocol")["plt_ms"]
    assert mine["median"].to_dict() == counted.median().to_dict()
    assert mine["trials"].to_dict() == counted.size().to_dict()
    assert (mine["low"] < mine["median"]).all()
    assert (mine["median"] < mine["high"]).all()
    assert set(mine["unit"]) == {"ms"}


def test_a_run_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match=r"no run directory|is not a run directory") as told:
        coldload.read(tmp_path / "nothing")
    assert "\n" not in str(told.value)
    with pytest.raises(UsageError, match="no file can be called so"):
        coldload.read("a\0b")


def test_of_a_run_without_a_trial_that_counts_there_are_records_and_no_medians(tmp_path: Path) -> None:
    run = NONE_COUNTS.write(tmp_path / "run")
    assert not coldload.read(run)["counts"].any()
    with pytest.raises(MeasurementRefused, match=f"no trial of {run} counts, so there is no median") as told:
        coldload.medians(run)
    assert "\n" not in str(told.value)


def test_a_part_of_pandas_that_is_missing_is_one_line(run: Path) -> None:
    code = "import sys; sys.modules['pyarrow'] = None; import coldload; coldload.read(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(run)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"{EnvironmentLacks.__module__}.EnvironmentLacks: cannot start: ")
    assert "pyarrow" in last
    assert "install it again" in last


@pytest.mark.thorough
def test_a_study_that_is_none_is_the_line_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside modules of the user's that are called as some of Python and of coldload."""
    for name in ("enum", "statistics", "analysis"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('a module of the user')\n")
    monkeypatch.chdir(tmp_path)
    study = tmp_path / "study.toml"
    study.write_text('name = "x"\npage = ["x"]\n')
    with pytest.raises(UsageError, match=r"study\.toml: .*page") as told:
        coldload.run(study)
    assert "\n" not in str(told.value)
    with pytest.raises(UsageError, match="--trails"):
        coldload.run("demo", "--trails", "1")


def test_a_line_is_printed_also_where_the_output_lacks_its_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    _print("Größe …")
    assert written.getvalue() == b"Gr\xf6\xdfe \\u2026\n"


def test_it_is_quick_to_import() -> None:
    code = "import coldload, sys; print(*{'pandas', 'numpy', 'pyarrow', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
