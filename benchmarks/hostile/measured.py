"""A run of a page, archive, study and records full of hostile texts, measured once for all that is done with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.hostile.commands import Place
from benchmarks.hostile.site import START, html, text, weight
from benchmarks.hostile.stage import PLAYWRIGHT, study
from sites.archive import write_archive
from sites.warc import About

PAGE, RUN, AGAIN, STUDY = "hostile", "run", "again", "study.toml"
TRIALS = 3
LIMIT_S = 120.0

# What a terminal or a browser acts on: controls of ASCII and of ISO 6429, ends of lines and of writing directions.
CHARACTERS = (
    *map(chr, (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))),
    *map(chr, (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))),
)
BEFORE, AFTER = "q", "z"
TEXT = "<b>&amp;" + "".join(f"{BEFORE}{character}{AFTER}" for character in CHARACTERS)
SHOWABLE = CHARACTERS[-9:]  # which a study may have in its title: changes of the direction
WITHOUT_NUL = TEXT.replace("\0", "")  # what a command line can hold


def acted_on(text: str) -> set[str]:
    """The characters of `TEXT` that came through as they are."""
    return {character for character in CHARACTERS if f"{BEFORE}{character}{AFTER}" in text}


@cache
def measured(folder: Path) -> Place:
    """The place of the run; AssertionError when it cannot be measured."""
    place = Place(folder / "measured")
    script = f"<script>document.title = {_script(TEXT)}; for (let i = 0; i < 3; i++) console.error({_script(TEXT)});"
    document = html(
        f"{script} setTimeout(() => {{ throw {_script(TEXT)}; }}, 0);</script>", '<img src="/%1b%E2%80%AE">'
    )
    head = text(START, document, "text/html; charset=utf-8")
    write_archive(place.archives, PAGE, About(START, TEXT, TEXT, (TEXT,)), [head, weight()])
    title = json.dumps("".join(f"{BEFORE}{each}{AFTER}" for each in SHOWABLE), ensure_ascii=False)
    lines = study({**PLAYWRIGHT, "title": title, "pages": f'["{PAGE}"]', "keep": '["har", "bodies"]'}, TRIALS)
    (place.folder / STUDY).write_text(lines)
    with place.started("run", STUDY, "--out", RUN) as running:
        assert running.ends_within(LIMIT_S), "the run of the hostile texts does not end"
        assert running.popen.returncode == 0, running.written()
    spoilt = list(_spoilt(place.folder / RUN / "records.jsonl"))
    shutil.copytree(place.folder / RUN, place.folder / AGAIN)
    for name, slower_ms in ((RUN, 0), (AGAIN, 10)):  # two runs are compared only if they are two
        told = [line | {"plt_ms": line["plt_ms"] and line["plt_ms"] + slower_ms} for line in spoilt]
        (place.folder / name / "records.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in told))
    return place


def _script(text: str) -> str:
    return json.dumps(text).replace("<", "\\u003c")


def _spoilt(records: Path) -> Iterator[dict[str, Any]]:
    """The records, the first as if its load had failed and each text that a page or a server may give were hostile."""
    for number, line in enumerate(records.read_text().splitlines()):
        record = json.loads(line)
        if number == 0:
            record |= {"outcome": "page-error", "reason": TEXT}
            record |= {
                name: [TEXT] for name in ("console_errors", "missed", "fuzzy", "failed") if name in record
            }
        yield record
