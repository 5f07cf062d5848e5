"""What a run kept of an attempt: the files of its folder, none of them trusted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analysis.runs.filmfile import FILE as FILM_FILE
from analysis.runs.filmfile import KeptFilm, read_film
from analysis.runs.harfile import FILE as HAR_FILE
from analysis.runs.harfile import HarLoad, read_har
from harness.input.shown import clipped, one_line

SCREENSHOT = "screenshot.png"
MOST_FILES = 100
# By how a picture begins. Only these are shown as pictures; whatever else a file is, it is saved and never opened.
PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
NO_HAR = 'no HAR of it was kept; keep = ["har"] in a study, or `coldload load --keep`, keeps it'

NO_FILM = 'it was not filmed; keep = ["filmstrip"] in a study films a load'


@dataclass(frozen=True)
class KeptFile:
    name: str
    size: int


@dataclass(frozen=True)
class ReadHar:
    """A load, or in one line why there is none; `notes` say what is not in it."""

    load: HarLoad | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ReadFilm:
    """A film, or in one line why there is none; of a film, the note says what is to be known of it, such as how many of
    its pictures are `gone`.
    """

    film: KeptFilm | None
    note: str
    gone: frozenset[str] = frozenset()


def kept_files(folder: Path) -> tuple[KeptFile, ...]:
    """The files of an attempt; none where the folder is missing."""
    if not folder.is_dir():
        return ()
    names = sorted(each.name for each in folder.iterdir())[:MOST_FILES]
    found = ((name, file_in(folder, name)) for name in names)
    return tuple(KeptFile(name, path.stat().st_size) for name, path in found if path is not None)


def file_in(folder: Path, name: str) -> Path | None:
    """A file by its name; None for what is no file, can be none, or lies elsewhere, as behind a link."""
    try:
        inside, path = folder.resolve(), (folder / name).resolve()
        return path if path.is_relative_to(inside) and path.is_file() else None
    except (OSError, RuntimeError, ValueError):  # a name that is too long, a circle of links, a NUL
        return None


def picture_type(path: Path) -> str | None:
    """The media type of a picture by its first bytes; None of anything else."""
    with path.open("rb") as file:
        head = file.read(12)
    return next((kind for start, kind in PICTURES.items() if head.startswith(start)), None)


def har_in(folder: Path) -> ReadHar:
    """The load that was kept."""
    if not (folder / HAR_FILE).exists():
        return ReadHar(None, (NO_HAR,))
    path = file_in(folder, HAR_FILE)
    if path is None:
        return ReadHar(None, ("the HAR is no file of this trial",))
    try:
        load = read_har(path)
    except (OSError, ValueError) as error:
        return ReadHar(None, (f"the HAR cannot be drawn: {clipped(one_line(str(error)), 200)}",))
    notes = []
    if not load.requests:
        notes.append("the HAR holds no request that could be read")
    if not load.whole:
        notes.append("the browser's log was cut off: what came later is not known")
    if load.left_out:
        notes.append(f"{load.left_out:,} entries of the HAR could not be read")
    return ReadHar(load, tuple(notes))


def film_in(folder: Path) -> ReadFilm:
    """The film that was kept."""
    if not (folder / FILM_FILE).exists():
        return ReadFilm(None, NO_FILM)
    path = file_in(folder, FILM_FILE)
    if path is None:
        return ReadFilm(None, "the film is no file of this trial")
    try:
        film = read_film(path)
    except (OSError, ValueError) as error:
        return ReadFilm(None, f"the film cannot be shown: {clipped(one_line(str(error)), 200)}")
    names = [each.path.name for each in film.frames]
    gone = frozenset(name for name in names if file_in(path.parent, name) is None)
    notes = []
    if film.outcome:
        notes.append(f"the load failed ({film.outcome}): the film ends there and is in no estimate")
    if gone:
        notes.append(f"{len(gone):,} of {len(names):,} pictures of the film are gone")
    return ReadFilm(film, "; ".join(notes), gone)


def screenshot_note(folder: Path) -> str:
    """Why there is no screenshot to show; empty when there is one."""
    if not (folder / SCREENSHOT).exists():
        return 'no screenshot of it was kept; keep = ["screenshot"] in a study keeps it'
    path = file_in(folder, SCREENSHOT)
    if path is None or picture_type(path) is None:
        return "the screenshot is damaged: it is no picture"
    return ""
