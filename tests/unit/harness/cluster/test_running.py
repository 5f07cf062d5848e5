"""Who of the workers of a cluster is used, and for how long a run waits for them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster.connection import Cluster, WorkerLost
from harness.cluster.executor import Errand, Shipment
from harness.cluster.messages import (
    MACHINE_VARIABLE,
    LabTask,
    MachineMarks,
    WorkerIdentity,
    dask_version,
    machine_marks,
    source_digest,
)
from harness.cluster.running import AWAY_S, ClusterCrew
from harness.cluster.worker import identify, open_lab, stop_lab
from harness.errors import EnvironmentLacks
from harness.run.coordinator import Coordinator
from harness.run.directory import JoinedMachine, open_run
from harness.run.work import Block, Opened
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from tests.facts import tells

STUDY = """name = "tiny"
pages = ["one"]
protocols = ["http1", "h2"]
trials = 1
aa = false
[[links]]
down_mbps = 10
rtt_ms = 20
"""
WAIT_S = 20.0
HERE = MachineMarks("number", "boot")


def made_with(chromium: str) -> dict[str, Any]:
    """What a machine with a version of Chromium tells of itself."""
    return {"programs": {"chromium": chromium}, "link": {"backend": "tun"}, "archives": {}}


class Remote:
    """A worker on the far side of a connection: it can be a lab, or says what is wrong, and may go."""

    def __init__(
        self,
        name: str,
        machine: str,
        wrong: str | None = None,
        *,
        marks: MachineMarks = HERE,
        chromium: str = "Chromium 1",
    ) -> None:
        self.name = self.address = name
        self._machine = machine
        self._marks = marks
        self._chromium = chromium
        self.wrong = wrong
        self.is_there = self.answers = True
        self.has_lab = self.is_asked = False

    @contextlib.contextmanager
    def held(self, function: Callable[..., Any], *_: object, **__: Any) -> Iterator[Any]:
        assert function is identify
        self.has_lab = True
        yield WorkerIdentity(self._machine, self._marks, source_digest(), dask_version(), None)

    def call(self, function: Callable[..., Any], *_: object, meanwhile: Callable[[], None], **__: Any) -> Any:
        if function is open_lab:
            if self.wrong is not None:
                raise EnvironmentLacks(self.wrong)
            return Opened(made_with(self._chromium), {}, self._machine, self._marks.number)
        while self.is_there:
            meanwhile()
            time.sleep(0.01)
        if self.wrong is not None:
            raise EnvironmentLacks(self.wrong)
        raise WorkerLost("it is not there any more")

    def quick(self, function: Callable[..., Any], *_: object) -> Any:
        """It does what it is told beside its block."""
        self.is_asked = self.is_asked or function is machine_marks
        if not self.answers:
            raise WorkerLost("it does not answer")
        if function is stop_lab:
            self.has_lab = False
        return self._marks if function is machine_marks else None

    def __str__(self) -> str:
        return f"worker {self.name}"


class Ground:
    """A crew at such workers. `warned` is what a user is told. `joined`: who did so before the command was killed."""

    def __init__(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        *joined: JoinedMachine,
        mixed: bool = False,
    ) -> None:
        self.workers: list[Remote] = []
        self.warned: list[str] = []
        monkeypatch.setattr("harness.cluster.executor.ship", lambda *_: None)
        study = parse_study(STUDY, "s", folder)
        with open_run(folder / "run", make_plan(study, 1)) as run:
            for machine in joined:
                run.append_machine(machine)
            listener = SimpleNamespace(warned=self.warned.append, trials_not_run=lambda _: None)
            coordinator = Coordinator(run, cast("Any", listener))
        task = LabTask("a topic", "", study, (), {}, patient=False)
        cluster = SimpleNamespace(url="tcp://a", workers=self._there, listen=lambda *_: None)
        errand = Errand(task, Shipment({}), run, coordinator.is_finished)
        self.crew = ClusterCrew(cast("Cluster", cluster), coordinator, errand, mixed=mixed)

    def _there(self) -> list[Remote]:
        return [worker for worker in self.workers if worker.is_there]

    def until(self, is_so: Callable[[], bool]) -> None:
        ends_s = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < ends_s, self.warned
            self.crew.heard()

    def at_work(self) -> list[str]:
        return [executor.worker.name for executor in self.crew.executors if executor.is_open]


OTHERS = {  # machines that are called as one that is there
    "another machine-id": MachineMarks("other", "later"),
    "a clone with all of it": MachineMarks(HERE.number, "later"),
}


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    return Ground(tmp_path, monkeypatch)


def test_a_run_waits_for_a_machine_of_use_though_another_was_refused(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Remote("good", "lab-a")
    ground.workers = [good, Remote("bad", "lab-b", "its link is off")]
    ground.until(lambda: ground.at_work() == ["good"] and len(ground.warned) == 1)
    ground.crew.executors[0].take(Block(1, ()))
    good.is_there = False
    ground.until(lambda: not ground.crew.executors)
    for _ in range(3):
        ground.crew.heard()
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s + AWAY_S + 1)
    with pytest.raises(EnvironmentLacks, match=r"all workers .*worker bad: its link is off"):
        ground.crew.heard()


def test_a_run_ends_at_once_when_all_that_came_were_refused(ground: Ground) -> None:
    ground.workers = [Remote("one", "lab-a", "no rights"), Remote("two", "lab-b", "its link is off")]
    with pytest.raises(EnvironmentLacks, match="no worker can go on") as refused:
        ground.until(lambda: False)
    assert "worker one: no rights" in str(refused.value)
    assert "worker two: its link is off" in str(refused.value)


def test_a_run_ends_at_once_when_its_last_machine_is_refused_later(ground: Ground) -> None:
    one = Remote("one", "lab-a")
    ground.workers = [one]
    ground.until(lambda: ground.at_work() == ["one"])
    ground.crew.executors[0].take(Block(1, ()))
    one.wrong, one.is_there = "its testbed keeps failing", False
    with pytest.raises(EnvironmentLacks, match=r"no worker .*worker one: its testbed keeps failing"):
        ground.until(lambda: False)


@pytest.mark.parametrize("waits", [True, False], ids=["there before", "comes later"])
def test_a_machine_that_was_refused_is_not_used_through_another_worker_of_it(
    ground: Ground, waits: bool
) -> None:
    bad, again = Remote("bad", "lab-b"), Remote("again", "lab-b")
    ground.workers = [Remote("good", "lab-a"), bad, *([again] if waits else [])]
    ground.until(lambda: len(ground.at_work()) == 2)
    first = next(each for each in ground.crew.executors if each.machine == "lab-b")
    other = again if first.worker.name == "bad" else bad
    first.take(Block(1, ()))
    remote = bad if other is again else again
    remote.wrong, remote.is_there = "its link is off", False
    ground.until(lambda: len(ground.warned) == 1 or ground.at_work() == ["good"])
    if not waits:
        ground.workers.append(again)
    ground.until(lambda: len(ground.warned) == 2 or len(ground.at_work()) == 2)
    assert ground.at_work() == ["good"]
    assert tells(ground.warned[1:2], f"worker {other.name} is not used", "lab-b", ": its link is off")
    ground.crew.close()


@pytest.mark.parametrize("marks", OTHERS.values(), ids=OTHERS)
def test_a_second_machine_of_one_name_is_not_used_and_the_first_one_goes_on(
    ground: Ground, marks: MachineMarks
) -> None:
    one, other = Remote("one", "debian"), Remote("other", "debian", marks=marks)
    ground.workers = [one]
    ground.until(lambda: ground.at_work() == ["one"])
    ground.workers.append(other)
    ground.until(lambda: bool(ground.warned))
    assert tells(ground.warned, "worker other is not used", "another machine", "debian", MACHINE_VARIABLE)
    ground.crew.executors[0].take(Block(1, ()))
    one.is_there = False
    ground.until(lambda: not ground.crew.executors)
    again = Remote("again", "debian")  # the first one, which was never refused
    ground.workers.append(again)
    ground.until(lambda: ground.at_work() == ["again"])
    assert not any("worker again" in warning for warning in ground.warned)
    ground.crew.close()


def test_a_second_worker_of_a_machine_waits_without_a_word_and_leaves_no_lab(ground: Ground) -> None:
    """Also in a container of that machine with a machine-id of its own."""
    both = [Remote("one", "lab-a"), Remote("two", "lab-a", marks=MachineMarks("other", HERE.boot))]
    ground.workers = list(both)
    ground.until(lambda: len(ground.at_work()) == 1 and all(worker.has_lab for worker in both))
    ground.crew.close()
    assert ground.warned == []
    assert not any(worker.has_lab for worker in both)


def test_a_machine_that_was_started_again_goes_on_before_its_end_is_known(ground: Ground) -> None:
    before = Remote("before", "lab-a")
    ground.workers = [before]
    ground.until(lambda: ground.at_work() == ["before"])
    ground.crew.executors[0].take(Block(1, ()))
    before.answers = False
    again = Remote("again", "lab-a", marks=MachineMarks(HERE.number, "later"))
    ground.workers.append(again)
    ground.until(lambda: before.is_asked)
    before.is_there = False
    ground.until(lambda: ground.at_work() == ["again"])
    assert ground.warned == ["worker before: it is not there any more"]
    ground.crew.close()


def test_another_machine_does_not_go_on_under_a_name_of_the_run_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = JoinedMachine("debian", made_with("Chromium 1"), HERE.number)
    ground = Ground(tmp_path, monkeypatch, joined)
    other, same = (
        Remote(name, "debian", marks=MachineMarks(number, f"boot of {name}"))
        for name, number in (("other", "another"), ("same", HERE.number))
    )
    ground.workers = [same]
    ground.until(lambda: ground.at_work() == ["same"])
    ground.workers.append(other)
    ground.until(lambda: bool(ground.warned))
    ground.crew.close()
    ground = Ground(tmp_path, monkeypatch)
    ground.workers = [Remote("other", "debian", marks=MachineMarks("another", "later"))]
    with pytest.raises(EnvironmentLacks, match=r"worker other: another machine .*is called debian, too"):
        ground.until(lambda: False)


def test_machines_that_differ_are_each_what_they_were_before_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = [
        JoinedMachine(name, made_with(f"Chromium {number}"), HERE.number)
        for name, number in (("lab-a", 1), ("lab-b", 2), ("lab-c", 3))
    ]
    ground = Ground(tmp_path, monkeypatch, *joined, mixed=True)
    ground.workers = [
        Remote("b", "lab-b", chromium="Chromium 2"),
        Remote("a", "lab-a", chromium="Chromium 1"),
        Remote("c", "lab-c", chromium="Chromium 4"),
        Remote("new", "lab-d", chromium="Chromium 4"),
    ]
    ground.until(lambda: len(ground.at_work()) == 3 and bool(ground.warned))
    assert sorted(ground.at_work()) == ["a", "b", "new"]
    assert tells(ground.warned, "worker c is not used", "Chromium 4, before Chromium 3", MACHINE_VARIABLE)
    ground.crew.close()
