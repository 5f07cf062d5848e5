"""What runs were made with, and in what they are not alike: settings, versions, archives, links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, zip_longest
from statistics import median
from typing import Any

import pandas as pd

from analysis.labels import words
from analysis.runs.rundirectory import Run
from harness.errors import Outcome, RecordsError, StudyError
from harness.input.shown import clipped, shortened
from harness.model.condition import NAMING_VARIANTS, OF_VARIANTS, value
from harness.model.environment import ALIKE, BY_CHANCE, OF_THE_MACHINE
from harness.model.kind import Kind
from harness.study.studytext import STUDY

TOLD_ELSEWHERE = ("replay.compression",)  # by conditions
# What may explain a difference between two runs, too.
OF_THE_RUN = ("machine", "debian", "packages", "fonts", "study", "lanes")
PROGRAM = "programs."  # what keys of versions begin with
ALWAYS_DIFFERENT = ("machine.load_average",)
# What takes time while the page loads, by the key of a record that says so.
COSTLY: Mapping[str, str] = {"traced": "a trace", "filmed": "a film"}
ALWAYS = ("dnsmasq", "linkem")  # programs of every run
# Of a driver, and of an engine.
BESIDE: Mapping[str, str] = {"chromedriver": "selenium", "weston": "webkit"}
DIFFERENCES_SHOWN = 6
LONGEST_SHOWN = 100  # characters of a difference
READINGS = ("rtt_ms", "down_mbps", "up_mbps", "loss_down_percent", "loss_up_percent")
CALIBRATION_APART = 0.01  # of what is configured; closer readings are alike
LEAST_APART = {"rtt_ms": 0.1}  # in the unit: a reading is no better
AS_NAMED = "as named"  # of a variant with all its filters and the usual limits
LONGEST_VALUE = 70  # characters
LONGEST_WORD = 40  # that is shown from its beginning; of a longer one so much before the difference:
BEFORE_THE_DIFFERENCE = 12


@dataclass(frozen=True)
class Difference:
    """A setting that two runs do not share, with its value in either; None where a run does not tell it."""

    name: str
    a: str | None
    b: str | None

    def __str__(self) -> str:
        """`programs.nginx: nginx/1.22 | nginx/1.24`; long values from shortly before where they differ."""
        start = 0
        if self.a and self.b and max(len(self.a), len(self.b)) > LONGEST_VALUE:
            letters = zip_longest(self.a, self.b)
            first = next((place for place, (one, other) in enumerate(letters) if one != other), 0)
            word = self.a.rfind(" ", 0, first) + 1
            start = word if first - word < LONGEST_WORD else first - BEFORE_THE_DIFFERENCE
        return f"{self.name}: {_value(self.a, start)} | {_value(self.b, start)}"


def kind_of(runs: Sequence[Run]) -> Kind:
    """What all the runs measured; RecordsError when it is not the same."""
    first, *others = runs
    for other in others:
        if other.kind is not first.kind:
            raise RecordsError(
                f"{first.directory} is of kind {first.kind} and {other.directory} of kind {other.kind}; "
                "name runs of one kind"
            )
    return first.kind


def refuse_copies(runs: Sequence[Run], names: Sequence[str]) -> None:
    """RecordsError where two runs share a record, which would count twice. `names`: what the runs are called.

    An attempt at a trial that began in the same millisecond is the same one: a copy also of a run that went on since.
    """
    told = [_attempts(run.records) for run in runs]
    for (name, attempts), (other, others) in combinations(zip(names, told, strict=True), 2):
        if shared := len(attempts & others):
            raise RecordsError(
                f"{other} holds {words.count(shared, 'record')} of {name}: one is a copy of the other, or of a part of "
                "it; name each run once"
            )


def _attempts(records: pd.DataFrame) -> frozenset[tuple[Any, ...]]:
    """What tells a record from all others."""
    named = records[["trial", "attempt", "started_utc"]].dropna()
    return frozenset(named.itertuples(index=False, name=None))


def refuse_some_observed_at_a_cost(runs: Sequence[Run]) -> None:
    """RecordsError for trials that were traced or filmed beside others that were not.

    An engine that cannot be observed so is never marked.
    """
    for mark, cost in COSTLY.items():
        told: dict[str, dict[bool, Run]] = {}
        for run in runs:
            counted = run.records[run.records["outcome"] == Outcome.OK.value]
            marked = counted[mark].eq(True) if mark in counted else pd.Series(False, index=counted.index)
            for engine, found in zip(counted["engine"].map(str), marked, strict=True):
                told.setdefault(engine, {}).setdefault(bool(found), run)
        for engine, sides in told.items():
            if len(sides) > 1:
                raise RecordsError(
                    f"trials of {engine} were {mark} in {sides[True].directory} and were not in "
                    f"{sides[False].directory}; {cost} takes time: report these runs apart"
                )


def programs_of(records: pd.DataFrame, known: Iterable[str]) -> list[str]:
    """Those of the known programs that took part in trials; an environment tells of all that a machine has.

    The servers of a study have names of their own (`apache-2013`).
    """
    told = (records[key].dropna() for key in ("engine", "driver", "server") if key in records)
    there = {*ALWAYS, *(str(value) for values in told for value in values.unique())}
    there |= {program for program, of in BESIDE.items() if of in there}
    return [
        program
        for program in known
        if any(name == program or name.startswith(f"{program}-") for name in there)
    ]


def environment_differences(runs: Sequence[Run]) -> dict[str, list[str]]:
    """The settings and versions that all runs tell and that are not alike in all, with their values. What a run went on
    with counts like another run, and programs that took no part do not count.
    """
    told = _told_by_all(runs, ALIKE)
    known = [key.removeprefix(PROGRAM) for key in told if key.startswith(PROGRAM)]
    took_part = {program for run in runs for program in programs_of(run.records, known)}
    unused = {PROGRAM + program for program in known if program not in took_part}
    return _several_valued({key: told[key] for key in told if key not in unused} | _variants_apart(runs))


def machine_differences(runs: Sequence[Run]) -> dict[str, list[str]]:
    """The same of the processor and the kernel."""
    names = [f"machine.{name}" for name in OF_THE_MACHINE]
    told = _told_by_all(runs, ["machine"])
    return _several_valued({key: values for key, values in told.items() if key in names})


def not_alike_text(differences: Mapping[str, Iterable[str]], runs: Sequence[Run]) -> str:
    """The sentence that tells them; "" where there are none."""
    if not differences:
        return ""
    told = [_difference_text(key, values) for key, values in differences.items()]
    head = "The runs were not made alike" if len(runs) > 1 else "The run was not made alike throughout"
    return f"{head}: {shortened(told, DIFFERENCES_SHOWN, separator='; ', noun='setting')}."


def _difference_text(key: str, values: Iterable[str]) -> str:
    text = f"{key} is {words.distinct(values, ' or ')}"
    return text if len(text) <= LONGEST_SHOWN else f"{key} differs"


def _told_by_all(runs: Sequence[Run], parts: Sequence[str]) -> dict[str, list[str]]:
    told = [_told(environment, parts) for run in runs for environment in run.environments]
    shared = [key for key in told[0] if all(key in texts for texts in told) and key not in TOLD_ELSEWHERE]
    return {key: [texts[key] for texts in told] for key in shared}


def _several_valued(told: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {key: values for key, values in told.items() if len(set(values)) > 1}


def _variants_apart(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Of each variant of a page that all runs have: what it went without and by which limits, in each run."""
    forms = [_variant_forms(run) for run in runs]
    return {
        f"variant {name}": [run_forms[name] for run_forms in forms]
        for name in forms[0]
        if all(name in run_forms for run_forms in forms)
    }


def _variant_forms(run: Run) -> dict[str, str]:
    """By page and variant, and factor where there are any."""
    there = run.records.reindex(columns=[*NAMING_VARIANTS, *OF_VARIANTS]).drop_duplicates()
    forms = {}
    for record in there.to_dict("records"):
        row = {str(key): known for key, known in record.items()}
        name, form = (
            " ".join(str(row[key]) for key in keys if value(row, key) is not None)
            for keys in (NAMING_VARIANTS, OF_VARIANTS)
        )
        forms[name] = form or AS_NAMED
    return forms


def differences(a: Run, b: Run) -> tuple[Difference, ...]:
    """All in which two runs differ beside their conditions: the study's file first, then what it was run with."""
    return (
        *_apart(STUDY, _study(a), _study(b)),
        *_apart("", _environment(a), _environment(b)),
        *_calibration(a, b),
    )


def leaves(data: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested JSON as (dotted key, text)."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(data, list) and any(isinstance(value, dict | list) for value in data):
        for number, value in enumerate(data, start=1):
            yield from leaves(value, f"{prefix}.{number}")
    elif isinstance(data, list):
        yield prefix, ", ".join(map(str, data)) or words.DASH
    else:
        yield prefix, words.DASH if data is None else str(data)


def _value(text: str | None, start: int) -> str:
    if text is None:
        return words.DASH
    return ("…" if start else "") + clipped(text[start:], LONGEST_VALUE)


def _apart(place: str, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Difference]:
    """What both tell differently, then what one alone tells: a line for each whole part that the other lacks."""
    for key in a:
        if key in b and a[key] != b[key]:
            yield Difference(f"{place} {key}".strip(), a[key], b[key])
    for part, text in _lacking(b, a):
        yield Difference(f"{place} {part}".strip(), text, None)
    for part, text in _lacking(a, b):
        yield Difference(f"{place} {part}".strip(), None, text)


def _lacking(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The parts of the other one that this one has nothing of: name, and the value or how many there are."""
    there = {part for key in one for part in _parts(key)}
    values: dict[str, list[str]] = {}
    for key in other:
        part = next((part for part in _parts(key) if part not in there), None)
        if part is not None:
            values.setdefault(part, []).append(other[key])
    for part, texts in values.items():
        yield part, texts[0] if len(texts) == 1 else words.count(len(texts), "value")


def _parts(key: str) -> list[str]:
    """`a`, `a.b` and `a.b.c` of `a.b.c`."""
    return list(accumulate(key.split("."), "{}.{}".format))


def _study(run: Run) -> dict[str, str]:
    """The keys of the study's file, and the options of the command line that changed them."""
    try:
        keys = dict(leaves(run.study_text.keys))
    except StudyError:  # a note of the run says so
        keys = {}
    return keys | dict(run.options)


def _told(environment: Mapping[str, Any], parts: Iterable[str]) -> dict[str, str]:
    """What these parts of an environment tell, but for what differs by chance."""
    pairs = leaves({part: environment.get(part) for part in parts})
    return {key: text for key, text in pairs if not key.endswith(BY_CHANCE)}


def _environment(run: Run) -> dict[str, str]:
    """What a run was made with; `nginx/1.22 or nginx/1.24` where it went on with something else."""
    values: dict[str, list[str]] = {}
    for environment in run.environments:
        for key, text in _told(environment, (*ALIKE, *OF_THE_RUN)).items():
            if text != words.DASH and key not in ALWAYS_DIFFERENT:
                values.setdefault(key, []).append(text)
    return {key: words.distinct(texts, " or ") for key, texts in values.items()}


def _calibration(a: Run, b: Run) -> Iterator[Difference]:
    """How the links of the same name were configured and emulated, and readings more than one per cent apart."""
    mine, others = _readings(a), _readings(b)
    for name in (name for name in mine if name in others):
        one, other = _configured(mine[name]), _configured(others[name])
        shared = one.keys() & other.keys()
        yield from _apart(
            f"link {name}", *({k: v for k, v in x.items() if k in shared} for x in (one, other))
        )
        for key in READINGS:
            before, after = _measured(mine[name], key), _measured(others[name], key)
            if before is not None and after is not None and _far(key, before, after):
                yield Difference(
                    f"link {name} {key} measured", words.number(before, 3), words.number(after, 3)
                )


def _readings(run: Run) -> dict[str, list[Mapping[str, Any]]]:
    """The readings of each link by its name."""
    readings: dict[str, list[Mapping[str, Any]]] = {}
    for reading in run.calibration:
        link = reading.get("link")
        if isinstance(link, dict):
            readings.setdefault(str(link.get("name")), []).append(reading)
    return readings


def _configured(readings: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    last = readings[-1]
    return dict(leaves({**last["link"], **{key: last.get(key) for key in ("backend", "scheduling")}}))


def _measured(readings: Iterable[Mapping[str, Any]], key: str) -> float | None:
    """The median of what was measured; None without any."""
    parts = [reading[key] for reading in readings if isinstance(reading.get(key), dict)]
    values = [float(part["measured"]) for part in parts if words.is_number(part.get("measured"))]
    return median(values) if values else None


def _far(key: str, before: float, after: float) -> bool:
    return abs(after - before) > max(CALIBRATION_APART * max(before, after), LEAST_APART.get(key, 0.0))
