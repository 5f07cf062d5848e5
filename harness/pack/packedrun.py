"""What of a run goes into a pack: its pages, all that its report and its study need, and nothing of the machine.

Files that a study had kept of trials (logs, packets, pictures) hold what the pages hold, which is not ours to pass on.
The long series of a crowd, a line per page and per second, are nine tenths of a pack, and no figure is drawn from them.
Both are counted. So is nothing else: report, figures and tables are made anew from what the pack holds.

Of a page it is told by recipe and digest which one it is. Its variants are made anew from it, as the study says.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from harness.errors import ArchiveError, RecordsError, StudyError
from harness.input import jsontext, textfile
from harness.input.shown import clipped, one_line, shown
from harness.model.rate import RateFormat, RecordedRate
from harness.pack.packfile import ARCHIVES, PAGES, Pack, PackedPage
from harness.records import PORTRAITS, RECORDS, RecordReader, with_reason
from harness.run.directory import MACHINES
from harness.study.pageset import FOLDER as SETS
from harness.study.plan import PLAN, PORTRAIT, Plan
from harness.study.study import DIGITS, PUBLISHED, RATES, TEMPLATES
from harness.study.studytext import STUDY, StudyText
from harness.system.files import move_into_place, temporary_folder
from sites.archive import Archive, open_archive
from sites.archiveindex import INDEX_FILE, METADATA_FILE, WARC_FILE
from sites.recipes import RECIPES

CUT = "\N{HORIZONTAL ELLIPSIS}"
SHORTEST_NAME = 3  # of a user or a host; shorter ones are parts of other words
EVERYWHERE = frozenset({"root", "localhost", "debian", "user"})  # names that tell nothing
# At least one folder and what it holds. The path of a URL, and one in its query, is none.
_PATH = re.compile(
    r"""(?P<url>\bhttps?://[^\s'"`,;()<>\[\]{}|\\]+)|(?:file:/*|(?<![\w/:.~%-])(?:~[\w.-]*)?)/(?:[^\s/'"`,;:()<>\[\]{}|\\]+/)+(?P<last>[^\s/'"`,;:()<>\[\]{}|\\]*)"""
)


WRITTEN = ("notes", "captured_with", "with")  # of an archive: what may name the machine it was made on


def told_of_nobody(value: Any, names: Collection[str]) -> Any:
    """JSON whose texts hold neither paths (the last part of one stays) nor one of these names."""
    if isinstance(value, str):
        return _telling_nothing(value, names)
    if isinstance(value, list):
        return [told_of_nobody(part, names) for part in value]
    if isinstance(value, dict):
        return {key: told_of_nobody(each, names) for key, each in value.items()}
    return value


def _telling_nothing(text: str, names: Collection[str]) -> str:
    cut = _PATH.sub(lambda found: found["url"] or f"{CUT}/{found['last']}", text)
    telling = [name for name in names if len(name) >= SHORTEST_NAME and name.lower() not in EVERYWHERE]
    if not telling:
        return cut
    return re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, telling))})(?!\w)", CUT, cut)


def without_paths(text: str) -> str:
    """TOML whose comments hold no paths."""
    return textfile.with_comments(text, _without_paths)


def _without_paths(comment: str) -> str:
    return _telling_nothing(comment, ())


def packed_study(study: StudyText, paths: Mapping[str, str], claims: str | None) -> StudyText:
    """The study with its traces where `paths` says, by the names of their files. RecordsError when that cannot be.

    `claims` is where the user's file of claims that others published is, if the run has one. Comments lose their paths.
    """

    def moved(value: str) -> str:
        name = PurePosixPath(value).name
        return paths.get(name, name)

    try:
        if claims is None and study.claims_file is not None:
            raise RecordsError(f"the run lacks {PUBLISHED}, which its study names; it cannot be packed")
        return study.with_comments(_without_paths).with_files(moved, claims)
    except StudyError as error:
        raise RecordsError(f"the run's {STUDY} cannot be packed: {one_line(str(error))}") from error


SHORT_SERIES = ("buckets.jsonl",)  # of a crowd: figures are drawn from it
LONG_SERIES = ("pages.jsonl", "seconds.jsonl")  # what the short one was made from
TRIALS = "trials"
ASKED_FOR = "recipes"  # by the pages of a crowd, with the browser's headers: it is learned anew
ENVIRONMENT = "environment.json"
LONGEST_REASON = 200  # characters
DIGEST = re.compile("[0-9a-f]{64}")
# The note of a variant on what it was made of; earlier versions gave the beginning of the digest.
MADE_OF = re.compile(r"variant \S+ of (?P<page>\S+) \((?P<digest>[0-9a-f]{16}(?:[0-9a-f]{48})?)\)")
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


def copy_run(
    run: Path,
    target: Path,
    plan: Plan,
    names: Collection[str],
    *,
    whole_series: bool,
    portraits: bool = False,
) -> Counter[str]:
    """The run in `target`, without `names` and the machine's paths; how many files of each name were left out.

    `portraits`: with the files of loads that were looked at, which hold what the pages hold.
    """
    target.mkdir(parents=True)
    rates, published = _rates(run, plan), _is_own(run / PUBLISHED, run)
    packed = {
        name: f"{path.relative_to(run).parts[0]}/{digest}/{name}" for name, (digest, path) in rates.items()
    }
    study = packed_study(StudyText(_text(run / STUDY)), packed, PUBLISHED if published else None)
    (target / STUDY).write_text(study.text, encoding="utf-8")
    if published:
        (target / PUBLISHED).write_text(without_paths(_text(run / PUBLISHED)), encoding="utf-8")
    for path in _own(run, run.glob("*.jsonl")):
        with (target / path.name).open("wb") as file:
            file.writelines(_lines(path, names))
    if _is_own(run / ENVIRONMENT, run):
        _copy_environment(run / ENVIRONMENT, target / ENVIRONMENT, names)
    for name, (_, path) in rates.items():
        _copy(path, target / packed[name])
    for path in _own(run, (run / SETS).glob("*.toml")):
        _copy(path, target / SETS / path.name)
    series = (*SHORT_SERIES, *LONG_SERIES) if whole_series else SHORT_SERIES
    left_out = Counter(_copy_kept(run, target, series, portraits=portraits))
    left_out.update(f"{ASKED_FOR}/" for path in (run / ASKED_FOR).glob("*") if path.is_file())
    return left_out


def _text(path: Path) -> str:
    try:
        return textfile.read_text(path)
    except (OSError, textfile.TomlRefusedError) as error:
        why = getattr(error, "strerror", None) or error
        raise RecordsError(f"cannot read {path}: {why}") from error


def _rates(run: Path, plan: Plan) -> dict[str, tuple[str, Path]]:
    """The digests (their beginnings) and copies of the study's traces, step lists and templates, by their files' names.

    RecordsError when one of the plan is not among them, or two have the same name.
    """
    rates: dict[str, tuple[str, Path]] = {}
    for path in _own(run, (path for folder in (RATES, TEMPLATES) for path in (run / folder).glob("**/*"))):
        kept = KEPT_RATE.fullmatch("/".join(path.relative_to(run).parts[1:]))
        if kept is None:
            continue
        if rates.setdefault(kept["file"], (kept["digest"], path))[0] != kept["digest"]:
            raise RecordsError(
                f"the study has two {RateFormat.TRACE}s, step lists or templates called {kept['file']}; give "
                "them two names to pack a run of it"
            )
    for rate in (direction.rate for link in plan.links for direction in link.directions):
        if not isinstance(rate, RecordedRate):
            continue
        if PurePosixPath(rate.file).name != rate.file or not DIGEST.fullmatch(rate.sha256):
            raise RecordsError(
                f"the plan names a trace {shown(rate.file)}; it is damaged and cannot be packed"
            )
        if rates.get(rate.file, ("",))[0] != rate.sha256[:DIGITS]:
            raise RecordsError(
                f"the run lacks {run / RATES / rate.file}, which its plan names; it cannot be packed"
            )
    return rates


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file; not one that is still being written."""
    for _, line, ended in jsontext.lines(path):
        if ended:
            yield line + b"\n"


def _lines(path: Path, names: Collection[str]) -> Iterator[bytes]:
    """What a pack has of a file of lines."""
    if path.name in (RECORDS, PORTRAITS):
        yield from _records(path, names)
    elif path.name == MACHINES:
        yield from _machines(path, names)
    else:
        yield from _whole_lines(path)


def _machines(path: Path, names: Collection[str]) -> Iterator[bytes]:
    """The machines of a run, by the names that its records have; of their environments what tells of nobody."""
    for _, machine in jsontext.each(path, jsontext.parse):
        environment = jsontext.part(machine, "environment")
        told = {**machine, "environment": _told_of_environment(environment, names)}
        yield json.dumps(told).encode() + b"\n"


def _records(path: Path, names: Collection[str]) -> Iterator[bytes]:
    """The lines of the records; of a reason, which quotes programs, what tells of nobody."""
    read = RecordReader()

    def told(line: bytes) -> bytes:
        record = read(line)
        reason = told_of_nobody(record.reason, names)
        return line if reason == record.reason else with_reason(line, reason)

    for _, line in jsontext.each(path, told):
        yield line + b"\n"


def _copy_environment(path: Path, target: Path, names: Collection[str]) -> None:
    try:
        environment = jsontext.read(path)
    except ValueError as error:
        raise RecordsError(f"{path} is damaged ({one_line(str(error))}); it cannot be packed") from error
    told = json.dumps(_told_of_environment(environment, names), indent=1)
    target.write_text(f"{told}\n", encoding="utf-8")


def _told_of_environment(environment: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """An environment, and those that a run went on with, of which pages stay what they are."""
    told = {key: told_of_nobody(value, names) for key, value in environment.items()}
    archives, continued = environment.get("archives"), environment.get("continued")
    if isinstance(archives, dict):
        told["archives"] = {name: _told_of_page(each, names) for name, each in archives.items()}
    if isinstance(continued, list):
        told["continued"] = [
            _told_of_environment(continuation, names)
            if isinstance(continuation, dict)
            else told_of_nobody(continuation, names)
            for continuation in continued
        ]
    return told


def _told_of_page(archive: Any, names: Collection[str]) -> Any:
    """What is told of an archive: its start URL, hosts and digest are the page's own, and stay what they are."""
    if not isinstance(archive, dict):
        return told_of_nobody(archive, names)
    return {key: told_of_nobody(value, names) if key in WRITTEN else value for key, value in archive.items()}


def _copy_kept(run: Path, target: Path, series: Collection[str], *, portraits: bool) -> Iterator[str]:
    """Copy these series of trials, and all that was kept of portraits if that is wanted; the names of all else, of what
    lies elsewhere that of the trial alone.
    """
    trials = run / TRIALS
    for path in sorted(trials.glob("*/**/*")):
        if not path.is_file():
            continue
        inner = path.relative_to(trials)
        wanted = (
            portraits
            if inner.parts[0].startswith(PORTRAIT)
            else path.name in series and len(inner.parts) == 2
        )
        if not _is_inside(path.parent, run):
            yield f"{inner.parts[0]}/"
        elif wanted and _is_own(path, run):
            _copy(path, target / TRIALS / inner)
        else:
            yield path.name if path.parent.parent == trials else f"{path.parent.name}/"


def _own(run: Path, paths: Iterable[Path]) -> list[Path]:
    """Those that are files of the run, in order."""
    return [path for path in sorted(paths) if _is_own(path, run)]


def _is_own(path: Path, run: Path) -> bool:
    """Whether it is a file that lies in the run."""
    return path.is_file() and _is_inside(path, run)


def _is_inside(path: Path, run: Path) -> bool:
    """Whether a path lies in the run. A link, its own or that of a folder, leads to what nobody meant to pass on."""
    return path.resolve() == run.resolve() / path.relative_to(run)


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def describe_pages(run: Path, plan: Plan, root: Path) -> list[tuple[PackedPage, Archive | None]]:
    """The pages of a run, each with its archive in `root` if that still is what was measured."""
    measured = _measured(run)
    pages = []
    for name, served in sorted(_served_names(plan).items()):
        archive = _archive(root, name)
        # Where engines get other bytes of a variant, they are told one by one, as `agency--core, qtwebkit`.
        told = [entry for key, entry in measured.items() if key.partition(", ")[0] in served]
        digest = measured.get(name, {}).get("digest") or _made_of(name, told, archive)
        same = archive if archive and archive.digest == digest else None
        urls = (entry["start_url"] for entry in told if "start_url" in entry)
        start_url = next(urls, archive.start_url if archive else None)
        recipe = name in RECIPES and RECIPES[name].start_url == start_url
        pages.append((PackedPage(name, start_url, digest, recipe, archived=False), same))
    return pages


def _served_names(plan: Plan) -> Mapping[str, set[str]]:
    """The names under which each page and its variants were served."""
    names: dict[str, set[str]] = {}
    for trial in plan.trials:
        names.setdefault(trial.condition.page, set()).add(trial.condition.served.archive)
    return names


def _made_of(page: str, variants: Iterable[Mapping[str, Any]], archive: Archive | None) -> str | None:
    """The digest of the page that variants were made of, as their notes tell it. One that they tell the beginning of is
    that of the archive, or not known; neither is it where they were made of several.
    """
    told: set[str] = set()
    for variant in variants:
        notes = variant.get("notes")
        texts = [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
        made_of = [note for note in map(MADE_OF.fullmatch, texts) if note and note["page"] == page]
        told.update(note["digest"] for note in made_of[-1:])
    known = {digest for digest in told if DIGEST.fullmatch(digest)}
    candidates = known or ({archive.digest} if archive and told else set())
    digest = candidates.pop() if len(candidates) == 1 else ""
    return digest if digest and all(map(digest.startswith, told)) else None


def copy_page(archive: Archive, target: Path, names: Collection[str], *, bodies: bool) -> None:
    """What the archive holds, response by response with digests, under `target`; with `bodies` all of it.

    ArchiveError when an archive with bodies would not come out of the pack as it was opened.
    """
    folder = target / (ARCHIVES if bodies else PAGES) / archive.name
    folder.mkdir(parents=True)
    shutil.copyfile(archive.folder / INDEX_FILE, folder / INDEX_FILE)
    metadata = _told_of_page(json.loads((archive.folder / METADATA_FILE).read_bytes()), names)
    (folder / METADATA_FILE).write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")
    if bodies:
        shutil.copyfile(archive.folder / WARC_FILE, folder / WARC_FILE)
        copied = open_archive(folder.parent, archive.name)
        for _ in copied.responses():  # each is checked as it is read
            pass
        if copied.digest != archive.digest:
            raise ArchiveError(f"archive {archive.name} changed while it was packed; give the command again")


def unpack_archive(pack: Pack, page: PackedPage, root: Path) -> Archive:
    """The archive of a page out of the pack, in `root`; ArchiveError when it is not what the pack says."""
    with temporary_folder(root, page.name) as temporary:
        folder = pack.unpack(f"{ARCHIVES}/{page.name}", temporary / page.name)
        if {path.name for path in folder.iterdir()} != {INDEX_FILE, METADATA_FILE, WARC_FILE}:
            raise ArchiveError(
                f"page {page.name} of the pack {pack.path} is no archive; get the pack from its source"
            )
        archive = open_archive(folder.parent, page.name)
        for _ in archive.responses():  # each is checked as it is read
            pass
        refuse_other(pack, page, archive, f"the pack {pack.path}")
        move_into_place(folder, root / page.name)
    return open_archive(root, page.name)


def refuse_other(pack: Pack, page: PackedPage, archive: Archive, where: str) -> None:
    """ArchiveError when an archive is not the one that was measured.

    HTTrack keeps files of one page now in this order, now in that one: the order alone makes no other page.
    """
    if page.digest in (None, archive.digest):
        return
    if page.digest != archive.digest_in_order(_recorded_order(pack, page)):
        raise ArchiveError(
            f"page {page.name} of {where} is not the one that was measured (digest {archive.digest[:12]}, measured "
            f"{page.digest[:12]}); set COLDLOAD_ARCHIVES to another folder to have both, or use the version that made "
            "the pack"
        )


def _recorded_order(pack: Pack, page: PackedPage) -> list[str]:
    """The URLs of a page as the pack's index has them; none where it tells them not, or not so."""
    with TemporaryDirectory() as temporary:
        part = ARCHIVES if page.archived else PAGES
        index = pack.unpack(f"{part}/{page.name}", Path(temporary) / page.name) / INDEX_FILE
        try:
            return [str(jsontext.parse(line)["url"]) for line in index.read_bytes().splitlines()]
        except (OSError, ValueError, KeyError, TypeError):
            return []


def _archive(root: Path, name: str) -> Archive | None:
    """The archive; None when there is none that can be read."""
    try:
        return open_archive(root, name)
    except ArchiveError:
        return None


def _measured(run: Path) -> Mapping[str, Mapping[str, Any]]:
    """What environment.json says of the archives, by the names they were served under."""
    path = run / ENVIRONMENT
    try:
        archives = jsontext.read(path).get("archives")
    except OSError:
        return {}
    except ValueError as error:
        raise RecordsError(f"{path} is damaged; it cannot be packed") from error
    if not isinstance(archives, dict):
        return {}
    return {name: each for name, each in archives.items() if isinstance(each, dict)}
