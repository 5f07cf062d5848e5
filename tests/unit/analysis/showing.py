"""A synthetic run as `coldload show` may meet it: HARs, hostile texts, missing and damaged files."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from tests.unit.analysis.synthetic import Synthetic, entitled
from tests.unit.analysis.synthetic_film import keep_film
from tests.unit.analysis.synthetic_har import HOSTILE_URLS, entry, keep_hars, load

TAGS = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
MARKUP = f"{TAGS}\u202e\x1b[2J"
TITLE = f"Study {TAGS}"
MADE = Synthetic(
    pages=("p", f"page {TAGS}"), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=6
)
HOSTILE, CUT, MISSING, LARGE, NOT_A_HAR = "00001", "00002", "00003", "00004", "00005"
FILMED = "00006", "00007"
LARGE_REQUESTS = 5000


@dataclass(frozen=True)
class Made:
    """Where it is, and its records in their order."""

    directory: Path
    records: list[dict[str, Any]]

    def folder(self, trial: str) -> Path:
        return self.directory / "trials" / trial


def shown_run(directory: Path, requests: int = 200) -> Made:
    """Every trial has a HAR; of the first ones it is hostile, cut, missing, very large, and no HAR at all.

    Some have films, one of them damaged, and one without a picture.
    """
    made = Made(keep_hars(MADE.write(directory), requests), [])
    entitled(directory, TITLE)
    for number, line in enumerate((directory / "records.jsonl").read_text().splitlines()):
        record = json.loads(line)
        if number == 0:
            record |= {"console_errors": [MARKUP, "x" * 5000], "console_error_count": 30, "reason": MARKUP}
        made.records.append(record)
    text = "".join(f"{json.dumps(each)}\n" for each in made.records)
    (directory / "records.jsonl").write_text(text)
    hostile = load(20, 500.0)
    hostile["log"]["entries"] += [entry(url, 10 + number) for number, url in enumerate(HOSTILE_URLS)]
    har = {trial: made.folder(trial) / "load.har" for trial in (HOSTILE, CUT, MISSING, LARGE, NOT_A_HAR)}
    har[HOSTILE].write_text(json.dumps(hostile))
    har[CUT].write_text(har[CUT].read_text()[:3000])
    har[MISSING].unlink()
    har[LARGE].write_text(json.dumps(load(LARGE_REQUESTS, 900.0)))
    har[NOT_A_HAR].write_text("[]")
    for trial in (*FILMED, CUT, MISSING):
        keep_film(made.folder(trial), [100.0, 200.0, 400.0])
    (made.folder(CUT) / "filmstrip" / "film.json").write_text('{"frames": [{"file": "../../../etc/passwd"')
    (made.folder(MISSING) / "filmstrip" / "0003.jpg").unlink()
    made.folder(HOSTILE).joinpath("screenshot.png").write_bytes(picture())
    made.folder(CUT).joinpath("screenshot.png").write_text(f"<html>{MARKUP}</html>")
    made.folder(HOSTILE).joinpath("evil<b>.html").write_text(f"<script>alert(3)</script>{MARKUP}")
    return made


def picture() -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").convert("RGB").resize((640, 400)).save(file, "PNG")
    return file.getvalue()
