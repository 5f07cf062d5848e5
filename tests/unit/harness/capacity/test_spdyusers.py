"""Users in Node: their own tests, and that they come when the workload says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.capacity.crowd import users_at
from harness.capacity.spdyclient import SPDY_USERS
from harness.errors import EnvironmentLacks
from harness.model.kind import Users
from harness.system.program import Command, run
from sites.servers.nodepackages import node, node_modules

TESTS = Path(__file__).with_name("spdyusers.js")
A_MOMENT_S = 1e-6
ARRIVALS = """
const { arrivals } = require(process.argv[1])
console.log(JSON.stringify(arrivals(JSON.parse(process.argv[2]))))
"""


def by_node(*words: str | Path) -> str:
    command = Command.of(node(), *words).with_environment(NODE_PATH=str(node_modules()))
    return run(command, timeout_s=120, ok_codes=(0, 1))


@pytest.mark.thorough
def test_they_pass_the_tests_of_their_own() -> None:
    said = by_node("--test", "--test-reporter=tap", TESTS)
    assert "# fail 0" in said, said
    assert "# pass 0" not in said


@pytest.mark.parametrize(
    "workload",
    [
        Users(start=1, to=50, over_s=80),
        Users(start=7, to=7, over_s=30),
        Users(start=3, to=4, over_s=10),
        Users(steps=(2, 5, 9), step_s=20),
    ],
)
def test_users_come_when_the_workload_says_so(workload: Users) -> None:
    plan = Path(SPDY_USERS.command(Path("plan"), Path()).argv[1]).with_name("plan.js")
    came = [ms / 1000 for ms in json.loads(by_node("-e", ARRIVALS, plan, json.dumps(workload.to_json())))]
    assert len(came) == workload.most
    for number, at in enumerate(came):
        assert users_at(workload, at + A_MOMENT_S) > number
        assert at == 0 or users_at(workload, at - A_MOMENT_S) <= number


def test_what_they_lack_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert SPDY_USERS.version().startswith("spdy-client/Node ")
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="spdy-transport cannot be loaded"):
        SPDY_USERS.version()
