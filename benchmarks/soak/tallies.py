"""What a soak came to: as JSON, on a terminal, and as a page of docs/results."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import harness
from benchmarks.quoted import ROW
from benchmarks.soak.audit import (
    ENDED,
    FEWER,
    GREW,
    KINDS,
    LEFT,
    LONG,
    LONGER_MS,
    LONGER_SHARE,
    LOST,
    MOST_GROWTH,
    TWICE,
    WRONG,
    Audit,
)
from benchmarks.soak.striking import Fault
from harness.input.shown import clipped, count_of
from harness.lab.environment import describe_machine

DATA, SUMS, PAGE = "data/soak.json", "data/soak.sums.csv", "soak.md"
SHOWN, LONGEST_SHOWN = 20, 300  # findings of a kind; characters of one
MACHINE = ("processor", "cores", "memory_kib", "kernel", "system")

WHAT_COMES: Mapping[str, str] = {
    Fault.KILL: "SIGKILL to the command, its supervisor, the enclosure or the runner",
    Fault.STOP: "SIGSTOP to the runner, for 0.3 to 5 s",
    Fault.DISK: "the disk of the run is full",
    Fault.CLOCK: "the runner's clock is set by 0.5 to 30 s",
    Fault.INTERRUPT: "Ctrl-C",
    Fault.TERM: "SIGTERM to the command",
    Fault.SERVER: "SIGKILL to a replay server",
    Fault.DNSMASQ: "SIGKILL to a name server",
    Fault.EMULATOR: "SIGKILL to the emulator of the link",
    Fault.BROWSER: "SIGKILL to a browser, or the process of a page",
    Fault.DRIVER: "SIGKILL to a driver, a hop or a display",
}
AUDITED: Mapping[str, str] = {
    LOST: "records lost",
    TWICE: "records there twice",
    WRONG: "attempts that count and should not, or the other way round",
    LEFT: "processes, namespaces, mounts and files left",
    ENDED: "calls that ended badly",
    GREW: f"calls, of those long enough to tell, in which the runner's memory grew by over {MOST_GROWTH:.0%}",
}
HEAD = """# What thousands of loads under faults come to

One of the pages behind [results.md](../results.md), which says [how to read the
figures](../results.md#how-to-read-the-figures).

"""


def figures(found: Audit, asked: Mapping[str, Any], studies: int) -> dict[str, Any]:
    """The audit as JSON. `asked` are the trials, the seed, and whether it ran beside other work."""
    machine: Mapping[str, Any] = describe_machine()
    return {
        "schema": 1,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "coldload": harness.__version__,
        "machine": {name: machine[name] for name in MACHINE},
        "seed": asked["seed"],
        "busy": asked["busy"],
        "beside": asked["beside"],
        "hours": round(found.hours, 2),
        "trials": {"asked": asked["trials"], "planned": found.planned, "recorded": found.recorded},
        "attempts": {
            "n": found.attempts,
            "counted": found.counted,
            "left_out": dict(found.left_out.most_common()),
            "struck": found.struck,
            "struck_and_counted": found.struck_counted,
            "held_against_others": found.held_against_others,
        },
        "studies": {"n": studies, "over": found.studies},
        "calls": found.calls,
        "faults": {
            fault: {
                "times": times,
                "attempts": found.hit[fault],
                "counted": found.hit_counted[fault],
            }
            for fault, times in found.faults.most_common()
        },
        "memory": {
            "calls": len(found.grown),
            "most_growth": round(max(found.grown), 3) if found.grown else None,
            "most_mb": max(found.memory_mb, default=None),
        },
        "found": {kind: found.count(kind) for kind in KINDS},
        "findings": [
            {"what": finding.what, "study": finding.study, "said": finding.said[:500]}
            for finding in found.findings
        ],
    }


def text(told: dict[str, Any]) -> str:
    """The figures as a person reads them."""
    trials, attempts, memory = told["trials"], told["attempts"], told["memory"]
    grown = "no call was so long"
    if memory["most_growth"] is not None:
        grown = f"{memory['most_growth']:+.1%} at most in {memory['calls']} calls"
    left_out = ", ".join(f"{count} {name}" for name, count in attempts["left_out"].items()) or "none"
    times = {name: each["times"] for name, each in told["faults"].items()}
    faults = ", ".join(f"{count} {name}" for name, count in times.items()) or "none"
    rows = {
        "studies": f"{told['studies']['over']} of {told['studies']['n']} are over, {told['calls']} calls, "
        f"{told['hours']:.1f} h",
        "trials": f"{trials['recorded']:,} of {trials['planned']:,} planned by now have a record "
        f"({trials['asked']:,} asked for)",
        "attempts": f"{attempts['n']:,}, of which {attempts['counted']:,} count",
        "left out": left_out,
        "faults": f"{sum(times.values())} ({faults})",
        "struck": f"{attempts['struck']:,} attempts, of which {attempts['struck_and_counted']:,} count, "
        f"{attempts['held_against_others']:,} held against others",
        **{kind: f"{count:,}" for kind, count in told["found"].items()},
        "memory": f"from the second to the last quarter of a call of {LONG} records {grown}; "
        f"{memory['most_mb'] or 0:.0f} MB at most",
    }
    lines = [f"{name:12} {value}" for name, value in rows.items()]
    for kind in KINDS:
        lines += _findings(kind, [finding for finding in told["findings"] if finding["what"] == kind])
    if not is_whole(told):
        lines.append("it is not over: the same call goes on")
    return "\n".join(lines)


def _findings(kind: str, found: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """A line for those that say the same of several attempts."""
    alike: defaultdict[str, list[Mapping[str, str]]] = defaultdict(list)
    for finding in found:
        _, _, why = finding["said"].partition("): ")  # behind the attempt
        alike[why or finding["said"]].append(finding)
    for first, *others in [*alike.values()][:SHOWN]:
        more = f" (and {len(others)} more)" if others else ""
        yield f"{kind}: {first['study']}: {clipped(first['said'], LONGEST_SHOWN)}{more}"
    if len(alike) > SHOWN:
        yield f"{kind}: and {len(alike) - SHOWN} others, in soak.json"


def is_whole(told: Mapping[str, Any]) -> bool:
    """Whether the soak has come to its end."""
    return bool(told["studies"]["over"] == told["studies"]["n"])


def page(soaks: Sequence[Mapping[str, Any]]) -> str:
    """The page of docs/results of soaks, from their figures alone."""
    return HEAD + "\n".join(_lines(soaks)) + "\n"


def sums(soaks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What all of them come to, as a document quotes it."""
    faults = sum(fault["times"] for told in soaks for fault in told["faults"].values())
    found = {kind: sum(told["found"][kind] for told in soaks) for kind in KINDS}
    ill = (f"{count:,} {AUDITED[kind]}" for kind, count in found.items() if count)
    return {
        "trials": f"{sum(told['trials']['recorded'] for told in soaks):,}",
        "counted": f"{sum(told['attempts']['counted'] for told in soaks):,}",
        "faults": count_of(faults, "fault"),
        "found": ", ".join(ill) or "nothing was lost, wrong or left",
    }


def _lines(soaks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    all_of_it = sums(soaks)
    faults = _sums(told["faults"] for told in soaks)
    found = {kind: sum(told["found"][kind] for told in soaks) for kind in KINDS}
    yield (
        f"Of {all_of_it['trials']} trials, {all_of_it['counted']} of which count, with {all_of_it['faults']} among "
        f"them: {all_of_it['found']}."
    )
    yield ""
    yield from map(_soak, soaks)
    yield ""
    yield from _table(
        ("fault", "times", "attempts it may have hit", "of these count"),
        [
            (WHAT_COMES[name], f"{each['times']:,}", f"{each['attempts']:,}", f"{each['counted']:,}")
            for name, each in faults.items()
        ],
    )
    yield ""
    yield from _table(("audit", "found"), [(AUDITED[kind], f"{count:,}") for kind, count in found.items()])
    yield ""
    attempts = [told["attempts"] for told in soaks]
    yield f"- {sum(each['n'] for each in attempts):,} attempts were made, {all_of_it['counted']} count."
    reasons = sum((Counter(each["left_out"]) for each in attempts), Counter[str]())
    left_out = ", ".join(f"{count:,} `{name}`" for name, count in reasons.most_common())
    yield f"- Left out: {left_out or 'none'}."
    if any(told["beside"] > 1 for told in soaks):
        yield (
            "- Where several studies ran at a time (`--beside`) the machine was busy, so the rules leave most of their "
            "attempts out: what counts is tried less there than that nothing is lost."
        )
    yield "- A fault that comes before a load begins, or after its end, lets it count: then it is like all others."
    yield from _held_against_others(attempts)
    for told in soaks:
        yield from (
            f"- Found earlier by seed {told['seed']}, and mended: {said}" for said in told.get("earlier", ())
        )
    long = [told["memory"] for told in soaks if told["memory"]["most_growth"] is not None]
    if long:
        calls, grown, most = sum(each["calls"] for each in long), *_most(long)
        yield (
            f"- From the second to the last quarter of a call of {LONG} records or more ({calls} of them) the "
            f"runner's memory grew by {grown:.1%} at most, and was {most:.0f} MB at most."
        )


def _held_against_others(attempts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many attempts were tried for that: a fault may hit the only one of its condition."""
    told = [each for each in attempts if "held_against_others" in each]
    held, counted = (sum(each[key] for each in told) for key in ("held_against_others", "struck_and_counted"))
    untold = sum(each["struck_and_counted"] for each in attempts) - counted
    yield (
        "- That is tried where its condition has an attempt that no fault hit: it may not take longer than the longest "
        f"of these by {LONGER_SHARE - 1:.0%} and {LONGER_MS:.0f} ms, and ask for no less than {FEWER:.0%}. "
        + (f"Tried were {held:,} of {counted:,} that count. " if told else "")
        + (f"Of {untold:,}{' more' * bool(told)} it was not noted how many were tried." if untold else "")
    ).rstrip()


def _sums(faults: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, Counter[str]]:
    """Of each fault its counts in all soaks, the most frequent first."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for of_one in faults:
        for name, counts in of_one.items():
            sums[name].update(counts)
    return dict(sorted(sums.items(), key=lambda each: -each[1]["times"]))


def _most(memories: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """The most growth, and the most MB."""
    return max(each["most_growth"] for each in memories), max(each["most_mb"] for each in memories)


def _soak(told: Mapping[str, Any]) -> str:
    """How and where one was carried out."""
    machine = told["machine"]
    how = f" --beside {told['beside']}" if told["beside"] > 1 else " --busy" * told["busy"]
    return (
        f"- `python -m benchmarks.soak --trials {told['trials']['asked']} --seed {told['seed']}{how}`, "
        f"{told['date']}, {machine['processor']}, {count_of(machine['cores'], 'core')}: "
        f"{told['trials']['recorded']:,} trials, {told['hours']:.1f} hours in {count_of(told['calls'], 'call')} of "
        "`coldload run`."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """In Markdown; all columns but the first are numbers."""
    yield f"| {' | '.join(head)} |"
    yield f"| --- |{' ---: |' * (len(head) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def written_into(folder: Path) -> list[dict[str, Any]]:
    """The figures of the soaks that a folder as docs/results tells of."""
    data = folder / DATA
    return json.loads(data.read_text(encoding="utf-8"))["soaks"] if data.exists() else []


def write(told: dict[str, Any], folder: Path) -> None:
    """The figures beside those of other soaks, what all come to, and the page of them.

    Of an earlier end of the same soak there stays what it found and this one does not.
    """
    kept = written_into(folder)
    others = [each for each in kept if _named(each) != _named(told)]
    earlier = [said for each in kept if _named(each) == _named(told) for said in _found_by(each)]
    soaks, data = (
        [*others, told | {"earlier": [said for said in earlier if said not in _found_by(told)]}],
        folder / DATA,
    )
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_text(json.dumps({"soaks": soaks}, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    with (folder / SUMS).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([(ROW, "value"), *sums(soaks).items()])
    (folder / PAGE).write_text(page(soaks), encoding="utf-8")


def _found_by(told: Mapping[str, Any]) -> list[str]:
    return [*told.get("earlier", ()), *(f"{each['what']}: {each['said']}" for each in told["findings"])]


def _named(told: Mapping[str, Any]) -> tuple[Any, ...]:
    return told["machine"], told["trials"]["asked"], told["seed"], told["busy"], told["beside"]
