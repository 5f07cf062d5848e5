"""Which studies are run again, and what of their reports the document keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RepeatedStudy:
    """A study that ships and its short form, if any, and with which options each is run: what the original measured, no
    more, and what explains what differs.

    `figures` are those of the report that the document can show, as patterns of their names.
    """

    study: str
    options: tuple[str, ...]
    quick: str | None = None
    quick_options: tuple[str, ...] = ()
    figures: tuple[str, ...] = ("claims", "study-*")

    def command(self, *, quick: bool) -> tuple[str, ...]:
        """STUDY and options of `coldload run`."""
        return (self.name(quick=quick), *(self.quick_options if quick else self.options))

    def name(self, *, quick: bool) -> str:
        """What the files of its results begin with. ValueError for the short form of a study that has none."""
        if quick and self.quick is None:
            raise ValueError(f"{self.study} has no short form")
        return self.quick if quick and self.quick else self.study


STUDIES = (
    # Five loads of each point, as the original: two hours. A second run of another day makes ten of them.
    RepeatedStudy("spdy-2012", ("--trials", "5"), "spdy-2012-quick", ("--trials", "1")),
    RepeatedStudy("second-host-2012", (), figures=("waterfalls_*-100-ms-*",)),
    RepeatedStudy("factors-2012", ("--trials", "5"), figures=()),
    RepeatedStudy("figure-1-2012", (), figures=()),
    RepeatedStudy("multiplexing", ("--trials", "5"), figures=()),
    RepeatedStudy(
        "requests-2012",
        ("--only", "engine=wrk", "--only", "page=noise-200", "--only", "protocol=http1"),
        "requests-2012-quick",
        ("--trials", "1"),
    ),
    RepeatedStudy(
        "compression-2008",  # the texts and the compression that the original gives figures of: 14 minutes a block
        (
            *("--only", "server=apache-2008", "--only", "compression=none,gzip-6-dynamic"),
            *("--only", "page=text-10k,text-50k,text-100k"),
        ),
        "compression-2008-quick",
        ("--trials", "1", "--only", "page=text-50k"),
    ),
    # A quarter of its size, which two cores bear: two hours.
    RepeatedStudy("users-2013-quarter", (), "users-2013-quick", ("--trials", "1")),
    RepeatedStudy("factors-2013", ()),
    # The same ramp with the queue that factors-2013 points to: two hours more.
    RepeatedStudy("users-2013-short-queue", ()),
)
