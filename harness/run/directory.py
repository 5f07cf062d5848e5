"""A run directory: plan, environment, calibration and the append-only records. The layout is the contract of
docs/record-format.md.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import Outcome, RecordsError
from harness.input import jsontext, keys
from harness.input.shown import clipped, count_of, one_line, shortened
from harness.model.engine import Engine
from harness.model.environment import ALIKE, BY_CHANCE, CONTINUED, OF_THE_MACHINE
from harness.records import PORTRAITS, RECORDS, Record, RecordLine, RecordReader, StoredRecord
from harness.run.attempts import Standing
from harness.study.plan import LOOKS, PLAN, Plan
from harness.study.study import KEPT
from harness.study.studytext import STUDY
from harness.system.files import (
    append_line,
    append_text,
    drop_cut_line,
    is_temporary,
    remove_leftovers,
    write_whole,
)

ENVIRONMENT, MACHINES, CALIBRATION = "environment.json", "machines.jsonl", "calibration.jsonl"
TRIALS = "trials"
MACHINES_SCHEMA = 1
LONGEST_OPTIONS = 100  # characters
LONGEST_VALUE, CHANGES_SHOWN = 60, 4
# What a run that was killed before its plan was written may have left.
BEFORE_THE_PLAN = {".lock", STUDY, *KEPT}


class JoinedMachine(NamedTuple):
    """A machine as it joined a run on several. By the `number` it is known again; None where its line has none."""

    name: str
    environment: Mapping[str, Any]
    number: str | None

    @classmethod
    def of_line(cls, line: bytes) -> JoinedMachine:
        """That of a line of machines.jsonl; ValueError or StudyError for a line that is damaged."""
        told = jsontext.parse(line)
        number = keys.text(told, "number") if "number" in told else None
        return cls(keys.text(told, "machine"), jsontext.part(told, "environment"), number)


class RunDirectory:
    """The files of one run. `open_run` gives one that nobody else writes to.

    RecordsError when what pages asked for cannot be read; the other files are read as they are needed.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self._requested = _requested_digests(self.requested_path)
        self._standing: tuple[list[int], Standing] | None = (
            None  # with the sizes of the files it was read from
        )

    @property
    def records_path(self) -> Path:
        return self.folder / RECORDS

    @property
    def looks_path(self) -> Path:
        return self.folder / LOOKS

    @property
    def portraits_path(self) -> Path:
        return self.folder / PORTRAITS

    @property
    def requested_path(self) -> Path:
        return self.folder / "requested.jsonl"

    def trial_folder(self, trial: str, attempt: int = 1) -> Path:
        """Where the kept files of an attempt go."""
        return attempt_folder(self.folder / TRIALS, trial, attempt)

    def standing(self) -> Standing:
        """How far the run has come; last lines cut off by a kill are removed first.

        It is read anew only when the files have another size than before.
        """
        files = [self.records_path, self.looks_path, self.portraits_path]
        for path in files:
            drop_cut_line(path)
        sizes = [path.stat().st_size if path.exists() else 0 for path in files]
        if self._standing is None or self._standing[0] != sizes:
            self._standing = sizes, Standing.read(self.folder, self.plan)
        return self._standing[1]

    def endings(self) -> Counter[str | None]:
        """How many attempts count and have a result, by None, and how many do not, by the reason."""
        records = RecordReader(self.plan.distinct).of(self.records_path)
        return Counter(_against(record) for _, record, _ in records)

    def append(self, *records: Record) -> None:
        """Store records and flush them to disk before returning."""
        lines = [RecordLine.of(record) for record in records]
        self.append_requested(lines)
        self.append_lines(lines)

    def append_lines(self, records: Iterable[RecordLine]) -> None:
        """The same for their lines; what their pages asked for is stored before."""
        append_text(self.records_path, "".join(record.text for record in records))

    def append_portraits(self, records: Iterable[RecordLine]) -> None:
        """The same for loads that were looked at: they never come among those that were measured."""
        append_text(self.portraits_path, "".join(record.text for record in records))

    def append_requested(self, records: Iterable[RecordLine]) -> None:
        """Store what pages asked for, if that is new."""
        for record in records:
            digest = record.requested_digest
            if digest is not None and digest not in self._requested:
                append_line(self.requested_path, {"digest": digest, "urls": record.requested})
                self._requested.add(digest)

    def append_look(self, look: Mapping[str, Any]) -> None:
        append_line(self.looks_path, look)

    @property
    def machines_path(self) -> Path:
        return self.folder / MACHINES

    def append_machine(self, joined: JoinedMachine) -> None:
        """A machine has joined a run on several."""
        line = {"schema": MACHINES_SCHEMA, "machine": joined.name, "environment": joined.environment}
        number = {} if joined.number is None else {"number": joined.number}
        append_line(self.machines_path, {**line, **number})

    def machines(self) -> list[JoinedMachine]:
        """Those that have joined, in that order; one may have done so several times. RecordsError for damage."""
        return [joined for _, joined in jsontext.each(self.machines_path, JoinedMachine.of_line)]

    def environment(self) -> Mapping[str, Any] | None:
        """What the run was begun with; None before that. RecordsError when it is damaged."""
        path = self.folder / ENVIRONMENT
        if not path.exists():
            return None
        try:
            return jsontext.read(path)
        except ValueError as error:
            raise RecordsError(f"{path} is damaged ({one_line(str(error))}); choose another --out") from error

    def append_calibration(self, reading: Mapping[str, Any]) -> None:
        append_line(self.folder / CALIBRATION, reading)

    def refuse_other_archives(self, digests: Mapping[str, str]) -> None:
        """RecordsError when the run was begun with other archives than these, by the names they are served under.

        What a finished run tells would else be taken for what these hold.
        """
        path = self.folder / ENVIRONMENT
        if path.exists():
            with _undamaged(path):
                begun = _archives(jsontext.read(path))
            self._refuse_to_mix(begun, {_archive(name): digest for name, digest in digests.items()})

    def _refuse_to_mix(
        self, begun: Mapping[tuple[str, str], str], now: Mapping[tuple[str, str], str]
    ) -> None:
        """RecordsError where the run does not go on with what it was begun with."""
        for what, had in begun.items():
            if had != now.get(what):
                other = f"with {now[what]}" if what in now else "without"
                raise RecordsError(
                    f"{self.folder} was begun with {what[0]} {had} and cannot go on {other}; choose another --out"
                )

    def write_environment(self, environment: Mapping[str, Any], *, of_several: bool = False) -> str | None:
        """Store the environment; a continued run keeps the first one and lists each later one below it.

        `of_several`: it is that of one of several machines, of which any may be the first to come. The crew holds each
        to its own programs (machines.jsonl), so that archives alone must not differ here.

        Returns a warning when the run was begun on another distribution, in another root, or with something else that
        may change what is measured: the report says so, too.

        Raises RecordsError when link, browsers or archives are others than the run was begun with: they do not mix.
        """
        path = self.folder / ENVIRONMENT
        warnings = []
        if path.exists():
            engines = self.plan.engines
            now = _archives(environment) if of_several else _must_not_mix(environment, engines)
            with _undamaged(path):
                stored = jsontext.read(path)
                later = list(stored.get(CONTINUED, ()))
                begun_under, goes_on = _system(stored), _system(environment)
                begun: dict[tuple[str, str], str] = {}
                for earlier in (stored, *later):
                    held = _archives(earlier) if of_several else _must_not_mix(earlier, engines)
                    begun = {**held, **begun}
            self._refuse_to_mix(begun, now)
            if "debian" in stored and begun_under != goes_on:
                warnings.append(f"this run was begun under {begun_under}, and goes on under {goes_on}")
            changed = _changed(stored, environment)
            if changed:
                shown = shortened(changed, CHANGES_SHOWN, separator="; ", noun="setting")
                warnings.append(f"this run is not made alike throughout: {shown}")
            stored[CONTINUED] = [*later, dict(environment)]
        else:
            stored = dict(environment)
        write_whole(path, json.dumps(stored, indent=1) + "\n")
        return "; ".join(warnings) or None


@contextlib.contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """RecordsError for an environment that cannot be read, or lacks what it must have."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise RecordsError(
            f"{path} is damaged ({one_line(repr(error))}), so that nobody knows what the run was begun with; "
            "choose another --out"
        ) from error


def _requested_digests(path: Path) -> set[str]:
    """Those that are stored; a line cut off by a kill is removed first."""
    drop_cut_line(path)
    return {digest for _, digest in jsontext.each(path, lambda line: str(jsontext.parse(line)["digest"]))}


def _against(record: StoredRecord) -> str | None:
    """Why an attempt gives no result: how it ended, or why it is left out; None for one that counts."""
    if record.outcome != Outcome.OK:
        return f"{record.outcome}: {record.reason}"
    return record.left_out


def _system(environment: Mapping[str, Any]) -> str:
    """Where a run is made, from its environment: `Debian GNU/Linux 12 (bookworm)`, with the roots in use."""
    system = str(environment.get("machine", {}).get("system") or "an unknown system")
    inside = environment.get("debian", {}).get("roots", {})
    named = [
        f"the root {purpose} of {str(root['made_utc'])[:10]}" for purpose, root in sorted(inside.items())
    ]
    return " with ".join([system, *named])


def _changed(begun: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What both tell and is another, as `programs.nginx was nginx/1.22 and is nginx/1.24`."""
    was, has_become = (dict(jsontext.leaves(_telling(environment))) for environment in (begun, now))
    return [
        f"{key} was {_brief(was[key])} and is {_brief(has_become[key])}"
        for key in was
        if key in has_become and was[key] != has_become[key] and not key.endswith(BY_CHANCE)
    ]


def _telling(environment: Mapping[str, Any]) -> dict[str, Any]:
    """What of an environment may change what is measured."""
    machine = jsontext.part(environment, "machine")
    return {
        **{part: environment[part] for part in ALIKE if part in environment},
        "machine": {name: machine[name] for name in OF_THE_MACHINE if name in machine},
    }


def _brief(text: str) -> str:
    return clipped(one_line(text), LONGEST_VALUE)


def _must_not_mix(environment: Mapping[str, Any], engines: Iterable[Engine]) -> dict[tuple[str, str], str]:
    """What a run must have only one of, by what it is and whose. A browser that was missing loaded nothing."""
    browsers = {("browser", engine.value): environment["programs"][engine] for engine in engines}
    return {
        ("link devices", ""): environment["link"]["backend"],
        **{what: version for what, version in browsers.items() if version is not None},
        **_archives(environment),
    }


def _archives(environment: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The archives of a run, likewise, with their digests."""
    return {_archive(name): each["digest"] for name, each in environment["archives"].items()}


def _archive(name: str) -> tuple[str, str]:
    return f"archive {name}", ""


def attempt_folder(trials: Path, trial: str, attempt: int) -> Path:
    """The folder of an attempt among those of a run, or of another folder with the same layout."""
    return trials / (trial if attempt == 1 else f"{trial}-{attempt}")


@contextlib.contextmanager
def open_run(folder: Path, plan: Plan) -> Iterator[RunDirectory]:
    """Start or continue the run in `folder`, locked against a second writer.

    A folder that holds a run of the same study goes on with the plan it has; that of another study is refused.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        plan_path = folder / PLAN
        if plan_path.exists():
            if not plan.study_text.is_kept_in(folder):
                raise RecordsError(
                    f"{folder} holds a run of another study (see its {STUDY}); choose another --out"
                )
            stored = Plan.read(plan_path, plan.distinct)
            _refuse_other(stored, plan, folder)
            plan = stored.with_conditions_of(plan)
            for name in (MACHINES, CALIBRATION):  # the others are looked at as they are read
                drop_cut_line(folder / name)
            remove_leftovers(folder / TRIALS)
        else:
            names = [path.name for path in folder.iterdir()]
            if any(name not in BEFORE_THE_PLAN and not is_temporary(name) for name in names):
                raise RecordsError(f"{folder} is not empty and holds no run; choose another --out")
            _keep_companions(folder, plan)
            write_whole(folder / STUDY, plan.study_text.text)
            write_whole(plan_path, plan.to_lines())
        yield RunDirectory(folder, plan)


def _refuse_other(stored: Plan, plan: Plan, folder: Path) -> None:
    """RecordsError where a study would not go on with the conditions that its run in `folder` has."""
    if stored.options != plan.options:
        told = " ".join(word for option in stored.options for word in option) or "none"
        raise RecordsError(
            f"{folder} was planned with other options ({clipped(told, LONGEST_OPTIONS)}); choose another --out"
        )
    gone, new = stored.cells - plan.cells, plan.cells - stored.cells
    if gone or new:
        example = min(map(str, gone or new))
        raise RecordsError(
            f"the sets, traces, links or variants of the study have changed since {folder} was planned "
            f"({count_of(len(gone), 'condition')} gone and {len(new)} new, as {example}); "
            "put them back, or choose another --out"
        )


def _keep_companions(folder: Path, plan: Plan) -> None:
    """The files that the study names, so that the run can be understood by itself, and packed."""
    for path, text in plan.companions.items():
        (folder / path).parent.mkdir(exist_ok=True)
        write_whole(folder / path, text)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RecordsError(
                f"another coldload is writing to {folder}; wait for it or choose another --out"
            ) from error
        yield
