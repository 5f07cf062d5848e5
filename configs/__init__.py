"""Data that ships with coldload: links, studies, sets, claims and the templates of servers."""

from pathlib import Path

FOLDER = Path(__file__).parent


def shipped(what: str) -> dict[str, Path]:
    """The TOML files of a folder, as `studies`, by name."""
    return {path.stem: path for path in sorted((FOLDER / what).glob("*.toml"))}
