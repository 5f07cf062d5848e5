"""Which block an executor is given next, where several run blocks side by side. Pure: the time is passed in.

Executors have names: each is a machine of a cluster, or a lane of one machine. An executor goes on with a block that it
began itself: what is compared stands in a block, and no two executors are quite alike. Else it gets the next block that
nobody began, then one that another executor began and left behind when it went away, which is begun again as a whole.
In a cluster, at the end, when nothing else is left, an executor that has nothing to do also begins a block that a
slower one will not end soon; whoever ends first ends the block.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from harness.run.attempts import Standing

MUCH_LONGER = 1.5  # than the whole block takes here; then a slow executor is not waited for


@dataclass
class Running:
    """A block that an executor is at. `done` of its `trials` have ended."""

    block: int
    trials: int
    began_s: float
    done: int = 0

    def seconds_per_trial(self, now_s: float) -> float:
        """How long a trial takes there; of one under way, how long it has taken at least."""
        return (now_s - self.began_s) / max(self.done, 1)

    def left_s(self, now_s: float) -> float:
        return self.seconds_per_trial(now_s) * (self.trials - self.done)


class Dispatch:
    """The blocks that are left, and who is at which. `doubles`: whether two may be at one block at the end."""

    def __init__(self, standing: Standing, *, doubles: bool = False) -> None:
        self._standing = standing
        self.doubles = doubles
        self._running: dict[str | None, Running] = {}
        self._pace_s: dict[
            str | None, float
        ] = {}  # of an executor: how long a trial of its latest whole block took
        self.left: list[int] = []
        self.look_again()

    def look_again(self) -> None:
        """A look may have stopped conditions, and blocks with them."""
        self.left = [number for number in self._standing.blocks if self._standing.left_of(number)]

    def next_for(self, executor: str | None, present: Collection[str | None], now_s: float) -> int | None:
        """The block that an executor is to run now; None when it has to wait, or nothing is left.

        `present` are the names of those that are there. Blocks behind a look that is due wait for those before it.
        """
        taken = {running.block for running in self._running.values()}
        free = [number for number in self.left if number not in taken and not self.look_due(number)]
        begun = {number: self._standing.attempts.begun_on(number) for number in free}
        for wanted in (
            [number for number in free if begun[number] == (executor,)],
            [number for number in free if begun[number] is None],
            [number for number, on in begun.items() if on is not None and on[0] not in present],
        ):
            if wanted:
                return wanted[0]
        return None if free else self._slow_one(executor, now_s)

    def look_due(self, block: int) -> bool:
        """Whether a look is to be taken before this block."""
        return bool(self._standing.looks.due(block))

    def look_to_take(self) -> int | None:
        """The first block that is left, when all before it are finished and a look is due there."""
        first = self.left[0] if self.left else None
        return first if first is not None and self.look_due(first) else None

    def began(self, executor: str | None, block: int, trials: int, now_s: float) -> None:
        """An executor was given a block, of which so many trials are left."""
        self._running[executor] = Running(block, trials, now_s)

    def trial_ended(self, executor: str | None) -> None:
        """One more of its trials has ended."""
        if executor in self._running:
            self._running[executor].done += 1

    def ended(self, executor: str | None, now_s: float) -> None:
        """An executor is at its block no more, whole or not."""
        running = self._running.pop(executor, None)
        if running is None:
            return
        if running.done:
            self._pace_s[executor] = running.seconds_per_trial(now_s)
        if running.block in self.left and not self._standing.left_of(running.block):
            self.left.remove(running.block)

    def expected_s(self, executor: str | None, block: int) -> float:
        """How long a block will take at the pace of the executor's latest one; 0 before it has ended any."""
        return self._pace_s.get(executor, 0.0) * len(self._standing.left_of(block))

    def is_over(self, block: int) -> bool:
        """Whether a block is finished, whoever did it."""
        return block not in self.left

    def _slow_one(self, executor: str | None, now_s: float) -> int | None:
        """The block of another executor that will take much longer there than a whole one here."""
        if not self.doubles or executor not in self._pace_s:
            return None
        blocks = [running.block for running in self._running.values()]
        late = [
            (running.left_s(now_s), running.block)
            for running in self._running.values()
            if blocks.count(running.block) == 1
            and running.left_s(now_s)
            > MUCH_LONGER * self._pace_s[executor] * len(self._standing.blocks[running.block])
        ]
        return max(late)[1] if late else None
