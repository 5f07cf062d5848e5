"""A lab that measures nothing, and its study: a trial waits. What is left is the cost of conducting.

Also whether a run is whole, whatever was killed meanwhile.

$WAITING_S is how long a trial takes, $WAITING_LOG a folder in which every attempt that ended is noted.
`python -m benchmarks.waitinglab` is one in a lane; `dask worker ... --preload benchmarks.waitinglab` has one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import Outcome, TestbedFailed
from harness.model.engine import Engine
from harness.probes.registry import Observation
from harness.records import RECORDS, Record, RecordReader, StoredRecord
from harness.run.labprocess import ENTERED, Assignment, Wire
from harness.run.work import Block, Made
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from harness.system.files import utc_text
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About

if TYPE_CHECKING:
    from distributed import Worker

PROTOCOLS = 5
FEW = 2  # links: times PROTOCOLS, the trials of a block
STUDY = """
name = "waiting"
pages = ["page"]
protocols = ["http1-close", "http1", "https1-close", "https1", "h2"]
trials = {{least = {blocks}, attempts = 3}}
aa = false
seed = 1
"""
LINK = """
[[links]]
down_mbps = {}
rtt_ms = 20
"""


class WaitingLab:
    """Every trial waits, and counts."""

    def __init__(self) -> None:
        self.lacking: Mapping[Engine, str] = {}
        self.environment: Mapping[str, Any] = {
            "programs": {engine.value: "none" for engine in Engine},
            "link": {"backend": "none"},
            "archives": {},
        }
        self._killed = False
        self._wait_s = float(os.environ.get("WAITING_S", "1"))
        log = os.environ.get("WAITING_LOG")
        self._log = Path(log) / f"{os.getpid()}.txt" if log else None

    def open(self, assignment: Assignment) -> None:
        pass

    def kill(self) -> None:
        self._killed = True

    def run(self, block: Block) -> Iterator[Made]:
        for due in block.trials:
            started = datetime.now(UTC)
            time.sleep(self._wait_s)
            if self._killed:
                raise TestbedFailed("the lab was killed")
            record = Record(
                due.planned,
                Outcome.OK,
                None,
                utc_text(started, "milliseconds"),
                Observation(plt_ms=self._wait_s * 1000),
                0.0,
                attempt=due.attempt,
                restart=due.restart,
            )
            if self._log is not None:
                with self._log.open("a") as file:
                    file.write(f"{due.planned.trial} {due.attempt}\n")
            yield Made(record, repeated=False, files=Path("/nonexistent"))


async def dask_setup(worker: Worker) -> None:
    """Dask calls this when a worker starts that preloads this module."""
    from harness.cluster.worker import set_up  # noqa: PLC0415  # a lane needs nothing of Dask

    await set_up(worker, lambda _watcher, _log: contextlib.nullcontext(WaitingLab()))


async def dask_teardown(worker: Worker) -> None:
    """Dask calls this when it ends."""
    from harness.cluster.worker import dask_teardown as end  # noqa: PLC0415

    await end(worker)


def main() -> None:
    """Serve the other end until it has gone."""
    wire = Wire()
    try:
        wire.tell(ENTERED, None)
        wire.told()
        wire.answer(WaitingLab())
    except (EOFError, BrokenPipeError):
        pass


def write_page(folder: Path) -> None:
    """The archive of the study, in `archives` below a folder."""
    page = Response("https://site.example/", 200, (("Content-Type", "text/html"),), b"<p>a page")
    write_archive(folder / "archives", "page", About(page.url, "a benchmark", "", ()), [page])


def study_of(blocks: int, links: int) -> tuple[Study, Plan]:
    text = STUDY.format(blocks=blocks) + "".join(map(LINK.format, range(1, links + 1)))
    study = parse_study(text, "waiting.toml")
    return study, make_plan(study, 1)


def records(run: Path) -> list[StoredRecord]:
    return [record for _, record, _ in RecordReader().of(run / RECORDS)]


def whole_lines(run: Path) -> bytes:
    """The bytes of the records that are stored by now; a last line may be under way. Stored bytes never change."""
    path = run / RECORDS
    data = path.read_bytes() if path.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def logged(folder: Path) -> Counter[tuple[str, int]]:
    """The attempts that ended, as labs noted them."""
    made: Counter[tuple[str, int]] = Counter()
    for path in folder.iterdir():
        for line in path.read_text().splitlines():
            trial, attempt = line.split()
            made[trial, int(attempt)] += 1
    return made


def kills_told(kills: Counter[str]) -> str:
    """As in `3 kills (2 command, 1 lane)`."""
    return f"{kills.total()} kills ({', '.join(f'{count} {what}' for what, count in sorted(kills.items()))})"


@dataclass(frozen=True)
class Whole:
    """What a run holds of which nothing is lost and nothing is there twice: records; of attempts that ended those that
    were made again, as their record was lost with what was killed; and goes at blocks that others took up.
    """

    blocks: int
    records: int
    ended: int
    left_behind: int

    def __str__(self) -> str:
        return (
            f"{self.blocks} blocks are whole, {self.records} records, none twice; {self.ended - self.records} of "
            f"{self.ended} attempts ended and were not recorded, {self.left_behind} goes at blocks were left behind"
        )


def checked(run: Path, blocks: int, stored: Sequence[bytes], ended: Counter[tuple[str, int]]) -> Whole:
    """A run that is whole; AssertionError for one that is not.

    `stored` is what records.jsonl held at the kills, `ended` are the attempts that ended.
    """
    _, plan = study_of(blocks, FEW)
    at_the_end, made = whole_lines(run), records(run)
    assert all(at_the_end.startswith(before) for before in stored), "a stored record is gone"
    attempts = Counter((record.trial, record.attempt) for record in made)
    assert max(attempts.values()) == 1, "an attempt was recorded twice"
    goes: defaultdict[tuple[int, int], dict[str | None, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in made:
        goes[record.block, record.restart or 0][record.executor].add(record.trial)
    assert all(len(makers) == 1 for makers in goes.values()), "a go at a block is of two executors"
    for block in range(1, plan.blocks + 1):
        planned = {trial.trial for trial in plan.trials if trial.block == block}
        of_block = [
            trials for (number, _), makers in goes.items() if number == block for trials in makers.values()
        ]
        assert planned in of_block, f"no go at block {block} is whole"
    unknown = attempts.keys() - ended.keys()
    assert not unknown, f"{len(unknown)} records are of attempts that nobody made"
    return Whole(blocks, len(made), ended.total(), len(goes) - blocks)


if __name__ == "__main__":
    main()
