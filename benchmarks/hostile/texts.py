"""Hostile texts of pages, archives, studies, records, packs and the command line: none is told as it is."""

from __future__ import annotations

import json
import os
import pty
import re
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.hostile.cases import FORGED, HUNG, LEFT, TRACEBACK, Case, one_line, traceback_in
from benchmarks.hostile.commands import Workdir
from benchmarks.hostile.recordingfiles import har_file
from benchmarks.hostile.stage import AGAIN, PAGE, RUN, STUDY, TEXT, WITHOUT_NUL, acted_on, measured

LIMIT_S = 240.0
ROW = "hostile texts told"
TOLD_IN = {".html", ".csv", ".tex", ".md", ".svg", ".xml", ".txt", ".log"}
EVIL_PACK, EVIL_HAR, EVIL_STUDY = f"{WITHOUT_NUL[:60]}.zip".replace("/", ""), "evil.har", "evil.toml"
PART = "q\x1b[31mzq\x1bzq\rzq\x07zq\x7fzq\x9bzq\u2028zq\u202ezq\u2066z"

# Words to give, and whether they must tell of a hostile text in some spelling, as otherwise nothing was tried.
COMMANDS: Mapping[str, tuple[tuple[str, ...], bool]] = {
    "records": (("records", RUN), True),
    "records-where": (("records", RUN, "--where", "reason is not null"), True),
    "records-out": (("records", RUN, "--out", "data.csv"), False),
    "records-expression": (("records", RUN, "--where", f"reason = '{PART}"), True),
    "report": (("report", RUN, "--junit", "claims.xml", "--paper", "paper"), False),
    "compare": (("compare", RUN, AGAIN, "--fail-on", "0", "--junit", "changed.xml"), False),
    "pages": (("pages",), False),
    "pages-one": (("pages", PAGE), True),
    "pages-missing": (("pages", PART), True),
    "verify": (("verify", PAGE), True),
    "load": (("load", PAGE, "--keep", "kept", "--film"), False),
    "optimize": (("optimize", PAGE, "--variant", "minify"), False),
    "plan": (("plan", STUDY), True),
    "plan-evil": (("plan", EVIL_STUDY), True),
    "plan-missing": (("plan", PART), True),
    "run-only": (("run", STUDY, "--only", f"{PART}=x"), True),
    "run-out": (("run", STUDY, "--out", f"no/{PART}"), True),
    "pack": (("pack", RUN, "--out", "packed.zip"), False),
    "report-pack": (("report", "packed.zip", "--out", "of-pack"), False),
    "report-evil-pack": (("report", EVIL_PACK), True),
    "report-missing": (("report", PART), True),
    "show-missing": (("show", RUN, PART), True),
    "import-evil": (("import", EVIL_HAR, "--name", "evil", "--replace"), False),
    "pages-evil": (("pages", "evil"), False),
    "import-name": (("import", EVIL_HAR, "--name", PART), True),
    "import-missing": (("import", f"{PART}.har", "--name", "missing"), True),
    "archive": (("archive", f"http://{PART}/", "--name", "live"), True),
    "calibrate": (("calibrate", "--link", PART), True),
    "command": ((PART,), True),
}
ESCAPED = re.compile(r"q(\\+[xu][0-9a-f]+|\ufffd)z")


def names(only: Callable[[str], bool]) -> list[str]:
    cases = (f"text/{command}/{where}" for command in COMMANDS for where in ("pipe", "terminal"))
    return [name for name in cases if only(name)]


def tell_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    if not wanted:
        return
    workdir = measured(folder)
    _write_evil(workdir.folder)
    yield from (_told(name, workdir) for name in wanted)


def _write_evil(folder: Path) -> None:
    """A pack, a recording and a study whose names within are hostile."""
    with zipfile.ZipFile(folder / EVIL_PACK, "w") as pack:
        pack.writestr(f"run/{WITHOUT_NUL}", "x")
        pack.writestr("pack.json", f'{{"{PART}": 1}}')
    har = har_file().decode().replace('"name": "t"', f'"name": {json.dumps(TEXT)}')
    har = har.replace('"Content-Type"', json.dumps(f"X-{TEXT}"), 1).replace(
        '"mimeType": "text/css"', f'"mimeType": {json.dumps(TEXT)}'
    )
    (folder / EVIL_HAR).write_text(
        har.replace("http://site.example/p.png", f"http://site.example/{json.dumps(TEXT)[1:-1]}")
    )
    (folder / EVIL_STUDY).write_text(f"{json.dumps(PART)} = 1\n")


def _told(name: str, workdir: Workdir) -> Case:
    _, command, where = name.split("/")
    words, must_tell = COMMANDS[command]
    began, faults = time.monotonic(), {}
    before = {path: path.stat().st_mtime_ns for path in _files(workdir)}
    code, told = (_on_terminal if where == "terminal" else _on_pipe)(workdir, words)
    if code is None:
        faults[HUNG] = f"no end within {LIMIT_S:g} s"
    if trace := traceback_in(told):
        faults[TRACEBACK] = trace
    elif code not in (0, 1, 2, 4, None):  # 4: a bound is not known to hold
        faults[TRACEBACK] = f"exit code {code}: {one_line(told)}"
    elif must_tell and not ESCAPED.search(told):
        faults[TRACEBACK] = f"nothing hostile was told, so nothing was tried: {told[:300]!r}"
    written = {
        path: path.read_text(errors="surrogateescape")
        for path in _files(workdir)
        if path.stat().st_mtime_ns != before.get(path)
    }
    through = {str(path.relative_to(workdir.folder)): acted_on(text) for path, text in written.items()}
    through["the terminal" if where == "terminal" else "its output"] = acted_on(told)
    if came := {where: found for where, found in through.items() if found}:
        faults[FORGED] = "; ".join(f"{where}: {sorted(found)}" for where, found in came.items())
    if left := workdir.left_behind():
        faults[LEFT] = "; ".join(left)
    return Case(
        ROW, name, f"exit code {code}, {len(written)} files; {told[:100]!r}", time.monotonic() - began, faults
    )


def _files(workdir: Workdir) -> list[Path]:
    """What is made for people. Archives and what was kept of trials is as it was recorded."""
    sources = (workdir.archives, workdir.folder / RUN / "trials", workdir.folder / "kept")
    return [
        path
        for path in workdir.folder.rglob("*")
        if path.suffix in TOLD_IN and path.is_file() and not any(source in path.parents for source in sources)
    ]


def _on_pipe(workdir: Workdir, words: Sequence[str]) -> tuple[int | None, str]:
    with workdir.started(*words) as running:
        running.ends_within(LIMIT_S)
        code = running.popen.poll()
    return code, running.out.read_text(errors="replace") + running.written()


def _on_terminal(workdir: Workdir, words: Sequence[str]) -> tuple[int | None, str]:
    reading, terminal = pty.openpty()
    said: list[bytes] = []
    hearing = threading.Thread(target=_hear, args=(reading, said))
    with workdir.started(*words, stdin=terminal, stdout=terminal, stderr=terminal) as running:
        os.close(terminal)
        hearing.start()
        running.ends_within(LIMIT_S)
        code = running.popen.poll()
    hearing.join()
    os.close(reading)
    return code, b"".join(said).decode(errors="replace")


def _hear(descriptor: int, said: list[bytes]) -> None:
    """Until nobody holds the other end any more."""
    with suppress(OSError):
        while data := os.read(descriptor, 1 << 16):
            said.append(data)
