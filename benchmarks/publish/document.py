"""A document whose figures come from small CSV files. Pure but for the reading of these files.

In the text a number is a link to its cell: `[1.02](reproduction/spdy-2012.published.csv#ROW.COLUMN)`, with the path
from the document to the data file. Between a line as below and `<!-- end -->` stands what `renewed`
writes anew:

    <!-- table STUDY.PART.csv: COLUMN, COLUMN -->                a table of these columns
    <!-- table STUDY.PART.csv: COLUMN, COLUMN; verdict = X -->   its rows with this verdict
    <!-- table STUDY.PART.csv: COLUMN, COLUMN; rows = A, B -->   these of its rows, in this order
    <!-- figures of STUDY -->                                    the study's figures, each with its caption
    <!-- claims of STUDY, STUDY -->                              how many claims came out how
    <!-- verdicts of STUDY, STUDY -->                            the same, and how many places of each metric
    <!-- changes since STUDY -->                                 whether changes of numbers are younger than its run
    <!-- changes after 2026-11-21: browser = Chromium -->        the same of what no file tells of, by facts of a report
    <!-- simulated PART -->                                      what was simulated (`benchmarks.simulation.showing`)

Where a study was not run, the files of its short form stand in, and the document says so; without both it says that.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.claims.claimresult import ClaimVerdict
from analysis.claims.published import VERDICTS, worst
from benchmarks.publish.changes import Facts, changes
from benchmarks.simulation import keeping
from benchmarks.simulation.parts import PARTS
from benchmarks.simulation.showing import simulated

TOP = Path(__file__).resolve().parents[2]
CHANGELOG, CHANGES = TOP / "CHANGELOG.md", "numbers-that-changed-since-figures-were-published"
ROW = "row"
NOT_YET = "Not measured yet."
SHORT = "-quick"
OF_SHORT = "Of the short form (`{}`), which has fewer trials of a lighter load:\n\n"
NONE_SUCH = "None."
CLAIMS = "claims, each by its worst place"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d)?")
_CELL = re.compile(
    r"\[(?P<shown>[^\[\]]*)\]\((?P<file>(?:[\w-]+/)*[\w.-]+\.csv)#(?P<row>[^)\s]+)\.(?P<column>\w+)\)"
)
_MADE = re.compile(
    r"(?P<head><!-- (?P<what>table|figures of|claims of|verdicts of|changes since|changes after|simulated) "
    r"(?P<said>[^\n]+) -->\n)"
    r"(?P<body>.*?)(?=<!-- end -->)",
    re.DOTALL,
)
_TABLE = re.compile(
    r"(?:[\w-]+/)*(?P<study>[\w-]+)\.(?P<part>[\w.-]+)\.csv: (?P<columns>[\w, ]+)"
    r"(?:; verdict = (?P<verdict>[\w ]+)|; rows = (?P<rows>[\w, -]+))?"
)
# What holds no figure: code, comments, links and pictures, headings, years, the names of an original's figures and of
# releases, and digits within a name (HTTP/1.1, h2).
_NO_FIGURES = re.compile(
    r"^```.*?^```|`[^`]*`|<!--.*?-->|!?\[[^\]]*\]\([^)]*\)|^#.*?$|\b(?:19|20)\d\d\b|\b[Ff]igure \d+"
    r"|\b(?:Debian|Ubuntu|Python|Linux|Chromium|RFC) \d[\d.]*\b",
    re.DOTALL | re.MULTILINE,
)
_FIGURE = re.compile(r"(?<![\w/.-])\d[\d.,]*(?:\b|(?=\s))")

Cells = Mapping[str, Mapping[str, str]]  # by row, by column


@dataclass(frozen=True)
class _Layout:
    """Where the data files are, what a document writes before the name of one, how deep below the top it is; and what
    changed since they were measured.
    """

    data: Path
    before: str
    depth: int
    changelog: Path


class NotInTheDataError(ValueError):
    """A document names a cell that no file holds."""


def renewed(text: str, folder: Path, data: Path, changelog: Path = CHANGELOG) -> str:
    """A document of this folder with every cell and table as the files in `data` have it; else NotInTheDataError."""
    before = "" if data == folder else f"{data.relative_to(folder)}/"
    depth = len(folder.relative_to(TOP).parts) if folder.is_relative_to(TOP) else 0
    here = _Layout(data, before, depth, changelog)

    def cell(found: re.Match[str]) -> str:
        value = _value(folder / found["file"], found["row"], found["column"])
        return f"[{value}]({found['file']}#{found['row']}.{found['column']})"

    def made(found: re.Match[str]) -> str:
        return found["head"] + MAKERS[found["what"]](found["said"], here)

    return _MADE.sub(made, _CELL.sub(cell, text))


def loose_figures(text: str) -> list[str]:
    """Numbers of the text that name no cell: outside of tables made of data, code, names and links."""
    bare = _NO_FIGURES.sub(" ", _MADE.sub("", text))
    return [found.rstrip(".,") for found in _FIGURE.findall(bare)]


def sections(text: str) -> Iterator[tuple[str, str]]:
    """(heading, text below it) of each section of the second level, those within it included."""
    _, *parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    yield from zip(parts[::2], parts[1::2], strict=True)


def files_named(text: str) -> set[str]:
    """The names of the data files and pictures that the document shows."""
    return set(re.findall(r"[( /]([\w-][\w.-]*\.(?:csv|svg))", text))


def _value(path: Path, row: str, column: str) -> str:
    cells = read(path)
    if row not in cells or column not in cells[row]:
        raise NotInTheDataError(f"{path.name} has no cell {row}.{column}")
    return cells[row][column]


def _of_study(study: str, part: str, here: _Layout) -> tuple[Path, str] | None:
    """A file of a study and what is said above it; that of the short form where the study has none."""
    for name, said in ((study, ""), (f"{study}{SHORT}", OF_SHORT.format(f"{study}{SHORT}"))):
        path = here.data / f"{name}.{part}.csv"
        if path.is_file():
            return path, said
    return None


def _table(said: str, here: _Layout) -> str:
    asked = _TABLE.fullmatch(said)
    if asked is None:
        raise NotInTheDataError(f"no table is asked for like this: {said}")
    source = _of_study(asked["study"], asked["part"], here)
    if source is None:
        return f"{NOT_YET}\n"
    path, short = source
    rows, columns = list(read(path).values()), [name.strip() for name in asked["columns"].split(",")]
    for column in columns:
        if rows and column not in rows[0]:
            raise NotInTheDataError(f"{path.name} has no column {column}")
    if asked["rows"]:
        chosen = [name.strip() for name in asked["rows"].split(",")]
        named = {row[ROW]: row for row in rows}
        if absent := set(chosen) - set(named):
            raise NotInTheDataError(f"{path.name} has no row {', '.join(sorted(absent))}")
        rows = [named[name] for name in chosen]
    if asked["verdict"]:
        rows = [row for row in rows if row["verdict"] == asked["verdict"]]
        if not rows:
            return f"{short}{NONE_SUCH}\n"
    return short + _written(
        [column.replace("_", " ") for column in columns],
        [[row[column] for column in columns] for row in rows],
    )


def _figures(study: str, here: _Layout) -> str:
    source = _of_study(study, "figures", here)
    if source is None:
        return f"{NOT_YET}\n"
    path, short = source
    name = path.name.removesuffix(".figures.csv")
    return short + "\n".join(
        f"![{row['title']}]({here.before}{name}.{row['row']}.svg)\n\n*{row['title']}. {row['caption']}*\n"
        for row in read(path).values()
    )


def _claims(studies: str, here: _Layout) -> str:
    return _verdicts(studies, here, CLAIMS)


def _verdicts(studies: str, here: _Layout, only: str = "") -> str:
    rows = []
    for study in map(str.strip, studies.split(",")):
        source = _of_study(study, "published", here)
        if source is None:
            rows.append([f"`{study}`", NOT_YET, *[""] * (1 + len(VERDICTS))])
            continue
        path, _ = source
        name = path.name.removesuffix(".published.csv")
        rows += [
            [f"`{name}`", counted, *counts] for counted, counts in _counts(path) if only in ("", counted)
        ]
    return _written(["study", "counted", "in all", *VERDICTS], rows)


def _counts(path: Path) -> Iterator[tuple[str, list[str]]]:
    """What is counted of a study, and how much of it there is: in all, and with each verdict."""
    places = list(read(path).values())
    if {row["verdict"] for row in places} - set(VERDICTS):
        raise NotInTheDataError(f"{path.name} has a verdict that is none of {', '.join(VERDICTS)}")
    told: dict[str, list[str]] = {
        CLAIMS: list(worst((row["claim"], ClaimVerdict(row["verdict"])) for row in places).values())
    }
    for row in places:
        told.setdefault(f"places, `{row['metric']}`" if row["metric"] else "places", []).append(
            row["verdict"]
        )
    for counted, verdicts in told.items():
        yield counted, [str(len(verdicts)), *(str(verdicts.count(verdict)) for verdict in VERDICTS)]


def _changes_since(study: str, here: _Layout) -> str:
    """Whether changes of numbers concern how a study was measured, and are younger than its run."""
    source = _of_study(study, "run", here)
    if source is None:
        return f"{NOT_YET}\n"
    path, short = source
    return short + _changes({row: cells["value"] for row, cells in read(path).items()}, here)


def _changes_after(said: str, here: _Layout) -> str:
    """The same of figures without a file: the day or minute they were begun at, and facts of them."""
    began, _, told = said.partition(": ")
    pairs = [fact.split(" = ") for fact in told.split("; ") if fact]
    if _MOMENT.fullmatch(began) is None or any(len(pair) != 2 for pair in pairs):
        raise NotInTheDataError(
            f"changes are asked for as `2026-11-21: browser = Chromium`, not like this: {said}"
        )
    measured = began if ":" in began else f"{began} 00:00"
    return _changes({"study": "", **dict(pairs), "measured": measured}, here)


def _changes(run: Facts, here: _Layout) -> str:
    younger = [
        change for change in changes(here.changelog.read_text(encoding="utf-8")) if change.concerns(run)
    ]
    place = f"{'../' * here.depth}CHANGELOG.md#{CHANGES}"
    if not younger:
        return f"Up to date: no [change of numbers]({place}) that concerns it came after its run.\n"
    told, verb = ("change", "concerns") if len(younger) == 1 else ("changes", "concern")
    last = max(change.when for change in younger)
    link = f"[{told} of numbers]({place})"
    return f"Stale: since its run came {len(younger)} {link} that {verb} it, the last on {last}.\n"


def _simulated(what: str, here: _Layout) -> str:
    return simulated(what, keeping.read(here.data), PARTS, lambda name, part: PARTS[name].has_changed(part))


MAKERS: Mapping[str, Callable[[str, _Layout], str]] = {
    "table": _table,
    "figures of": _figures,
    "claims of": _claims,
    "verdicts of": _verdicts,
    "changes since": _changes_since,
    "changes after": _changes_after,
    "simulated": _simulated,
}


def _written(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *lines))


def read(path: Path) -> Cells:
    """A data file, row by row; NotInTheDataError when it is not there."""
    if not path.is_file():
        raise NotInTheDataError(f"there is no {path.name}; `python -m benchmarks.publish` writes it")
    with path.open(encoding="utf-8", newline="") as file:
        return {row[ROW]: row for row in csv.DictReader(file)}
