"""Several lines of work side by side, a process for each; what they find comes out as it is found."""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence

from benchmarks.hostile.cases import Case
from harness.system import syscalls

Lane = Callable[[], Iterator[Case]]


class LaneEndedError(Exception):
    """A line of work did not come to its end: the bench itself is broken."""


def side_by_side(lanes: Sequence[Lane]) -> Iterator[Case]:
    """The cases of all lanes; raises LaneEndedError when one of them breaks."""
    with selectors.DefaultSelector() as waiting:
        lives: dict[int, int] = {}
        for lane in lanes:
            pid, pipe = _forked(lane)
            lives[pipe] = pid
            waiting.register(pipe, selectors.EVENT_READ, os.fdopen(pipe, encoding="utf-8"))
        while lives:
            for key, _ in waiting.select():
                line = key.data.readline()  # a lane writes whole lines
                if line:
                    yield Case(**json.loads(line))
                    continue
                waiting.unregister(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(lives.pop(key.fd), 0)[1])
                key.data.close()
                if code:
                    raise LaneEndedError(f"a lane of the bench ended with exit code {code}")


def _forked(lane: Lane) -> tuple[int, int]:
    sys.stdout.flush()
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    os.close(read)
    syscalls.die_with_parent(signal.SIGKILL)
    code = 1
    try:
        for case in lane():
            os.write(write, json.dumps(case.to_json()).encode() + b"\n")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
