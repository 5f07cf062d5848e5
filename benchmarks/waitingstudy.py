"""A study of trials that wait, and whether a run of it is whole whatever was killed meanwhile."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.records import place_of
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About

PROTOCOLS = 5
FEW = 2  # links: times PROTOCOLS, the trials of a block
STUDY = """
name = "waiting"
pages = ["page"]
protocols = ["http1-close", "http1", "https1-close", "https1", "h2"]
trials = {{least = {blocks}, attempts = 3}}
aa = false
seed = 1
"""
LINK = """
[[links]]
down_mbps = {}
rtt_ms = 20
"""


def write_page(folder: Path) -> None:
    """The archive of the study, in `archives` below a folder."""
    page = Response("https://site.example/", 200, (("Content-Type", "text/html"),), b"<p>a page")
    write_archive(folder / "archives", "page", About(page.url, "a benchmark", "", ()), [page])


def study_of(blocks: int, links: int) -> tuple[Study, Plan]:
    text = STUDY.format(blocks=blocks) + "".join(map(LINK.format, range(1, links + 1)))
    study = parse_study(text, "waiting.toml")
    return study, make_plan(study, 1)


def records(run: Path) -> list[dict[str, Any]]:
    path = run / "records.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def whole_lines(run: Path) -> bytes:
    """The records that are stored by now; a last line may be under way."""
    path = run / "records.jsonl"
    data = path.read_bytes() if path.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def logged(folder: Path) -> Counter[tuple[str, int]]:
    """The attempts that ended, as labs noted them."""
    made: Counter[tuple[str, int]] = Counter()
    for path in folder.iterdir():
        for line in path.read_text().splitlines():
            trial, attempt = line.split()
            made[trial, int(attempt)] += 1
    return made


def kills_told(kills: Counter[str]) -> str:
    """As in `3 kills (2 command, 1 lane)`."""
    return f"{kills.total()} kills ({', '.join(f'{count} {what}' for what, count in sorted(kills.items()))})"


def checked(run: Path, blocks: int, stored: Sequence[bytes], ended: Counter[tuple[str, int]]) -> str:
    """A line about a run that is whole; AssertionError for one that is not.

    `stored` is what records.jsonl held at the kills, `ended` are the attempts that ended.
    """
    _, plan = study_of(blocks, FEW)
    at_the_end, made = whole_lines(run), records(run)
    assert all(at_the_end.startswith(before) for before in stored), "a stored record is gone"
    attempts = Counter((each["trial"], each["attempt"]) for each in made)
    assert max(attempts.values()) == 1, "an attempt was recorded twice"
    goes: defaultdict[tuple[int, int], dict[str | None, set[str]]] = defaultdict(lambda: defaultdict(set))
    for each in made:
        place = place_of(each.get("machine"), each.get("lane"), each.get("lanes"))
        goes[each["block"], each.get("restart", 0)][place].add(each["trial"])
    assert all(len(places) == 1 for places in goes.values()), "a go at a block is of two places"
    for block in range(1, plan.blocks + 1):
        planned = {trial.trial for trial in plan.trials if trial.block == block}
        of_block = [
            trials for (number, _), places in goes.items() if number == block for trials in places.values()
        ]
        assert planned in of_block, f"no go at block {block} is whole"
    unknown = attempts.keys() - ended.keys()
    assert not unknown, f"{len(unknown)} records are of attempts that nobody made"
    return (
        f"{blocks} blocks are whole, {len(made)} records, none twice; {ended.total() - len(made)} of "
        f"{ended.total()} attempts ended and were not recorded, {len(goes) - blocks} goes at blocks were left behind"
    )
