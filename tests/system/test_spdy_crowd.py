"""Users by the protocols of 2012 on the gateway: counts, proofs, and what is left when their program is killed."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.capacity.recipe import DOCUMENT
from harness.capacity.series import PAGES_NAME
from harness.errors import Outcome
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from sites.archive import archives_root
from tests.system.conftest import Coldload, inside
from tests.system.test_crowd import PAGE, REQUESTS, Recipes, crowd, crowd_of, observed, recipe

pytestmark = pytest.mark.lengthy

CONNECTIONS = {"http/1.1": 6, "spdy/3": 1}


@pytest.fixture(scope="module")
def recipes() -> Recipes:
    """Learned once for each scheme, from loads in QtWebKit."""
    asked = [crowd_of(each, engine=Engine.SPDY_CLIENT) for each in (Protocol.HTTP1, Protocol.SPDY)]
    return {each.protocol.scheme: inside(partial(recipe, each)) for each in asked}


def test_a_recipe_from_qtwebkit_is_the_page(recipes: Recipes) -> None:
    for made in recipes.values():
        assert made.requests == REQUESTS
        assert {each.after for each in made.objects} == {(DOCUMENT,)}
        assert {each.status for each in made.objects} == {200}
        assert "AppleWebKit" in made.document.headers["user-agent"]


@pytest.mark.parametrize("protocol", [Protocol.SPDY, Protocol.SPDY_PLAIN, Protocol.HTTP1, Protocol.HTTPS1])
def test_a_crowd_on_the_gateway(protocol: Protocol, recipes: Recipes, tmp_path: Path) -> None:
    condition = crowd_of(protocol, users=3, seconds=6, engine=Engine.SPDY_CLIENT)
    trial = inside(lambda: crowd(recipes, condition, tmp_path))
    seen = observed(trial)
    assert (trial.record.outcome, trial.record.reason) == (Outcome.OK, None)
    assert seen.pages == len(trial.pages) >= 3
    assert {page["requests"] for page in trial.pages} == {REQUESTS}
    assert {page["connections"] for page in trial.pages} == {CONNECTIONS[protocol.wire]}
    assert {page["protocol"] for page in trial.pages} == {protocol.wire}
    assert {page["user"] for page in trial.pages} == set(range(3))
    assert all(0 < page["document_ms"] < page["ms"] == page["ended_ms"] for page in trial.pages)
    assert {page["broke_ms"] for page in trial.pages} == {None}
    assert all(page["bytes"] > 1_000_000 for page in trial.pages)
    assert seen.requests_by_protocol == {protocol.wire: seen.requests}
    assert set(seen.tls_versions) == ({"TLS 1.2"} if protocol.encrypted else set())
    assert sum(second["server_hits"] or 0 for second in trial.seconds) == seen.requests
    assert (seen.generator_cpu_s or 0) > 0


def kill_the_client(second: Any, _ended: object) -> None:
    """In the third second, as nobody can ask it not to."""
    if second.t_s > 3:
        for each in psutil.process_iter(["cmdline"]):
            if any(word.endswith("users.js") for word in each.info["cmdline"] or ()):
                os.kill(each.pid, signal.SIGKILL)


def test_a_killed_client_ends_the_trial_and_is_named(recipes: Recipes, tmp_path: Path) -> None:
    condition = crowd_of(Protocol.SPDY, users=2, seconds=60, engine=Engine.SPDY_CLIENT)
    trial = inside(lambda: crowd(recipes, condition, tmp_path, kill_the_client))
    assert trial.record.outcome is Outcome.TESTBED_FAILED, trial.record.reason
    assert "spdy-client died" in (trial.record.reason or "")
    assert trial.pages
    assert sum(bucket["pages"] + bucket["failed"] for bucket in trial.buckets) == len(trial.pages)


def test_the_command_takes_it(coldload: Coldload, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(archives_root().absolute()))
    words = ("--protocol", "spdy", "--users", "2", "--for", "4s", "--think", "1s", "--rtt-ms", "20")
    code, out, err = coldload.run("crowd", PAGE, *words, "--json", "--keep", "kept")
    record = json.loads(out)
    assert code == 0, err
    condition = record["condition"]
    assert (record["outcome"], condition["engine"], condition["server"]) == (
        "ok",
        "spdy-client",
        "spdy-gateway",
    )
    lines = (coldload.folder / "kept" / PAGES_NAME).read_text().splitlines()
    assert record["pages"] == len(lines)
