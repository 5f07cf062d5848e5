"""docs/reproduction.md, docs/results.md and the pages behind them say what their data files hold.

`python -m benchmarks.publish DOCUMENT --no-files` writes their figures and tables anew from these files.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from benchmarks.publish.document import (
    NOT_YET,
    NotInTheDataError,
    files_named,
    loose_figures,
    renewed,
    sections,
)
from benchmarks.publish.editions import EDITIONS, REPRODUCTION, RESULTS, Edition, RepeatedStudy
from benchmarks.simulation import properties
from benchmarks.soak import tallies
from harness.cli.commands import parser
from harness.cli.studychoice import chosen
from harness.study.publicationfile import shipped_claims
from harness.study.studyfile import shipped_studies
from tests.facts import tells

OF_SETTINGS = ("Set-up",)  # what was chosen, not what was measured
EVERY_STUDY = [(edition, each) for edition in EDITIONS.values() for each in edition.studies]

CSV = "row,claim,here,low\nfig-1-100-ms,SPDY | HTTP,0.713,0.70\n"


def study_name(given: object) -> str:
    return given.study if isinstance(given, RepeatedStudy) else ""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of documents with one data file."""
    (tmp_path / "reproduction").mkdir()
    (tmp_path / "reproduction" / "spdy.published.csv").write_text(CSV)
    return tmp_path


def rewritten(text: str, folder: Path) -> str:
    """A document of the folder, which has a changelog of its own or none."""
    return renewed(text, folder, folder / "reproduction", folder / "CHANGELOG.md")


@pytest.mark.parametrize(
    ("edition", "path"),
    [(edition, path) for edition in EDITIONS.values() for path in edition.documents],
    ids=lambda given: given.stem if isinstance(given, Path) else "",
)
def test_a_document_says_what_the_data_say(edition: Edition, path: Path) -> None:
    text = path.read_text()
    told = f"renew it: python -m benchmarks.publish {edition.name} --no-files"
    assert renewed(text, path.parent, edition.data) == text, told


TABLE = re.compile(r"<!-- table [^:]+: ([^;>]*?)(?:;[^>]*)? -->\n(.*?)<!-- end", re.DOTALL)
NAMING = {
    "what",
    "style_sheet",
    "differs",
    "claim",
    "text",
    "stands",
    "where",
    "page",
    "variant",
    "filter",
    "compression",
    "waiting",
    "factor",
    "engine",
    "metric",
    "protocol",
    "users",
    "row",
    "down_mbps",
    "rtt_ms",
    "driver",
    "command",
    "cache",
    "observed",
    "place",
    "slowdown",
    "load",
    "disturbance",
    "rule",
    "measure",
    "crowd",
    "beside",
    "figure",
    "workers",
    "change",
    "time",
}


@pytest.mark.parametrize(
    "path", [path for edition in EDITIONS.values() for path in edition.documents], ids=lambda path: path.stem
)
def test_no_two_rows_of_a_table_are_told_alike(path: Path) -> None:
    for columns, table in TABLE.findall(path.read_text()):
        heads = [name.strip() for name in columns.split(",")]
        named = [number for number, head in enumerate(heads) if head in NAMING]
        lines = [line.removeprefix("| ").removesuffix(" |") for line in table.splitlines()[2:] if line]
        rows = [line.split(" | ") for line in lines]
        assert named, columns
        said = [tuple(row[number] for number in named) for row in rows]
        assert len(said) == len(set(said)), columns


def test_every_figure_of_the_reproduction_names_its_cell() -> None:
    found = {head: loose_figures(part) for head, part in sections(REPRODUCTION.document.read_text())}
    assert {head for head in found if head not in OF_SETTINGS} == {"Results"}
    assert found["Results"] == []


@pytest.mark.parametrize(("edition", "each"), EVERY_STUDY, ids=study_name)
def test_every_study_ships_and_has_its_page(edition: Edition, each: RepeatedStudy) -> None:
    assert {each.study, each.quick or each.study} <= shipped_studies().keys()
    page = edition.page(each)
    assert loose_figures(page.read_text()) == []
    assert f"<!-- changes since {each.study} -->" in page.read_text()
    assert f"({edition.pages.name}/{page.name}" in edition.document.read_text()


# What tests of the benchmarks hold to their data: whole pages, and parts of others.
MADE_ELSEWHERE = ("headline", "soak")
HELD_ELSEWHERE = re.compile(
    r"<!-- of data/live.json -->.*?<!-- end -->"
    r"|<!-- tables of benchmarks.lighthouse -->.*?<!-- end of the tables -->"
    r"|^## Beside Mahimahi$.*?(?=^<!-- changes after )"
    r"|^\| (?:Does a replay take as long as the live page|Does another tool see the same time)\?[^\n]*$",
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize(
    "path",
    [path for path in RESULTS.documents if path.stem not in MADE_ELSEWHERE],
    ids=lambda path: path.stem,
)
def test_what_was_measured_is_in_cells_and_what_was_chosen_in_code_spans(path: Path) -> None:
    assert loose_figures(HELD_ELSEWHERE.sub("", path.read_text())) == []


# Of these every row or part says by itself how old it is, with its commit or version.
DATED = ("headline", "soak", "statistics")
OF_A_DAY = re.compile(r"\b2026-\d\d-\d\d\b")


def test_what_was_measured_says_whether_it_is_stale() -> None:
    pages = {page.study for page in RESULTS.studies} | {page.page for page in RESULTS.studies}
    hand_written = [path for path in RESULTS.pages.glob("*.md") if path.stem not in {*DATED, *pages}]
    assert hand_written
    for path in hand_written:
        for head, text in [*sections(path.read_text())] or [("", path.read_text())]:
            marked = "<!-- changes since " in text or "<!-- changes after " in text
            assert marked or not OF_A_DAY.search(text), f"{path.name}: {head}"


def test_figures_without_a_file_say_what_they_are_of(folder: Path) -> None:
    (folder / "CHANGELOG.md").write_text(
        "- **number** 2026-11-21 09:00 (k6). A\n- **number** 2026-11-22. B\n"
    )
    for said, told in (
        ("2026-11-21: generator = k6", "Stale: since its run came 2 [changes"),
        ("2026-11-21 09:01: generator = k6", "Stale: since its run came 1 [change of numbers]"),
        (
            "2026-11-21: browser = Chromium; design = variants",
            "Stale: since its run came 1 [change of numbers]",
        ),
        ("2026-11-23", "Up to date"),
    ):
        made = rewritten(f"<!-- changes after {said} -->\n<!-- end -->\n", folder)
        assert made.splitlines()[1].startswith(told)


def sentences() -> dict[str, list[list[str]]]:
    """Of docs/reproduction/sentences.md the rows of the table of each original, by the name of its claims."""
    found = {}
    for head, text in sections((REPRODUCTION.pages / "sentences.md").read_text()):
        rows = [line for line in text.splitlines() if line.startswith("|")][2:]
        found[head] = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return found


def test_every_claim_judges_a_sentence_and_every_sentence_has_a_claim_or_a_reason() -> None:
    found = sentences()
    assert found.keys() == shipped_claims().keys()
    for name, path in shipped_claims().items():
        claims = tomllib.loads(path.read_text())["claims"]
        judged: dict[str, str] = {}
        for _, said, by, reason in found[name]:
            names = re.findall(r"`([^`]+)`", by)
            assert names or reason, said
            judged |= dict.fromkeys(names, reason)
        assert judged.keys() == {claim["name"] for claim in claims}
        silent = {claim["name"] for claim in claims if "not_comparable" in claim}
        assert {claim for claim, reason in judged.items() if reason} == silent


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=EDITIONS)
def test_every_picture_shown_is_there_and_every_data_file_is_of_something_measured(edition: Edition) -> None:
    kept = {path.name for path in edition.data.glob("*.*")}
    named = {name for path in edition.documents for name in files_named(path.read_text())}
    assert {name for name in named if name.endswith(".svg")} - kept == set()
    hours = {properties.FILE, Path(tallies.SUMS).name}  # of what takes too long for `make results`
    tables = {name.partition(".")[0] for name in kept - hours if name.endswith(".csv")}
    studies = {name for each in edition.studies for name in (each.study, each.quick)}
    assert tables <= studies | {each.name for each in edition.benchmarks}


@pytest.mark.parametrize(
    ("each", "quick"),
    [(each, quick) for _, each in EVERY_STUDY for quick in (False, True) if each.quick or not quick],
    ids=lambda given: given.study if isinstance(given, RepeatedStudy) else ("quick" if given else "long"),
)
def test_the_command_of_a_study_leaves_something_to_run(each: RepeatedStudy, *, quick: bool) -> None:
    _, study = chosen(parser().parse_args(["run", *each.command(quick=quick)]))
    assert study.conditions


def test_a_number_is_written_as_its_cell_has_it(folder: Path) -> None:
    cell = "(reproduction/spdy.published.csv#fig-1-100-ms.here)"
    assert rewritten(f"It took [9.99]{cell} of the time.", folder) == f"It took [0.713]{cell} of the time."


def test_a_table_is_written_from_its_file(folder: Path) -> None:
    head = "<!-- table reproduction/spdy.published.csv: claim, here -->\n"
    made = rewritten(f"{head}| old |\n<!-- end -->\n", folder)
    assert made == f"{head}| claim | here |\n| --- | --- |\n| SPDY \\| HTTP | 0.713 |\n<!-- end -->\n"
    assert rewritten(made, folder) == made


def test_a_study_that_was_not_run_has_the_files_of_its_short_form(folder: Path) -> None:
    data = folder / "reproduction"
    head = "<!-- table reproduction/spdy.published.csv: here -->\n"
    (data / "spdy.published.csv").rename(data / "spdy-quick.published.csv")
    made = rewritten(f"{head}<!-- end -->\n", folder)
    assert tells(made, "short form", "`spdy-quick`")
    assert made.endswith("| 0.713 |\n<!-- end -->\n")
    assert rewritten(made, folder) == made


def test_what_did_not_come_back_is_a_table_of_its_own(folder: Path) -> None:
    rows = "row,text,verdict\na,one,reproduced\nb,two,not reproduced\n"
    (folder / "reproduction" / "users.published.csv").write_text(rows)
    head = "<!-- table reproduction/users.published.csv: text; verdict = {} -->\n"
    end = "<!-- end -->\n"
    missed, other = head.format("not reproduced"), head.format("same direction")
    assert rewritten(missed + end, folder) == f"{missed}| text |\n| --- |\n| two |\n{end}"
    assert rewritten(other + end, folder) == f"{other}None.\n{end}"


def test_a_table_has_the_rows_that_are_asked_for_in_their_order(folder: Path) -> None:
    (folder / "reproduction" / "users.published.csv").write_text("row,text\na,one\nb,two\nc,three\n")
    head = "<!-- table reproduction/users.published.csv: text; rows = {} -->\n<!-- end -->\n"
    assert rewritten(head.format("c, a"), folder).splitlines()[3:5] == ["| three |", "| one |"]
    with pytest.raises(NotInTheDataError, match=r"users\.published\.csv has no row d, e"):
        rewritten(head.format("d, a, e"), folder)


def test_verdicts_are_counted_for_each_study(folder: Path) -> None:
    rows = "row,claim,metric,verdict\n"
    rows += "a,one,plt_ms,reproduced\nb,one,plt_ms,not reproduced\nc,two,requests,reproduced\n"
    (folder / "reproduction" / "users.published.csv").write_text(rows)
    head = "<!-- verdicts of users, other -->\n"
    made = rewritten(f"{head}<!-- end -->\n", folder).splitlines()
    assert made[1].startswith(
        "| study | counted | in all | reproduced | compatible | same direction | not known yet | not reproduced"
    )
    assert made[3:] == [
        "| `users` | claims, each by its worst place | 2 | 1 | 0 | 0 | 0 | 1 | 0 |",
        "| `users` | places, `plt_ms` | 2 | 1 | 0 | 0 | 0 | 1 | 0 |",
        "| `users` | places, `requests` | 1 | 1 | 0 | 0 | 0 | 0 | 0 |",
        f"| `other` | {NOT_YET} |  |  |  |  |  |  |  |",
        "<!-- end -->",
    ]
    short = rewritten("<!-- claims of users -->\n<!-- end -->\n", folder).splitlines()
    assert short[1:4] == made[1:4]
    assert short[4] == "<!-- end -->"
    (folder / "reproduction" / "users.published.csv").write_text("row,verdict\na,splendid\n")
    with pytest.raises(NotInTheDataError, match=r"users\.published\.csv .*verdict"):
        rewritten(f"{head}<!-- end -->\n", folder)


def test_figures_are_shown_with_title_and_caption(folder: Path) -> None:
    rows = 'row,title,caption\nstudy-1,Figure 1: pages,"Medians, n = 10"\n'
    (folder / "reproduction" / "users.figures.csv").write_text(rows)
    head, end = "<!-- figures of users -->\n", "<!-- end -->\n"
    picture = "![Figure 1: pages](reproduction/users.study-1.svg)\n\n*Figure 1: pages. Medians, n = 10*\n"
    assert rewritten(head + end, folder) == head + picture + end
    assert "users.study-1.svg" in files_named(rewritten(head + end, folder))


def test_what_is_older_than_a_change_of_numbers_is_stale(folder: Path) -> None:
    changes = (
        *(
            "2026-11-24. A",
            "2026-11-25 (reckoned). B",
            "2026-11-25 (Firefox). C",
            "2026-11-26 (QtWebKit, `demo`). D",
        ),
        "2026-11-27 11:00. E",
    )
    (folder / "CHANGELOG.md").write_text("".join(f"- **number** {each}\n" for each in changes))
    for began, study, engine, younger, last in (
        ("2026-11-23 10:00", "users", "Chromium 1", "2 [changes", "2026-11-27 11:00"),
        ("2026-11-24 10:00", "users", "Mozilla Firefox 1", "3 [changes", "2026-11-27 11:00"),
        ("2026-11-26 23:59", "demo", "WebKitGTK 2", "2 [changes", "2026-11-27 11:00"),
        ("2026-11-27 10:59", "users", "QtWebKit 6", "1 [change ", "2026-11-27 11:00"),
        ("2026-11-27 11:01", "users", "QtWebKit 6", "", ""),
    ):
        run = f"row,value\nstudy,{study}\ndesign,1 page\nmeasured,{began} to 2026-11-27 11:30 UTC\nbrowser,{engine}\n"
        (folder / "reproduction" / "users.run.csv").write_text(run)
        made = rewritten("<!-- changes since users -->\n<!-- end -->\n", folder).splitlines()[1]
        assert made.startswith(f"Stale: since its run came {younger}" if younger else "Up to date")
        assert tells(made, last)


def test_a_document_beside_its_data_names_no_folder(folder: Path) -> None:
    data = folder / "reproduction"
    head, end = (
        "<!-- table spdy.published.csv: claim, here; rows = fig-1-100-ms -->\n",
        "<!-- end -->\n",
    )
    made = renewed(f"[9](spdy.published.csv#fig-1-100-ms.here)\n{head}{end}", data, data)
    table = "| claim | here |\n| --- | --- |\n| SPDY \\| HTTP | 0.713 |\n"
    assert made == f"[0.713](spdy.published.csv#fig-1-100-ms.here)\n{head}{table}{end}"


def test_a_table_without_data_says_so(folder: Path) -> None:
    head = "<!-- table reproduction/users.published.csv: claim -->\n"
    assert rewritten(f"{head}| 1.5 |\n<!-- end -->\n", folder) == f"{head}{NOT_YET}\n<!-- end -->\n"


@pytest.mark.parametrize(
    "text",
    [
        "[1](reproduction/none.csv#a.here)",
        "[1](reproduction/spdy.published.csv#other.here)",
        "[1](reproduction/spdy.published.csv#fig-1-100-ms.there)",
        "<!-- table reproduction/spdy.published.csv: there -->\n<!-- end -->",
        "<!-- changes after yesterday: there = 1 -->\n<!-- end -->",
        "<!-- changes after 2026-11-21: there -->\n<!-- end -->",
        "<!-- changes after 2026-11-21 there: browser = Chromium -->\n<!-- end -->",
    ],
)
def test_a_cell_that_no_file_has_is_named(text: str, folder: Path) -> None:
    with pytest.raises(NotInTheDataError, match=r"none\.csv|other\.here|there"):
        rewritten(text, folder)


def test_numbers_without_a_cell_are_found() -> None:
    text = (
        "## Results\nIt took 0.71 of the time, in 1,234 ms, 5 % less, n = 10.\n"
        "[0.71](reproduction/x.csv#a.here) of HTTP/1.1 over h2 in 2012 (figure 5), as `coldload run 5` says.\n"
        "<!-- table reproduction/x.csv: claim -->\n| 9 |\n<!-- end -->\n"
    )
    ((_, part),) = sections(text)
    assert loose_figures(part) == ["0.71", "1,234", "5", "10"]
