"""A figure as the report shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """`first`: it opens the report. `files` are paths relative to the report, by suffix.

    `asked`: the name of the study's own figure that it is, `title` that figure's.
    """

    name: str
    caption: str
    wide: bool
    first: bool
    of_data: bool
    data_uri: str
    files: Mapping[str, str]
    asked: str = ""
    title: str = ""
