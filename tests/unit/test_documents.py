"""The documents say what is so: the rooms, the keys of a record, the commands, files and sections they name."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli.commands import parser
from harness.errors import Outcome
from harness.model.kind import Kind
from harness.probes.registry import Observation
from harness.records import Record
from harness.study.metrics import metrics_of, observation_of
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from tests.unit.harness.study.kindstudies import REQUESTS, USERS

ROOT = Path(__file__).resolve().parents[2]
FORMAT = ROOT / "docs" / "record-format.md"
FILES = ROOT / "docs" / "reference" / "files.md"
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
WIDEST_CELL = 120  # characters
STUDY = """
name = "mine"
pages = ["one"]
protocols = ["h2"]
trials = 1
[[links]]
down_mbps = 10
rtt_ms = 20
"""
EXAMPLED = """
name = "mine"
pages = ["agency", "article"]
variants = ["plain", "core"]
protocols = ["http1-close", "http1", "https1", "h2"]
links = [{down_mbps = 5, rtt_ms = [100, 200]}]
"""  # what the examples of the documents, which are parts of a study, are about
# What stands for a value in a command line: capitals, as in `--trials N`.
PLACEHOLDERS = {"N": "3", "PART": "k6"}
CAPITALS = re.compile(r"[A-Z][A-Z_]*")
TOPS = (ROOT, ROOT / "harness", ROOT / "analysis")
OURS = {each.name for top in TOPS for each in top.iterdir() if each.is_dir() and each.name[0] not in "._"}
MADE = (
    "archives/",
    "runs/",
    "harness/linkem/bin",
    "harness/linkem/target",
)  # by commands, not in the repository


def table_below(text: str, head: str) -> list[list[str]]:
    """The rows of the Markdown table that has this head, cell by cell."""
    _, found, rest = text.partition(f"{head}\n")
    assert found, f"no table with the head {head}"
    lines = rest.splitlines()[1:]
    end = next((number for number, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


def stored_record() -> dict[str, Any]:
    """A record as a run stores it."""
    planned = make_plan(parse_study(STUDY, "mine.toml"), 1).trials[0]
    record = Record(
        planned,
        Outcome.OK,
        None,
        "2026-01-01T00:00:00.000Z",
        Observation(plt_ms=1.0),
        2.0,
        machine_speed=100.0,
    )
    return dict(json.loads(json.dumps(record.to_json())))


def house() -> list[str]:
    """The rooms, from the command line down, as import-linter knows them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if "harness.cli" in each.get("layers", ()))
    return [room for layer in layers for room in layer.split(" | ")]


def test_every_room_has_its_place_in_the_house() -> None:
    """import-linter can hold that of one folder alone (`exhaustive`)."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    harness = [
        f"harness.{each.stem}"
        for each in (ROOT / "harness").iterdir()
        if each.suffix == ".py" or (each / "__init__.py").exists()
    ]
    others = set(linter["root_packages"]) - {"harness"}
    assert sorted(house()) == sorted({*harness, *others} - {"harness.__init__"})


def test_the_rooms_of_the_architecture_are_the_layers() -> None:
    rows = table_below((ROOT / "docs" / "architecture.md").read_text(), "| room | job |")
    rooms = [room for row in rows for room in re.findall(r"`([^`]+)`", row[0])]
    assert all((ROOT / room).exists() for room in rooms)
    named = [room.removesuffix("/").removesuffix(".py").removeprefix("dns/") for room in rooms]
    assert [room.replace("/", ".") for room in named] == house()


@pytest.mark.parametrize(("kind", "study"), [(Kind.USERS, USERS), (Kind.REQUESTS, REQUESTS)])
def test_a_record_of_another_kind_says_its_kind_and_has_its_metrics(kind: Kind, study: str) -> None:
    planned = make_plan(parse_study(study, "mine.toml"), 1).trials[0]
    record = Record(
        planned,
        Outcome.OK,
        None,
        "2026-01-01T00:00:00.000Z",
        observation_of(kind)(),
        2.0,
        machine_speed=100.0,
    ).to_json()
    own = {key for key in stored_record() if key not in metrics_of(Kind.LOAD)}
    assert record["kind"] == kind
    assert record.keys() == {*own, "kind", *metrics_of(kind)}


@pytest.mark.parametrize("path", [FORMAT, FILES], ids=lambda path: path.name)
def test_cells_of_the_tables_of_keys_are_short(path: Path) -> None:
    cells = [
        cell for line in path.read_text().splitlines() if line.startswith("|") for cell in line.split("|")
    ]
    assert [cell for cell in cells if len(cell.strip()) > WIDEST_CELL] == []


def command_lines() -> Iterator[str]:
    """Each `coldload` command line of a code block, and of a table whose head is `command`."""
    for path in DOCUMENTS:
        text = path.read_text()
        for block in re.findall(r"^```[a-z]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                if found := re.match(r"(?:\$ )?(?:\.venv/bin/)?coldload (?=[a-z-])(.*)", line):
                    yield re.split(r"\s+# |\s{3,}", found[1])[0]
        for row in re.findall(r"^\| (`coldload [^|]*)\|", text, re.MULTILINE):
            yield from (each.removeprefix("coldload ") for each in re.findall(r"`([^`]+)`", row))


def mentions() -> Iterator[str]:
    """Each command that is named in a sentence, with the options named beside it."""
    for path in DOCUMENTS:
        yield from re.findall(r"`coldload ([a-z][^`]*)`", path.read_text())


def filled(line: str) -> list[str]:
    """The words of a command line with its optional parts and with values where it has placeholders."""
    words = shlex.split(re.sub(r"[\[\]…]", "", line))
    named = ["x" if word == "latest" else word for word in words]  # a run, and there is none here
    return [PLACEHOLDERS.get(word, "x") if CAPITALS.fullmatch(word) else word for word in named]


def test_command_lines_are_told_from_other_text() -> None:
    lines = set(command_lines())
    assert {"doctor", "plan mine.toml", "load NAME"} <= lines
    assert not any("#" in line or "  " in line for line in lines)


@pytest.mark.parametrize("line", sorted(set(command_lines())))
def test_every_command_line_is_one_of_ours(line: str) -> None:
    parser().parse_args(filled(line))


@pytest.mark.parametrize("mention", sorted(set(mentions())))
def test_every_command_and_option_named_exists(mention: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, *words = mention.split()
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([command, "--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    options = [word.strip("[],") for word in words if word.lstrip("[").startswith("--") and len(word) > 2]
    assert [option for option in options if not re.search(rf"{option}\b", said)] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_named_exists(path: Path) -> None:
    """A path is told from the project's root or, as a room is, from harness/."""
    named = re.findall(r"`([\w.-]+/[\w./-]*)`", path.read_text())
    ours = [name for name in named if name.partition("/")[0] in OURS and not name.startswith(MADE)]
    assert [name for name in ours if not any((top / name).exists() for top in TOPS)] == []


def examples() -> Iterator[str]:
    """Each part of a study in a code block."""
    for name in ("README.md", "docs/methodology.md", "docs/filters.md"):
        blocks = re.findall(r"^```(?:toml)?\n(.*?)^```$", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
        yield from (block for block in blocks if block.startswith(("[", "name = ")))


@pytest.mark.parametrize("example", list(examples()))
def test_every_example_of_a_study_is_read(example: str) -> None:
    parse_study(example if example.startswith("name") else f"{EXAMPLED}{example}", "an example")


def anchors(text: str) -> set[str]:
    """The names of a document's sections, as GitHub makes them."""
    heads = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", re.sub(r"`|\[|\]", "", head).lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (
            target.suffix == ".md" and anchor and anchor not in anchors(target.read_text())
        ):
            lost.append(link)
    assert lost == []
