"""What of a run directory goes into a pack: everything that its report and its study need, and nothing of the machine.

Files that a study had kept of trials (logs, packets, pictures) hold what the pages hold, which is not ours to pass on.
The long series of a crowd, a line per page and per second, are nine tenths of a pack, and no figure is drawn from them.
Both are counted. So is nothing else: report, figures and tables are made anew from what the pack holds.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from harness.errors import RecordsError
from harness.input import jsontext, tomltext
from harness.input.shown import clipped, one_line, shown
from harness.model.rate import RateFormat, RecordedRate
from harness.pack.packfile import RUN, Pack
from harness.records import RECORDS, RecordReader
from harness.study.pageset import FOLDER as SETS
from harness.study.plan import PLAN, Plan
from harness.study.study import DIGITS, PUBLISHED, RATES

CUT = "\N{HORIZONTAL ELLIPSIS}"
SHORTEST_NAME = 3  # of a user or a host; shorter ones are parts of other words
EVERYWHERE = frozenset({"root", "localhost", "debian", "user"})  # names that tell nothing
# At least one folder and what it holds. The path of a URL stands behind its host, so it is none.
_PATH = re.compile(
    r"""(?:file:/*|(?<![\w/:.~%-])(?:~[\w.-]*)?)/(?:[^\s/'"`,;:()<>\[\]{}|\\]+/)+(?P<last>[^\s/'"`,;:()<>\[\]{}|\\]*)"""
)


def told_of_nobody(value: Any, names: Collection[str]) -> Any:
    """JSON whose texts hold neither paths (the last part of one stays) nor one of these names."""
    if isinstance(value, str):
        return _telling_nothing(value, names)
    if isinstance(value, list):
        return [told_of_nobody(each, names) for each in value]
    if isinstance(value, dict):
        return {key: told_of_nobody(each, names) for key, each in value.items()}
    return value


def _telling_nothing(text: str, names: Collection[str]) -> str:
    cut = _PATH.sub(rf"{CUT}/\g<last>", text)
    telling = [name for name in names if len(name) >= SHORTEST_NAME and name.lower() not in EVERYWHERE]
    if not telling:
        return cut
    return re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, telling))})(?!\w)", CUT, cut)


PUBLISHED_KEY = "published"  # of a study
_TRACE = re.compile(r"""((?:trace|steps)_(?:up|down)\s*=\s*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""")
_CLAIMS = re.compile(
    rf"""((?:^{PUBLISHED_KEY}|\bclaims)\s*=\s*)("(?:[^"\\\n]|\\.)*\.toml"|'[^'\n]*\.toml')""", re.MULTILINE
)


def without_paths(text: str) -> str:
    """TOML whose comments hold no paths."""
    return tomltext.with_comments(text, lambda comment: told_of_nobody(comment, ()))


def study_without_places(text: str, places: Mapping[str, str], claims: str | None) -> str:
    """The study with its traces where `places` says, by the names of their files. RecordsError when that cannot be.

    `claims` is where the user's file of claims that others published is, if the run has one. Comments lose their paths.
    """

    def moved(value: str) -> str:
        name = PurePosixPath(value).name
        return places.get(name, name)

    def rewritten(found: re.Match[str]) -> str:
        value = tomllib.loads(f"value = {found[2]}")["value"]
        return f"{found[1]}{json.dumps(moved(value))}"

    made = _TRACE.sub(rewritten, without_paths(text))
    try:
        expected = _moved(tomltext.parse(text), moved)
        if _own_claims(expected):
            if claims is None:
                raise RecordsError(f"the run lacks {PUBLISHED}, which its study names; it cannot be packed")
            said = expected[PUBLISHED_KEY]
            expected[PUBLISHED_KEY] = {**said, "claims": claims} if isinstance(said, dict) else claims
            made = _CLAIMS.sub(lambda found: f"{found[1]}{json.dumps(claims)}", made)
        after = tomltext.parse(made)
    except tomltext.TomlRefusedError as error:
        raise RecordsError(
            f"the run's study.toml is damaged ({one_line(str(error))}); it cannot be packed"
        ) from error
    if expected != after:
        raise RecordsError(
            "the run's study.toml names its files in a way that cannot be packed; write each on one line, as in "
            'trace_down = "FILE" and published = "FILE"'
        )
    return made


def _own_claims(data: Mapping[str, Any]) -> bool:
    """Whether published claims come from a file of the user's, and not from those that ship."""
    said = data.get(PUBLISHED_KEY)
    name = said.get("claims") if isinstance(said, dict) else said
    return isinstance(name, str) and name.endswith(".toml")


def _moved(value: Any, moved: Callable[[str], str], key: str = "") -> Any:
    """Parsed TOML with the places of its traces replaced."""
    if isinstance(value, dict):
        return {name: _moved(each, moved, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, moved, key) for each in value]
    return moved(value) if isinstance(value, str) and key.startswith(("trace_", "steps_")) else value


SHORT_SERIES = ("buckets.jsonl",)  # of a crowd: figures are drawn from it
LONG_SERIES = ("pages.jsonl", "seconds.jsonl")  # what the short one was made from
TRIALS = "trials"
STUDY, ENVIRONMENT = "study.toml", "environment.json"
NOTE = "# run with "
_NOTED = re.compile(r"^(?:# run with --[a-z-]+ [^\n]*\n){1,100}\Z", re.MULTILINE)
LONGEST_REASON = 200  # characters
DIGEST = re.compile("[0-9a-f]{64}")
# As a run keeps a trace, and as a pack does, where it has its own name, which is a part of the plan.
KEPT_RATE = re.compile(rf"(?P<digest>[0-9a-f]{{{DIGITS}}})[-/](?P<file>[^/]+)")


def read_plan(run: Path) -> Plan:
    """The plan of a run directory; RecordsError when there is none."""
    try:
        try:
            return Plan.read(run / PLAN)
        except RecordsError as error:
            why = clipped(str(error), LONGEST_REASON)
            raise RecordsError(f"{run} cannot be packed by this version: {why}") from error
    except OSError as error:
        raise RecordsError(
            f"{run} is not a run directory: it has no {PLAN} ({error.strerror}); give the path of a run"
        ) from error


def unpack_run(pack: Pack, into: Path) -> Path:
    """The run directory of a pack, in `into`; RecordsError when it is damaged."""
    run = pack.unpack(RUN, into)
    _as_runs_are(run)
    return run


def _as_runs_are(run: Path) -> None:
    """Title and options of the command line into the plan: in the packs of docs/reproduction study.toml has them alone.

    What is damaged stays as it is, for its reader to tell.
    """
    try:
        text = tomltext.read_text(run / STUDY)
        first, end, trials = (run / PLAN).read_bytes().partition(b"\n")
        header, title = jsontext.parse(first), tomltext.parse(text).get("title")
    except (OSError, ValueError, tomltext.TomlRefusedError):
        return
    noted = _NOTED.search(text)
    if {"title", "options"} & header.keys() or not (title or noted):
        return
    header |= {"title": title} if title else {}
    if noted:
        header["options"] = [line.removeprefix(NOTE).split(" ", 1) for line in noted[0].splitlines()]
        (run / STUDY).write_text(text[: noted.start()], encoding="utf-8")
    (run / PLAN).write_bytes(json.dumps(header).encode() + end + trials)


def copy_run(
    run: Path, target: Path, plan: Plan, names: Collection[str], *, whole_series: bool
) -> Counter[str]:
    """The run in `target`, without `names` and the machine's paths; how many files of each name were left out."""
    target.mkdir(parents=True)
    rates, published = _rates(run, plan), _is_own(run / PUBLISHED)
    places = {name: f"{RATES}/{digest}/{name}" for name, (digest, _) in rates.items()}
    text = study_without_places(_text(run / STUDY), places, PUBLISHED if published else None)
    (target / STUDY).write_text(text, encoding="utf-8")
    if published:
        (target / PUBLISHED).write_text(without_paths(_text(run / PUBLISHED)), encoding="utf-8")
    for path in filter(_is_own, sorted(run.glob("*.jsonl"))):
        lines = _records(path, names) if path.name == RECORDS else _whole_lines(path)
        with (target / path.name).open("wb") as file:
            file.writelines(lines)
    _copy_environment(run / ENVIRONMENT, target / ENVIRONMENT, names)
    for name, (_, path) in rates.items():
        _copy(path, target / places[name])
    for path in filter(_is_own, sorted((run / SETS).glob("*.toml"))):
        _copy(path, target / SETS / path.name)
    series = (*SHORT_SERIES, *LONG_SERIES) if whole_series else SHORT_SERIES
    return Counter(_copy_series(run / TRIALS, target / TRIALS, series))


def _text(path: Path) -> str:
    try:
        return tomltext.read_text(path)
    except (OSError, tomltext.TomlRefusedError) as error:
        why = getattr(error, "strerror", None) or error
        raise RecordsError(f"cannot read {path}: {why}") from error


def _rates(run: Path, plan: Plan) -> dict[str, tuple[str, Path]]:
    """The digests (their beginnings) and copies of all traces and step lists of the study, by the names of their files.

    RecordsError when one of the plan is not among them, or two have the same name.
    """
    found: dict[str, tuple[str, Path]] = {}
    for path in filter(_is_own, sorted((run / RATES).glob("**/*"))):
        kept = KEPT_RATE.fullmatch(path.relative_to(run / RATES).as_posix())
        if kept is None:
            continue
        if found.setdefault(kept["file"], (kept["digest"], path))[0] != kept["digest"]:
            raise RecordsError(
                f"the study has two {RateFormat.TRACE}s or step lists called {kept['file']}; give them two names to "
                "pack a run of it"
            )
    for rate in (direction.rate for link in plan.links for direction in link.directions):
        if not isinstance(rate, RecordedRate):
            continue
        if PurePosixPath(rate.file).name != rate.file or not DIGEST.fullmatch(rate.sha256):
            raise RecordsError(
                f"the plan names a trace {shown(rate.file)}; it is damaged and cannot be packed"
            )
        if found.get(rate.file, ("",))[0] != rate.sha256[:DIGITS]:
            raise RecordsError(
                f"the run lacks {run / RATES / rate.file}, which its plan names; it cannot be packed"
            )
    return found


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file; not one that is still being written."""
    for _, line, ended in jsontext.lines(path):
        if ended:
            yield line + b"\n"


def _records(path: Path, names: Collection[str]) -> Iterator[bytes]:
    """The lines of the records; of a reason, which quotes programs, what tells of nobody."""
    read = RecordReader()

    def told(line: bytes) -> bytes:
        record = read(line)
        reason = told_of_nobody(record.reason, names)
        return (
            line
            if reason == record.reason
            else json.dumps({**jsontext.parse(line), "reason": reason}).encode()
        )

    for _, line in jsontext.each(path, told):
        yield line + b"\n"


def _copy_environment(path: Path, target: Path, names: Collection[str]) -> None:
    if not _is_own(path):
        return
    try:
        environment = jsontext.read(path)
    except ValueError as error:
        raise RecordsError(f"{path} is damaged ({one_line(str(error))}); it cannot be packed") from error
    told = json.dumps(told_of_nobody(environment, names), indent=1)
    target.write_text(f"{told}\n", encoding="utf-8")


def _copy_series(trials: Path, target: Path, series: Collection[str]) -> Iterator[str]:
    """Copy these series of trials; the names of all else that trials have."""
    for path in sorted(trials.glob("*/**/*")):
        if not path.is_file():
            continue
        if path.name in series and path.parent.parent == trials and _is_own(path):
            _copy(path, target / path.parent.name / path.name)
        else:
            yield path.name if path.parent.parent == trials else f"{path.parent.name}/"


def _is_own(path: Path) -> bool:
    """Whether a file lies in the run. A link leads to something else, which nobody meant to pass on."""
    return path.is_file() and not path.is_symlink()


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
