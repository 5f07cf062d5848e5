"""Which block a lane runs next, where several run blocks side by side. Pure.

A block stays in one lane: what is compared stands in a block, and cores are never quite alike. When the lane that
began a block is gone (it died, or the run goes on with fewer lanes), another one begins it again as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


class Agenda:
    """The blocks that are left, in their order; `begun` says which lane began a block before."""

    def __init__(self, blocks: Iterable[int], begun: Mapping[int, int]) -> None:
        self._waiting = sorted(blocks)
        self._begun = dict(begun)
        self._running: dict[int, int] = {}  # by lane

    @property
    def all_ended(self) -> bool:
        return not self._waiting and not self._running

    def candidate(self, lane: int, lanes: Collection[int]) -> int | None:
        """The next block for a lane, out of the lanes that there are: the first that none of the others began."""
        others = {each for each in lanes if each != lane}
        return next((block for block in self._waiting if self._begun.get(block) not in others), None)

    def is_next(self, block: int) -> bool:
        """Whether all earlier blocks have ended."""
        return all(block <= other for other in (*self._waiting, *self._running.values()))

    def begin(self, lane: int, block: int) -> None:
        self._waiting.remove(block)
        self._begun[block] = lane
        self._running[lane] = block

    def end(self, lane: int) -> None:
        """The lane has run its block, or the block turned out to need nothing."""
        del self._running[lane]

    def put_back(self, lane: int) -> None:
        """The lane is gone: what is left of its block waits for another one."""
        block = self._running.pop(lane, None)
        if block is not None:
            self._waiting = sorted([*self._waiting, block])
