"""The workflow of docs/ci: it can be read, and each line of coldload in it is a command line of ours.

tests/system/test_ci.py runs its steps.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cli.commands import parser
from harness.model.kind import Kind
from harness.study.budget import PageBudget
from harness.study.studyfile import parse_study

CI = Path(__file__).resolve().parents[2] / "docs" / "ci"
WORKFLOW: dict[str, Any] = yaml.safe_load((CI / "github.yml").read_text())
(JOB,) = WORKFLOW["jobs"].values()
LINES = [
    line for step in JOB["steps"] for line in step.get("run", "").splitlines() if line.startswith("coldload ")
]


def test_every_step_runs_something_or_uses_an_action_of_a_version() -> None:
    for step in JOB["steps"]:
        assert ("run" in step) != ("uses" in step)
        assert "uses" not in step or "@v" in step["uses"]


def test_the_commands_are_those_of_a_gate() -> None:
    assert [line.split()[1] for line in LINES] == ["import", "import", "versus"]


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_one_of_ours(line: str, tmp_path: Path) -> None:
    values = {
        "$GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        **{f"${k}": v for k, v in JOB["env"].items()},
    }
    words = [values.get(word, word) for word in shlex.split(line)[1:]]
    assert [word for word in words if "$" in word] == []
    assert isinstance(parser().parse_args(words), argparse.Namespace)


def test_the_container_has_what_the_page_on_containers_asks_for() -> None:
    page = (CI.parent / "containers.md").read_text()
    options = " ".join(JOB["container"]["options"].split())
    needed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `--")]
    assert needed
    assert [option for option in needed if option not in options] == []


def test_the_budget_beside_it_is_one() -> None:
    study = parse_study('name = "x"\npages = ["x"]\nprotocols = ["h2"]\nlinks = ["cable"]\ntrials = 1\n', "x")
    claims = PageBudget.read(CI / "budget.toml").claims(study.dimensions, Kind.LOAD)
    assert [claim.metric for claim in claims] == ["plt_ms", "bytes_down", "requests", "fcp_ms"]
