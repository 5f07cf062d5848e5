"""One thing is told at once, many together. A worker is at work for one run, and a block of it can be ended."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster

from harness.cluster.connection import Cluster, RemoteWorker, connected
from harness.cluster.messages import LabTask
from harness.cluster.trust import SchedulerAddress
from harness.cluster.worker import (
    AT_WORK,
    EVERY_S,
    PREFIX,
    Outbox,
    Station,
    files_taken,
    identify,
    open_lab,
    run_block,
    set_up,
    stop_lab,
)
from harness.errors import EnvironmentLacks
from harness.run.labprocess import Assignment
from harness.run.work import Block, Made, Watcher
from harness.study.studyfile import parse_study
from tests.unit.harness.run.test_attempts import FIRST, record


class Post:
    """Takes messages, and is asked to call later."""

    def __init__(self) -> None:
        self.messages: list[list[int]] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.outbox = Outbox(self.messages.append, lambda wait_s, call: self.later.append((wait_s, call)))


def test_a_single_thing_is_sent_at_once_and_what_follows_soon_goes_together() -> None:
    post = Post()
    for told in range(100):
        post.outbox.put(told)
    assert post.messages == [[0]]
    ((wait_s, send),) = post.later
    assert 0 < wait_s <= EVERY_S
    send()
    assert post.messages == [[0], list(range(1, 100))]
    post.outbox.put(100)
    assert len(post.later) == 2


def test_whatever_threads_put_in_is_sent_once_and_in_the_order_of_each() -> None:
    post = Post()

    def put(first: int) -> None:
        for told in range(first, first + 1000):
            post.outbox.put(told)

    threads = [threading.Thread(target=put, args=(first,)) for first in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while post.later:
        post.later.pop(0)[1]()
    sent = [told for message in post.messages for told in message]
    assert sorted(sent) == list(range(3000))
    for first in (0, 1000, 2000):
        own = [told for told in sent if first <= told < first + 1000]
        assert own == sorted(own)


STUDY = """name = "{}"
pages = ["one"]
protocols = ["http1"]
trials = 1
aa = false
[[links]]
down_mbps = 10
rtt_ms = 20
"""


class QuietLab:
    """A lab whose blocks are over at once; it tells for which studies it was opened."""

    environment: Mapping[str, Any] = {}
    lacking: Mapping[Any, str] = {}

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.is_ended = False

    def open(self, assignment: Assignment) -> None:
        self.opened.append(assignment.study.name)

    def run(self, _: Block) -> Iterator[Made]:
        assert not self.is_ended
        yield from ()

    def kill(self) -> None:
        self.is_ended = True


def task_of(name: str) -> LabTask:
    study = parse_study(STUDY.format(name), name, Path())
    return LabTask(f"topic of {name}", "a sender", study, (), {}, patient=False)


def the_worker(cluster: Cluster) -> RemoteWorker:
    ends_s = time.monotonic() + 20
    while not (found := cluster.workers()):
        assert time.monotonic() < ends_s
        time.sleep(0.1)
    return found[0]


def ground_of_one() -> LocalCluster:
    return LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=None,
        resources={"lab": 1},
    )


def test_a_worker_is_at_work_for_one_run_until_that_leaves_it_or_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path))
    labs: list[QuietLab] = []
    number = itertools.count()

    @contextlib.contextmanager
    def quiet(_: Watcher, __: Path) -> Iterator[QuietLab]:
        labs.append(QuietLab())
        yield labs[-1]
        labs[-1].kill()

    def identified(worker: RemoteWorker, name: str) -> contextlib.AbstractContextManager[Any]:
        key = f"a task of {name} {next(number)}"
        return worker.held(identify, f"topic of {name}", key, key=key, meanwhile=lambda: None)

    one, other = task_of("one"), task_of("other")
    ground = ground_of_one()
    with ground, contextlib.ExitStack() as still:
        ground.sync(set_up, ground.workers[0], quiet)
        where = SchedulerAddress.parse(ground.scheduler_address)
        with connected(where, None) as second:
            theirs = the_worker(second)
            with connected(where, None) as first:
                ours = the_worker(first)
                with identified(ours, "one") as known:
                    assert known.refusal is None
                    ours.call(open_lab, one)
                    assert ours.call(run_block, one.topic, "a", 1, []) == 0
                    with identified(theirs, "other") as refused:
                        assert refused.refusal == AT_WORK
                    calls: list[tuple[Any, ...]] = [(open_lab, other), (run_block, other.topic, "b", 1, [])]
                    for call in calls:
                        with pytest.raises(EnvironmentLacks, match="at work for another run"):
                            theirs.call(*call)
                    theirs.quick(files_taken, other.topic)
                    theirs.quick(stop_lab, other.topic)
                    assert ours.call(run_block, one.topic, "c", 2, []) == 0
                    assert [(lab.opened, lab.is_ended) for lab in labs] == [(["one"], False)]
                    ours.quick(stop_lab, one.topic)
                    with identified(theirs, "other") as free:
                        assert free.refusal is None
                        theirs.quick(stop_lab, other.topic)
                    with pytest.raises(EnvironmentLacks, match="its lab was closed"):
                        ours.call(run_block, one.topic, "d", 3, [])
                assert still.enter_context(identified(ours, "one")).refusal is None
                ours.call(open_lab, one)
            # The coordinator has gone without a word; what it held has gone with it.
            with identified(theirs, "other") as free:
                assert free.refusal is None
                theirs.call(open_lab, other)
                assert theirs.call(run_block, other.topic, "e", 1, []) == 0
    assert labs[-1].opened == ["other"]


class LingeringLab(QuietLab):
    """One whose block lasts until it is killed, or is told to end."""

    def __init__(self) -> None:
        super().__init__()
        self.at_block, self.over = threading.Event(), threading.Event()

    def run(self, _: Block) -> Iterator[Made]:
        self.at_block.set()
        assert self.over.wait(20)
        yield from ()

    def kill(self) -> None:
        super().kill()
        self.over.set()


ended, may_leave = threading.Event(), threading.Event()


def block_whose_end_dask_hears_late(*told: Any) -> None:
    run_block(*told)
    ended.set()
    assert may_leave.wait(20)


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_block_that_is_let_go_ends_the_lab_unless_it_has_ended(
    has_ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator lets go of a task when it has its answer, which may be before Dask knows that the task is done."""
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path))
    ended.clear()
    may_leave.clear()
    labs: list[LingeringLab] = []

    @contextlib.contextmanager
    def lingering(_: Watcher, __: Path) -> Iterator[LingeringLab]:
        labs.append(LingeringLab())
        yield labs[-1]
        labs[-1].kill()

    one = task_of("one")
    ground = ground_of_one()
    with ground, connected(SchedulerAddress.parse(ground.scheduler_address), None) as cluster:
        worker = ground.workers[0]
        ground.sync(set_up, worker, lingering)
        ours = the_worker(cluster)
        with ours.held(identify, one.topic, "a key", key="a key", meanwhile=lambda: None):
            ours.call(open_lab, one)
            key = f"{PREFIX}a"
            task = cluster.client.submit(
                block_whose_end_dask_hears_late, one.topic, "a", 1, [], key=key, resources={"lab": 1}
            )
            assert labs[0].at_block.wait(20)
            if has_ended:
                labs[0].over.set()
                assert ended.wait(20)
            task.cancel()
            wait_for(lambda: key not in worker.state.tasks or worker.state.tasks[key].state != "executing")
            assert labs[0].is_ended is not has_ended
            may_leave.set()
            wait_for(lambda: key not in worker.state.tasks)
            if has_ended:
                labs[0].over.set()
                assert ours.call(run_block, one.topic, "b", 2, []) == 0
            with pytest.raises(EnvironmentLacks, match="has run this block"):
                ours.call(run_block, one.topic, "a", 1, [])


class TellingLab(LingeringLab):
    """One that has told of an attempt with files before it is killed, which is read only afterwards."""

    def __init__(self, files: Path) -> None:
        super().__init__()
        self.files = files

    def run(self, block: Block) -> Iterator[Made]:
        yield from super().run(block)
        time.sleep(0.2)  # until all is done that ends it
        yield Made(record(FIRST, 1, None), repeated=False, files=self.files)


def test_a_lab_that_is_ended_with_an_attempt_untold_waits_for_nobody_to_take_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path))
    lab = TellingLab(tmp_path / "kept")
    lab.files.mkdir()
    (lab.files / "trace.json.gz").touch()

    @contextlib.contextmanager
    def telling(_: Watcher, __: Path) -> Iterator[TellingLab]:
        yield lab

    one = task_of("one")
    with ground_of_one() as ground:
        station = Station(ground.workers[0], telling)
        station.identify(one.topic, "a key")
        station.open(one)
        block = threading.Thread(target=station.run, args=(one.topic, "a", 1, []), daemon=True)
        block.start()
        assert lab.at_block.wait(20)
        station.let_go("a")
        block.join(20)
        assert not block.is_alive()
        assert not lab.files.exists()
        station.close()


def wait_for(happens: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + 20
    while not happens():
        assert time.monotonic() < ends_s
        time.sleep(0.01)
