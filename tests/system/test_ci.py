"""The steps of the workflow in docs/ci, run as GitHub's runner runs them: a bash of its own each, in one folder."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.test_ci import CI, JOB

STEPS = {step["name"]: step["run"] for step in JOB["steps"] if "run" in step}
PAGE = "<!doctype html><title>site</title><link rel=stylesheet href=style.css><p>{}</p>"
TRIALS = "6"

Step = Callable[[str], tuple[int, str]]


@pytest.fixture
def step(tmp_path: Path) -> Step:
    """Runs a step by its name: its exit code, and what it printed."""
    home = tmp_path / "home"
    environment = {
        **os.environ,
        **JOB["env"],
        "TRIALS": TRIALS,
        "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
        "COLDLOAD_ARCHIVES": str(home / "archives"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }

    def run(name: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    return run


def released(folder: Path, text: str, style_bytes: int) -> None:
    site = folder / "site"
    site.mkdir(parents=True)
    (site / "index.html").write_text(PAGE.format(text))
    remark = random.Random(1).randbytes(style_bytes // 2).hex()  # noqa: S311  # half of it at best, compressed
    (site / "style.css").write_text(f"p {{color: green}}\n/* {remark} */\n")


@pytest.mark.lengthy
def test_a_pull_request_that_makes_a_page_heavy_fails_and_says_so(tmp_path: Path, step: Step) -> None:
    released(tmp_path / "old", "as it is", 2_000)
    released(tmp_path / "new", "as it would be", 4_000_000)
    (tmp_path / "new" / "budget.toml").write_text((CI / "budget.toml").read_text())
    code, said = step("archive")
    assert code == 0, said
    code, said = step("measure")
    assert code == 1, said
    assert "budget of B: Bytes down" in said
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("### new against old\n")
    assert "| Page-load time | " in summary
    assert re.search(r"^- .*Bytes down", summary, re.MULTILINE), summary
    assert (tmp_path / "page-load.xml").is_file()
    assert (tmp_path / "page-load" / "report.html").is_file()
