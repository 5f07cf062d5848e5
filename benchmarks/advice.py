"""Whether `coldload advise` says the same of a page each time: what it measures of every change, time by time.

    .venv/bin/python -m benchmarks.advice [--page agency] [--budget 10m] [--times 2] [--into DIR]

Each time is the command itself, with a new run. A cell has what a change saves, the bounds of its 95 % interval in
percent of the page as archived, and `-` where nothing is found to be saved. Changes are in the order of the first list.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.evaluation.results import evaluate
from analysis.report.advice import JSON, AdviceKind
from analysis.runs.rundirectory import load
from analysis.statistics.plainly import AnswerKind
from benchmarks import common, quoted
from harness.model.engine import DEFAULT_ENGINE

BENCHMARK, PARTS = "advice", ("changes", "times")
NOTHING_SAVED, NOT_TRIED, OPEN = "-", "not tried", "how much is not known"
A_CLAIM_FAILED = 1  # of `coldload advise`: the run itself is whole


@dataclass(frozen=True)
class Asked:
    """What the command said once (`advice.json`), how long it took, and how many loads counted."""

    told: Mapping[str, Any]
    seconds: float
    loads: int

    @property
    def alternatives(self) -> Mapping[str, Mapping[str, Any]]:
        """By name, in the order of the list."""
        return {each["name"]: each for each in self.told["alternatives"]}

    @property
    def helping(self) -> list[str]:
        """What saves time, the most worthwhile first."""
        return [name for name, each in self.alternatives.items() if each["kind"] == AdviceKind.HELPS]

    @property
    def links(self) -> list[str]:
        return list(
            dict.fromkeys(one["link"] for each in self.alternatives.values() for one in each["links"])
        )

    @property
    def empty(self) -> bool:
        """Whether no change is compared with the page as archived on some link."""
        return not self.links or any(
            all(one["as_archived_ms"] is None for one in self._of(link)) for link in self.links
        )

    def as_archived_s(self, link: str) -> float:
        """What the page takes as it is archived."""
        return next(float(ms) for one in self._of(link) if (ms := one["as_archived_ms"]) is not None) / 1e3

    def _of(self, link: str) -> list[Mapping[str, Any]]:
        return [one for each in self.alternatives.values() for one in each["links"] if one["link"] == link]

    def saving(self, change: str, link: str) -> str:
        """`1.02 s (33 to 35)`: of the page as archived, in percent."""
        links = self.alternatives.get(change, {"links": ()})["links"]
        return next((saving_text(one) for one in links if one["link"] == link), NOT_TRIED)


def saving_text(one: Mapping[str, Any]) -> str:
    """What an alternative saves on a link, of `advice.json`."""
    if one["answer"] != AnswerKind.LESS:
        return NOTHING_SAVED
    saved, *ends = (one[name] for name in ("saved_ms", "saved_low_ms", "saved_high_ms"))
    if None in (saved, *ends):  # loads timed out
        return OPEN
    low, high = (100 * end / one["as_archived_ms"] for end in ends)
    return f"{saved / 1e3:.2f} s ({low:.1f} to {high:.1f})"


def ask(page: str, budget: str) -> Asked:
    """Run the command. SystemExit when it fails, or nothing counts that it measured."""
    with tempfile.TemporaryDirectory() as folder:
        run, began = Path(folder) / "run", time.monotonic()
        command = [sys.executable, "-m", "harness.cli", "advise", page, "--budget", budget, "--out", str(run)]
        code = subprocess.run(command, check=False).returncode
        if code not in (0, A_CLAIM_FAILED) or not (run / JSON).is_file():
            raise SystemExit(code or 1)
        took = time.monotonic() - began
        told = json.loads((run / JSON).read_text(encoding="utf-8"))
        asked = Asked(told, took, len(evaluate([load(run)]).sifted.timed))
    if asked.empty:
        raise SystemExit(
            f"{page}: a link has nothing that counts, as on a busy machine; end what else runs, try again"
        )
    return asked


def changes(asked: Sequence[Asked]) -> list[Mapping[str, str]]:
    """A row for each change: its place in each list, and what it saves on each link each time."""
    names = dict.fromkeys(name for each in asked for name in each.alternatives)
    return [
        {
            "change": name,
            "place": ", ".join(_place(each.helping, name) for each in asked),
            **{
                f"{link}_{number}": each.saving(name, link)
                for link in asked[0].links
                for number, each in enumerate(asked, start=1)
            },
        }
        for name in names
    ]


def _place(helping: Sequence[str], name: str) -> str:
    return str(helping.index(name) + 1) if name in helping else NOTHING_SAVED


def times(asked: Sequence[Asked]) -> list[Mapping[str, str]]:
    """A row for each time: what was tried of how much, and of how many loads."""
    return [
        {
            "time": str(number),
            "changes": f"{len(each.alternatives)} of {len(each.alternatives) + len(each.told['not_tried'])}",
            "save_time": str(len(each.helping)),
            "loads": str(each.loads),
            "minutes": f"{each.seconds / 60:.0f}",
            **{f"as_archived_on_{link}_s": f"{each.as_archived_s(link):.2f}" for link in each.links},
        }
        for number, each in enumerate(asked, start=1)
    ]


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--page", default="agency")
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--times", type=int, default=2)
    quoted.add_into(parser)
    given = parser.parse_args()
    print(common.machine())
    kept = [quoted.Part(BENCHMARK, name, DEFAULT_ENGINE, design=quoted.VARIANTS) for name in PARTS]
    asked = [ask(given.page, given.budget) for _ in range(given.times)]
    for part, rows, named_by in zip(kept, (changes(asked), times(asked)), ("change", "time"), strict=True):
        print(common.as_table(rows, 1))
        if given.into:
            part.keep(given.into, rows, [named_by])
    return 0


if __name__ == "__main__":
    sys.exit(main())
