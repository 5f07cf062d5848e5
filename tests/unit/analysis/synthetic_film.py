"""Films of loads that never were, for testing the analysis alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

SIZE = (320, 164)
BOXES = 10


def keep_film(
    folder: Path, times_ms: Sequence[float], size: tuple[int, int] = SIZE, outcome: str = ""
) -> Path:
    """A film of a tab that was white until another box came at each of these times; returns its index."""
    strip = folder / "filmstrip"
    strip.mkdir(parents=True)
    picture = Image.new("RGB", size, "white")
    frames = []
    for number, at_ms in enumerate([0.0, *times_ms]):
        if number:
            left = size[0] // BOXES * ((number - 1) % BOXES)
            ImageDraw.Draw(picture).rectangle((left, 20, left + size[0] // 12, 60), fill="#204080")
        name = f"{number + 1:04d}.jpg"
        picture.save(strip / name, "JPEG")
        frames.append({"file": name, "at_ms": at_ms, "progress": number / max(1, len(times_ms))})
    index = {
        "schema": 1,
        "width": size[0],
        "height": size[1],
        "until_ms": 5000.0,
        "cut": False,
        "frames": frames,
        **({"outcome": outcome} if outcome else {}),
    }
    (strip / "film.json").write_text(json.dumps(index))
    return strip / "film.json"


def keep_films(run: Path, changes: int = 5) -> Path:
    """Put a film beside every attempt of a synthetic run, with the last change at its load event; returns the run."""
    for line in (run / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        name = record["trial"] if record["attempt"] == 1 else f"{record['trial']}-{record['attempt']}"
        took = record["plt_ms"] or 100.0
        keep_film(run / "trials" / name, [took * (n + 1) / changes for n in range(changes)])
    return run
