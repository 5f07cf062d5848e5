"""Hostile pages, killed and stopped parts, mutated studies and recordings: what of them does any harm.

    .venv/bin/python -m benchmarks.hostile [--quick] [--only PATTERN] [--seed N] [--out FILE] [--into DIR]

Prints a table: how many cases were tried, and how many of them hung, ended in a traceback, came out with a time that is
not true, blamed the wrong part, or left something behind. The exit code is 1 when any of them is not 0. The bench knows
the truth by construction: what a page's picture takes on the link at the least, what the page takes without its script,
which part was killed and when. Each case that fails is printed with the command to see it again.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import random
import selectors
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import quoted
from benchmarks.hostile import inputs, loading, outputs, parts, runners, showing, texts, truth
from benchmarks.hostile.cases import Case, counted, failures, table
from harness.model.engine import BROWSERS
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


QUICK_SHARE = 0.1


def lanes(arguments: argparse.Namespace, folder: Path) -> tuple[Lane, Lane]:
    """Pages in one line of work, all else in the other: two cores carry both."""
    share, seed = QUICK_SHARE if arguments.quick else 1.0, arguments.seed
    chosen = bool(arguments.only)

    def only(name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in arguments.only or ["*"])

    def chance() -> random.Random:
        return random.Random(seed)  # noqa: S311

    def some(found: Sequence[str]) -> list[str]:
        count = math.ceil(len(found) * share)
        return sorted(chance().sample(found, count), key=found.index)

    def loads() -> Iterator[Case]:
        yield from loading.load_all(truth.names(only, chosen, share, chance()), folder)

    def strikes_and_files() -> Iterator[Case]:
        yield from inputs.refuse_all(inputs.no_files(only), folder)
        yield from inputs.plan_all(inputs.studies(only, share), folder, seed)
        yield from inputs.import_all(inputs.recordings(only, share), folder, seed)
        yield from outputs.write_all(some(outputs.names(only)), folder)
        yield from outputs.write_to_all(some(outputs.names_of_streams(only)), folder)
        yield from texts.tell_all(some(texts.names(only)), folder)
        yield from showing.ask_all(some(showing.names(only)), folder)
        yield from runners.end_all(some(runners.names_of_ends(only)), folder, seed)
        yield from runners.strike_all(runners.names(only, share, chance()), folder, seed)
        yield from parts.strike_all(parts.names(only, share, chance()), folder, seed)

    return loads, strikes_and_files


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument(
        "--only", action="append", metavar="PATTERN", help="cases by name, as page/* or kill/caddy/*"
    )
    parser.add_argument(
        "--seed", type=int, default=2012, help="draws what is mutated, and when parts are struck"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="all cases as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line per case as it ends")
    quoted.add_into(parser)
    arguments = parser.parse_args()
    if arguments.into and (arguments.only or arguments.quick):
        parser.error("--into keeps all cases, so it goes with neither --only nor --quick")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:  # as under `nohup`; a handler is not inherited
            signal.signal(number, lambda *_: None)
    began, part, cases = time.monotonic(), quoted.Part("hostile", "cases", *BROWSERS), list[Case]()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        for case in side_by_side(lanes(arguments, Path(folder))):
            cases.append(case)
            if arguments.verbose or case.faults:
                print(
                    f"{case.seconds:6.1f} s  {case.name}: {', '.join(case.faults) or 'fine'}: {case.said}",
                    flush=True,
                )
    if arguments.out:
        arguments.out.write_text(json.dumps([case.to_json() for case in cases], indent=1) + "\n")
    if arguments.into:
        part.keep(arguments.into, counted(cases), ["what"])
    print(f"\n{table(cases)}\n\n{time.monotonic() - began:.0f} s, seed {arguments.seed}")
    for line in failures(cases, arguments.seed):
        print(line)
    return 1 if any(case.faults for case in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
