"""A study on two workers of this machine, each one a machine to the run; and what is said when that cannot be."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.connection import Cluster, RemoteWorker, WorkerLost, connected
from harness.cluster.messages import MACHINE_VARIABLE
from harness.cluster.trust import AUTHORITY, CERTIFICATE, KEY, SchedulerAddress, make_certificates
from harness.records import PORTRAITS
from sites.archive import write_archive
from sites.warc import About
from tests.facts import tells
from tests.system.conftest import (
    MARK,
    START_URL,
    Coldload,
    html,
    small_site,
    wait_until,
    was_too_busy,
    without,
)

pytestmark = pytest.mark.side_by_side
# Two loads at a time disturb each other, so a trial has one attempt, and none has to count.
STUDY = """
name = "tiny"
pages = ["small"]
engines = ["chromium", "qtwebkit"]
protocols = ["http1"]
trials = {{least = {blocks}, attempts = 1}}
aa = false
seed = 1
portraits = {portraits}
keep = ["har"]
[[links]]
down_mbps = 20
rtt_ms = 10
"""
IN_A_BLOCK = 2  # trials
DEATHS_MS = range(0, 12, 2)  # that a worker still lives as its task ends


class DaskGround:
    """A scheduler and workers, as Dask's own commands start them."""

    def __init__(self, coldload: Coldload, certificates: Path | None, *options: str) -> None:
        self._options = options  # of the scheduler
        self._folder = coldload.folder
        self._mark = coldload.mark
        self._certificates = certificates
        files = {"--tls-ca-file": AUTHORITY, "--tls-cert": CERTIFICATE, "--tls-key": KEY}
        self._tls: list[str] = []
        if certificates is not None:
            self._tls = [
                word for option, name in files.items() for word in (option, str(certificates / name))
            ]
        self._stack = contextlib.ExitStack()
        self.url = ""

    def __enter__(self) -> DaskGround:
        told = self._folder / "scheduler.json"
        protocol = "tls" if self._tls else "tcp"
        self.start(
            *("scheduler", "--host", f"{protocol}://127.0.0.1", "--port", "0", "--scheduler-file", str(told)),
            *("--dashboard-address", "127.0.0.1:0", *self._tls, *self._options),
        )
        wait_until(lambda: told.exists() and told.read_text().endswith("}"), "the scheduler")
        self.url = json.loads(told.read_text())["address"]
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def wait_for(self, *names: str) -> None:
        """Until the scheduler knows these workers."""
        with connected(SchedulerAddress.parse(self.url), self._certificates) as cluster:
            for name in names:
                worker_named(cluster, name)

    def worker(self, name: str, *prefix: str, cache: Path | None = None) -> subprocess.Popen[bytes]:
        return self.start(
            *("worker", self.url, "--name", name, "--nthreads", "1", "--resources", "lab=1", "--no-nanny"),
            *("--memory-limit", "0", "--no-dashboard", "--preload", "harness.cluster.worker", *self._tls),
            prefix=prefix,
            variables={
                MACHINE_VARIABLE: name,
                "COLDLOAD_CACHE": str(cache or self._folder / f"cache-{name}"),
            },
        )

    def start(
        self, *words: str, prefix: tuple[str, ...] = (), variables: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        log = self._stack.enter_context((self._folder / f"dask-{words[0]}.log").open("ab"))
        process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "dask", *words],
            cwd=self._folder,
            env={**os.environ, MARK: self._mark, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


def records(run: Path, name: str = "records.jsonl") -> list[dict[str, Any]]:
    path = run / name
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def check_whole(run: Path, blocks: int) -> None:
    """Every block is whole in one go, on one machine, every record and its files are there once."""
    made, looked_at = records(run), records(run, PORTRAITS)
    assert max(Counter((each["trial"], each["attempt"]) for each in made).values()) == 1
    goes: defaultdict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for each in made:
        goes[each["block"], each.get("restart", 0)].append(each)
    for go in goes.values():
        assert len({each["machine"] for each in go}) == 1
    for block in range(1, blocks + 1):
        whole = [go for (number, _), go in goes.items() if number == block and len(go) == IN_A_BLOCK]
        assert len(whole) == 1
        assert {each["condition"]["engine"] for each in whole[0]} == {"chromium", "qtwebkit"}
    for each in (*made, *looked_at):
        folder = each["trial"] if each["attempt"] == 1 else f"{each['trial']}-{each['attempt']}"
        assert each["outcome"] != "ok" or (run / "trials" / folder / "load.har").is_file()
    assert not list((run / "trials").glob(".*"))
    told = [json.loads(line)["digest"] for line in (run / "requested.jsonl").read_text().splitlines()]
    assert sorted(told) == sorted({each["requested_digest"] for each in (*made, *looked_at)} - {None})


def worker_named(cluster: Cluster, name: str) -> RemoteWorker:
    """The worker of that name, as soon as the scheduler knows it."""
    found: list[RemoteWorker] = []

    def there() -> bool:
        found[:] = [worker for worker in cluster.workers() if worker.name == name]
        return bool(found)

    wait_until(there, f"worker {name}")
    return found[0]


def test_a_worker_that_dies_as_its_task_ends_is_told_of(
    coldload: Coldload, caplog: pytest.LogCaptureFixture
) -> None:
    """At any instant: before the result is told, and after. Dask leaves no word of its own about it."""
    with DaskGround(coldload, None) as dask, connected(SchedulerAddress.parse(dask.url), None) as cluster:
        for number in DEATHS_MS:
            name = f"dying-{number}"
            process = dask.worker(name)
            worker = worker_named(cluster, name)
            with contextlib.suppress(WorkerLost):
                assert worker.call(os.system, f"(sleep {number * 0.001}; kill -9 $PPID) &") == 0
            wait_until(lambda: process.poll() is not None, f"the end of {name}")  # noqa: B023
    gc.collect()  # what asyncio says of tasks that nobody asked for
    assert "never retrieved" not in caplog.text


def study_on(coldload: Coldload, blocks: int, portraits: str = "false") -> Path:
    small_site(coldload.folder / "archives")
    (coldload.folder / "tiny.toml").write_text(STUDY.format(blocks=blocks, portraits=portraits))
    return coldload.folder / "out"


@pytest.mark.parametrize("blocks", [3, pytest.param(8, marks=pytest.mark.lengthy)])
def test_a_worker_that_is_killed_loses_one_trial_and_the_run_ends_whole(
    coldload: Coldload, blocks: int
) -> None:
    run = study_on(coldload, blocks, portraits="true")
    certificates = coldload.folder / "certificates"
    make_certificates(certificates)
    with DaskGround(coldload, certificates) as ground:
        workers = {name: ground.worker(name) for name in ("lab-a", "lab-b")}
        ground.wait_for(*workers)
        process = coldload.start(
            *("run", "tiny.toml", "--out", "out", "--on", ground.url, "--certificates", str(certificates))
        )
        wait_until(lambda: process.poll() is not None or len(records(run)) > 0, "a record")
        assert process.poll() is None, process.communicate()
        victim = records(run)[0]["machine"]
        workers[victim].kill()
        out, err = process.communicate()
    assert process.returncode == 0 or was_too_busy(process.returncode, err), (out, err)
    assert f"worker {victim}" in out
    check_whole(run, blocks)
    assert {each["machine"] for each in records(run)} == {"lab-a", "lab-b"}
    portraits = records(run, PORTRAITS)
    assert len({each["trial"] for each in portraits}) == len(portraits)
    counted = [each["condition"] for each in records(run) if each["left_out"] is None]
    assert all(each in [portrait["condition"] for portrait in portraits] for each in counted)
    joined = [json.loads(line)["machine"] for line in (run / "machines.jsonl").read_text().splitlines()]
    assert sorted(joined) == ["lab-a", "lab-b"]
    calibrated = [
        json.loads(line)["machine"] for line in (run / "calibration.jsonl").read_text().splitlines()
    ]
    assert set(calibrated) >= {"lab-b" if victim == "lab-a" else "lab-a"}


def test_a_coordinator_that_is_killed_goes_on_with_the_same_command(coldload: Coldload) -> None:
    run = study_on(coldload, 2)
    with DaskGround(coldload, None) as ground:
        ground.worker("lab-a")
        ground.wait_for("lab-a")
        words = ("run", "tiny.toml", "--out", "out", "--on", ground.url)
        process = coldload.start(*words)
        wait_until(lambda: process.poll() is not None or len(records(run)) > 0, "a record")
        assert process.poll() is None, process.communicate()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        before = len(records(run))
        code, out, err = coldload.run(*words)
    assert code == 0 or was_too_busy(code, err), (out, err)
    assert "going on with" in out
    assert len(records(run)) == IN_A_BLOCK * 2 > before
    check_whole(run, 2)


def test_a_worker_that_cannot_measure_is_refused_by_name(coldload: Coldload) -> None:
    """One has no rights for namespaces, the other one another archive of that digest."""
    study_on(coldload, 1)
    digest = json.loads((coldload.folder / "archives" / "small" / "archive.json").read_text())["digest"]
    cache = coldload.folder / "cache-other"
    other = html(START_URL, "another page")
    write_archive(cache / "archives" / digest, "small", About(START_URL, "a test", "", ()), [other])
    with DaskGround(coldload, None) as ground:
        ground.worker("powerless", *without("sys_admin"))
        ground.worker("other", cache=cache)
        ground.wait_for("powerless", "other")
        code, out, err = coldload.run("run", "tiny.toml", "--out", "out", "--on", ground.url)
    wait_until(lambda: not coldload.left_behind(), "the end of the workers and their labs")
    assert code == 3
    assert err.count("\n") == 1
    assert tells(err, "no worker can go on", "worker ")
    lines = [line for line in out.splitlines() if "is not used" in line]
    assert len(lines) == 2
    assert any("worker powerless" in line and "cannot make the private namespaces" in line for line in lines)
    assert any("worker other" in line and f"and {digest[:12]} where the run is" in line for line in lines)
    assert records(coldload.folder / "out") == []


@pytest.mark.parametrize(
    ("on", "code", "said"),
    [
        ("tcp://127.0.0.1:1", 3, "no scheduler of Dask answers at tcp://127.0.0.1:1"),
        ("tcp://10.255.0.1:8786", 2, "say --insecure"),
        ("tls://10.255.0.1:8786", 2, "give --certificates DIR"),
        ("lab:8786", 2, "is no address of a scheduler"),
    ],
)
def test_a_scheduler_that_is_not_there_or_not_safe_gets_one_line(
    coldload: Coldload, on: str, code: int, said: str
) -> None:
    study_on(coldload, 1)
    found, _, err = coldload.run("run", "tiny.toml", "--out", "out", "--on", on)
    assert (found, err.count("\n")) == (code, 1), err
    assert said in err


def test_a_scheduler_without_workers_is_told_with_the_command_for_one(coldload: Coldload) -> None:
    study_on(coldload, 1)
    with DaskGround(coldload, None) as ground:
        code, _, err = coldload.run("run", "tiny.toml", "--out", "out", "--on", ground.url)
    assert code == 3
    assert tells(err, "no worker that is a lab", "`dask worker")


def test_a_scheduler_of_another_version_is_refused(coldload: Coldload) -> None:
    study_on(coldload, 1)
    lie = coldload.folder / "another.py"
    lie.write_text("import distributed.versions as v\nv._version_cached = lambda package: '2012.7.0'\n")
    with DaskGround(coldload, None, "--preload", str(lie)) as ground:
        code, _, err = coldload.run("run", "tiny.toml", "--out", "out", "--on", ground.url)
    assert (code, err.count("\n")) == (3, 1), err
    assert f"the scheduler {ground.url} runs distributed 2012.7.0, this coldload" in err


@pytest.fixture(autouse=True)
def ours_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of Dask of whoever runs the tests."""
    for name in list(os.environ):
        if name.startswith("DASK_"):
            monkeypatch.delenv(name)
