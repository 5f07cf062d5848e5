"""What `coldload report` makes of the claims of a run: lines, a file for CI, and its exit code."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.cli.commands import main
from harness.cli.report import OTHER_CLAIMS
from harness.pack.packfile import RUN as RUN_OF_PACK
from harness.pack.packfile import open_pack
from harness.study.claim import Claim
from harness.study.plan import Plan
from harness.study.studyfile import read_study, shipped_studies
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic

pytestmark = pytest.mark.thorough

RUN = Synthetic(
    pages=("dummy-2012",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(100.0,), trials=10
)
H2, HTTP1 = {"protocol": "h2"}, {"protocol": "http1"}  # made up: the ratio is some 0.9
TRUE = Claim(name="true", subject=H2, reference=HTTP1, ratio_below=1.0)
FALSE = Claim(name="false", subject=H2, reference=HTTP1, ratio_below=0.5)
TOLD = Claim(name="told", subject=H2, reference=HTTP1)
BUDGET = Claim(name="budget", subject=H2, at_most=1.0)
BLIND = Claim(
    name="blind", subject=H2, reference=HTTP1, metric="tbt_ms", ratio_below=1.0
)  # never observed here


def run_with(folder: Path, *claims: Claim) -> Path:
    run = RUN.write(folder)
    header, *planned = (run / "plan.jsonl").read_text().splitlines()
    with_claims = json.loads(header) | {"claims": [claim.to_json() for claim in claims]}
    (run / "plan.jsonl").write_text("\n".join([json.dumps(with_claims), *planned]) + "\n")
    return run


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ((TRUE, TOLD), 0),
        ((TRUE, FALSE), 1),
        ((BUDGET,), 1),
        ((BLIND,), 1),
        ((), 0),
    ],
)
def test_the_exit_code_is_1_when_a_claim_fails_or_has_no_data(
    claims: tuple[Claim, ...], code: int, tmp_path: Path
) -> None:
    assert main(["report", str(run_with(tmp_path / "run", *claims))]) == code


def test_what_does_not_hold_is_said_and_stands_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, file = run_with(tmp_path / "run", TRUE, FALSE, TOLD, BLIND), tmp_path / "claims.xml"
    assert main(["report", str(run), "--junit", str(file)]) == 1
    said = [line.split(":")[:2] for line in capsys.readouterr().out.splitlines() if line.startswith("claim ")]
    assert said == [["claim false", " fails"], ["claim blind", " no data"]]
    (suite,) = ElementTree.parse(file).getroot()  # noqa: S314  # we wrote it
    assert [[child.tag for child in case] for case in suite] == [
        ["system-out"],
        ["failure"],
        ["system-out"],
        ["error"],
    ]


def test_a_file_that_cannot_be_written_is_refused_beforehand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, says in ((tmp_path, "is a folder"), (tmp_path / "no" / "claims.xml", "is no folder")):
        for command in ("report", "run"):
            for option in ("--junit", "--summary", "--influx", "--otlp"):
                with pytest.raises(SystemExit) as refused:
                    main([command, "demo", option, str(place)])
                assert refused.value.code == 2
                assert says in capsys.readouterr().err


def test_files_for_other_programs_are_written_beside_the_report(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", TRUE)
    files = {option: tmp_path / option for option in ("--summary", "--influx", "--otlp")}
    words = [word for option, path in files.items() for word in (option, str(path))]
    assert main(["report", str(run), *words]) == 0
    assert files["--summary"].read_text().startswith("### A made-up study\n")
    assert files["--influx"].read_text().count("coldload,study=made-up,page=dummy-2012,") == 2
    assert '"name": "coldload.plt_ms.median"' in files["--otlp"].read_text()


@pytest.mark.parametrize("option", ["--influx", "--otlp"])
def test_of_a_run_without_a_trial_that_counts_there_is_no_median(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = replace(RUN, trials=1, outcomes=dict.fromkeys(("00001", "00002"), "testbed-failed"))
    run = nothing.write(tmp_path / "run")
    assert main(["report", str(run), option, str(tmp_path / "file")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("coldload report: ")
    assert tells([line], f"no trial of {run} counts", "no median")
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize(("limit", "code"), [(1e6, 0), (1.0, 1)])
def test_a_budget_decides_the_exit_code(
    limit: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, budget = run_with(tmp_path / "run", TRUE), tmp_path / "budget.toml"
    budget.write_text(f"[[budget]]\nplt_ms = {limit}\n")
    assert main(["report", str(run), "--budget", str(budget), "--junit", str(tmp_path / "junit.xml")]) == code
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("claim budget, ")]
    assert len(failed) == 2 * code  # one for each protocol
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]  # noqa: S314  # we wrote it
    assert suite.get("failures") == str(2 * code)
    assert suite.get("tests") == "3"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[budget]\nplt = 1\n", "did you mean plt_ms?"),
        ('[budget]\nplt_ms = 1\nwhere = {link = "4g"}\n', "no link '4g'"),
    ],
)
def test_a_budget_of_something_else_is_one_line(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, budget = RUN.write(tmp_path / "run"), tmp_path / "budget.toml"
    budget.write_text(text)
    assert main(["report", str(run), "--budget", str(budget)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{budget}: " in line
    assert says in line


def test_the_pack_of_another_day_is_judged_by_what_is_known_today(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = Path("docs/reproduction/requests-2012-run1.zip")
    with open_pack(pack) as opened:
        then = Plan.read(opened.unpack(RUN_OF_PACK, tmp_path / "run") / "plan.jsonl").published
    now = read_study(shipped_studies()["requests-2012"]).published
    assert then is not None
    assert now is not None
    assert then != now
    main(["report", str(pack), "--out", str(tmp_path / "report")])
    assert f"{len(now.claims)} published claims: " in capsys.readouterr().out
    told = (tmp_path / "report" / "tables" / "published.csv").read_text()
    assert all(claim.name in told for claim in now.claims)
    assert OTHER_CLAIMS in html.unescape((tmp_path / "report" / "report.html").read_text())
