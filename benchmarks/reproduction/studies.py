"""Which studies are run again, and what of their reports the document keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RepeatedStudy:
    """A study that ships, its short form, and how that is run.

    `figures` are those of the report that the document can show, as patterns of their names.
    """

    study: str
    quick: str
    quick_options: tuple[str, ...]
    figures: tuple[str, ...]

    def command(self, *, quick: bool) -> tuple[str, ...]:
        """STUDY and options of `coldload run`."""
        return (self.quick, *self.quick_options) if quick else (self.study,)

    def name(self, *, quick: bool) -> str:
        """What the files of its results begin with."""
        return self.quick if quick else self.study


STUDIES = (
    RepeatedStudy("spdy-2012", "spdy-2012-quick", ("--trials", "1"), ("claims", "study-*")),
    RepeatedStudy(
        "requests-2012",
        "requests-2012-quick",
        ("--trials", "1", "--only", "engine=wrk"),
        ("claims", "study-*"),
    ),
    RepeatedStudy(
        "compression-2008",
        "compression-2008-quick",
        ("--trials", "1", "--only", "page=text-50k"),
        ("claims", "study-*"),
    ),
    RepeatedStudy("users-2013", "users-2013-quick", ("--trials", "1"), ("claims", "study-*")),
)
