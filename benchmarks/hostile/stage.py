"""What cases are played on: the page and the studies that parts are struck in, and the parts, by their command lines.

And a run of a page, archive, study and records full of hostile texts, measured once for all that is done with it.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.hostile.commands import Workdir
from benchmarks.hostile.site import START, html, text, weight
from harness.errors import Outcome
from harness.records import RECORDS
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About

NAME = "struck"
TIMEOUT_S = 8
PICTURES, SIDE = 12, 80  # 19 kB each: together 0.9 s on the link
LEVELS = 10  # of style sheets that import the next: a round trip each
DOWN_MBPS, RTT_MS = 2, 50

BROWSER_DIED = {Outcome.TESTBED_FAILED: ("did not start", "browser died", "died (exit code -9)")}
# A page that spins looks like a renderer that is stopped; a stopped browser can be told from both.
NOT_ANSWERING = {
    Outcome.PAGE_TIMEOUT: ("",),
    Outcome.PAGE_ERROR: ("",),
    Outcome.TESTBED_FAILED: (
        "did not start",
        "browser is stopped",
        "page loaded: the browser for",
        "no browser",
        "no end of the browser",
    ),
}


def blamed(*words: str) -> dict[Outcome, tuple[str, ...]]:
    """The testbed failed, and the reason names the part by one of these words."""
    return {Outcome.TESTBED_FAILED: words}


@dataclass(frozen=True)
class Part:
    """One kind of part: `found` tells its processes by their command lines.

    `study` are the lines of the study it works in. `killed` and `stopped` are the outcomes that blame it, each with
    words of which the reason must hold one. A part that `comes` with each trial is struck in the course of its life.
    """

    name: str
    found: Callable[[Sequence[str]], bool]
    study: Mapping[str, str]
    killed: Mapping[Outcome, tuple[str, ...]]
    stopped: Mapping[Outcome, tuple[str, ...]]
    comes: bool = False


def program(name: str) -> Callable[[Sequence[str]], bool]:
    return lambda words: Path(words[0].split(": ")[0]).name == name


def chromium(kind: str) -> Callable[[Sequence[str]], bool]:
    """A process of Chromium by its --type; "" is the browser itself."""

    def found(words: Sequence[str]) -> bool:
        line = " ".join(words)
        if "chromium" not in Path(words[0].split(" ")[0]).name or (
            "--user-data-dir" not in line and not kind
        ):
            return False
        return f"--type={kind}" in line if kind else "--type=" not in line

    return found


def firefox(kind: str) -> Callable[[Sequence[str]], bool]:
    """A process of Firefox: "tab", which holds a page or is in reserve for one; "" is the browser itself.

    Those of pages have a command line of one word, with spaces, as a process of Firefox's writes it.
    """

    def found(words: Sequence[str]) -> bool:
        single = " ".join(words).split()
        return single[-1] == kind if "-contentproc" in single else not kind and "--marionette" in single

    return found


def module(name: str) -> Callable[[Sequence[str]], bool]:
    return lambda words: f"harness.engines.{name}" in words


def holding(text: str) -> Callable[[Sequence[str]], bool]:
    return lambda words: "node" in Path(words[0]).name and any(text in word for word in words)


PLAYWRIGHT = {"protocols": '["http1"]', "drivers": '["playwright"]'}
SELENIUM = {"protocols": '["http1"]', "drivers": '["selenium"]'}
QTWEBKIT = {"protocols": '["http1"]', "engine": '"qtwebkit"'}
FIREFOX = {"protocols": '["http1"]', "engine": '"firefox"'}
WEBKIT = {"protocols": '["http1"]', "engine": '"webkit"'}
SPDY = {"protocols": '["spdy-plain"]', "engine": '"qtwebkit"'}


def part(
    name: str,
    found: Callable[[Sequence[str]], bool],
    study: Mapping[str, str],
    *words: str,
    comes: bool = False,
) -> Part:
    return Part(name, found, study, blamed(*words), blamed(*words), comes)


def browser(name: str, found: Callable[[Sequence[str]], bool], study: Mapping[str, str]) -> Part:
    return Part(name, found, study, BROWSER_DIED, NOT_ANSWERING, comes=True)


PARTS = {
    kind.name: kind
    for kind in (
        part("caddy", program("caddy"), PLAYWRIGHT, "caddy"),
        part("nginx", program("nginx"), {**PLAYWRIGHT, "server": '"nginx"'}, "nginx"),
        part("apache", program("apache2"), {**SELENIUM, "server": '"apache"'}, "apache2"),
        part("gateway", holding("gateway"), QTWEBKIT, "gateway", "node"),
        part("dnsmasq", program("dnsmasq"), PLAYWRIGHT, "dnsmasq"),
        part("linkem", program("linkem"), SELENIUM, "linkem", comes=True),
        part("chromedriver", program("chromedriver"), SELENIUM, "chromedriver", "browser's driver"),
        part("playwright", holding("playwright"), PLAYWRIGHT, "playwright", "Playwright", "browser's driver"),
        part("hop", module("hop"), SPDY, "hop", comes=True),
        browser("chromium", chromium(""), PLAYWRIGHT),
        browser("chromium-selenium", chromium(""), SELENIUM),
        browser("renderer", chromium("renderer"), PLAYWRIGHT),
        browser("renderer-selenium", chromium("renderer"), SELENIUM),
        browser("qtwebkit", module("qtwebkit.engine"), QTWEBKIT),
        browser("firefox", firefox(""), FIREFOX),
        browser("firefox-page", firefox("tab"), FIREFOX),
        browser("webkit", module("webkit.program"), WEBKIT),
        browser("webkit-page", program("WebKitWebProcess"), WEBKIT),
        part("weston", program("weston"), WEBKIT, "display", comes=True),
    )
}


def write_page(root: Path) -> None:
    """The archive that is loaded in every study here."""
    chance, responses = random.Random(2), []  # noqa: S311
    for number in range(PICTURES):
        file = BytesIO()
        Image.frombytes("RGB", (SIDE, SIDE), chance.randbytes(3 * SIDE * SIDE)).save(file, "PNG")
        responses.append(
            Response(f"{START}p{number}.png", 200, (("Content-Type", "image/png"),), file.getvalue())
        )
    for level in range(LEVELS):
        following = f'@import "/s{level + 1}.css";' if level + 1 < LEVELS else ""
        responses.append(text(f"{START}s{level}.css", f"{following}p{{margin:{level}px}}", "text/css"))
    body = "".join(f'<img src="/p{number}.png">' for number in range(PICTURES))
    page = text(START, html('<link rel="stylesheet" href="/s0.css">', body, picture=False))
    write_archive(root, NAME, About(START, "bench", "bench", ()), [page, *responses])


def shortest_ms() -> float:
    """What the page takes at the least: the bytes of its pictures on the link."""
    return PICTURES * 3 * SIDE * SIDE * 8 / (DOWN_MBPS * 1000)


def study(part_study: Mapping[str, str], trials: int) -> str:
    """The text of a study for a part: one condition, so many trials, and as many records."""
    lines = {
        "name": f'"{NAME}"',
        "pages": f'["{NAME}"]',
        "trials": f"{{least = {trials}, attempts = 1}}",
        "aa": "false",
        "seed": "1",
        "timeout_s": str(TIMEOUT_S),
    }
    keys = "\n".join(f"{key} = {value}" for key, value in {**lines, **part_study}.items())
    return f"{keys}\n[[links]]\ndown_mbps = {DOWN_MBPS}\nrtt_ms = [{RTT_MS}]\n"


# The run of hostile texts.
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
def measured(folder: Path) -> Workdir:
    """The working directory of the run; AssertionError when it cannot be measured."""
    workdir = Workdir(folder / "measured")
    script = f"<script>document.title = {_script(TEXT)}; for (let i = 0; i < 3; i++) console.error({_script(TEXT)});"
    document = html(
        f"{script} setTimeout(() => {{ throw {_script(TEXT)}; }}, 0);</script>", '<img src="/%1b%E2%80%AE">'
    )
    head = text(START, document, "text/html; charset=utf-8")
    write_archive(workdir.archives, PAGE, About(START, TEXT, TEXT, (TEXT,)), [head, weight()])
    title = json.dumps("".join(f"{BEFORE}{character}{AFTER}" for character in SHOWABLE), ensure_ascii=False)
    lines = study({**PLAYWRIGHT, "title": title, "pages": f'["{PAGE}"]', "keep": '["har", "bodies"]'}, TRIALS)
    (workdir.folder / STUDY).write_text(lines)
    with workdir.started("run", STUDY, "--out", RUN) as running:
        assert running.ends_within(LIMIT_S), "the run of the hostile texts does not end"
        assert running.popen.returncode == 0, running.written()
    spoilt = list(_spoilt(workdir.folder / RUN / RECORDS))
    shutil.copytree(workdir.folder / RUN, workdir.folder / AGAIN)
    for name, slower_ms in ((RUN, 0), (AGAIN, 10)):  # two runs are compared only if they are two
        told = [line | {"plt_ms": line["plt_ms"] and line["plt_ms"] + slower_ms} for line in spoilt]
        (workdir.folder / name / RECORDS).write_text("".join(f"{json.dumps(record)}\n" for record in told))
    return workdir


def _script(text: str) -> str:
    return json.dumps(text).replace("<", "\\u003c")


def _spoilt(records: Path) -> Iterator[dict[str, Any]]:
    """The records, the first as if its load had failed and each text that a page or a server may give were hostile.

    As JSON: what is written here is to be what `Record` would not write.
    """
    for number, line in enumerate(records.read_text().splitlines()):
        record = json.loads(line)
        if number == 0:
            record |= {"outcome": "page-error", "reason": TEXT}
            record |= {
                name: [TEXT] for name in ("console_errors", "missed", "fuzzy", "failed") if name in record
            }
        yield record
