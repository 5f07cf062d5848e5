"""How long `coldload` takes to start, as a multiple of an empty Python. Prints medians with their quartiles.

    .venv/bin/python -m benchmarks.start [--rounds 30] [--into DIR] [STUDY]

CPU time is user and system time of a command and of all it starts (`doctor` starts Node); a busy machine changes it
less than wall time. Programs take turns, and a ratio is to the empty Python of the same round. Bytecode is cached, as
it is after the first start. `plan` is of STUDY (default: demo-quick), whose pages must be archived.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import common, quoted

EMPTY = "python -c pass"
COLDLOAD = str(Path(sys.executable).with_name("coldload"))
LIMITS = {"--help": 4, "plan": 15, "doctor": 15}  # times the empty Python


def cpu_ms(argv: list[str], environment: Mapping[str, str]) -> float:
    """What a program takes from its start to its end; what it prints goes nowhere."""
    silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    child = os.posix_spawn(argv[0], argv, environment, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"`{' '.join(argv)}` ends with exit code {os.waitstatus_to_exitcode(status)}")
    return (used.ru_utime + used.ru_stime) * 1e3


def measure(study: str, rounds: int) -> dict[str, list[float]]:
    """The costs of every program, round by round."""
    programs = {
        EMPTY: [sys.executable, "-c", "pass"],
        "--help": [COLDLOAD, "--help"],
        "load --help": [COLDLOAD, "load", "--help"],
        "plan": [COLDLOAD, "plan", study],
        "doctor": [COLDLOAD, "doctor"],
    }
    costs: dict[str, list[float]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for number in range(rounds + 1):  # the first round writes the bytecode and is dropped
            for name, argv in programs.items():
                taken = cpu_ms(argv, environment)
                if number:
                    costs[name].append(taken)
    return costs


def report(costs: Mapping[str, Sequence[float]]) -> list[dict[str, str]]:
    """Print one line per program; the same as documents quote it."""
    figures = []
    print(f"{'':16}{'cpu_ms':>20}{'cpu / empty':>20}{'limit':>7}{'above':>7}")
    for name, taken in costs.items():
        ratios = [one / empty for one, empty in zip(taken, costs[EMPTY], strict=True)]
        limit = LIMITS.get(name)
        above = "" if limit is None else "yes" if statistics.median(ratios) > limit else "no"
        cpu, multiple = quartiles(taken, 0), quartiles(ratios, 1)
        print(f"{name:16}{cpu:>20}{multiple:>20}{limit or '':>7}{above:>7}")
        figures.append({"command": name, "cpu_ms": cpu, "ratio": multiple, "limit": str(limit or "")})
    return figures


def quartiles(values: Sequence[float], digits: int) -> str:
    """Median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("study", nargs="?", default="demo-quick", metavar="STUDY")
    parser.add_argument("--rounds", type=int, default=30)
    quoted.add_into(parser)
    arguments = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    part = quoted.Part("start", "commands")
    figures = report(measure(arguments.study, arguments.rounds))
    if arguments.into:
        part.keep(arguments.into, figures, ["command"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
