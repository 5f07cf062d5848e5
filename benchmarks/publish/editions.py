"""What is published from records: documents, the pages and data files behind them, and the studies run for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
RUNS = Path("runs")


@dataclass(frozen=True)
class RepeatedStudy:
    """A study that ships and its short form, if any, and with which options each is run: of an original what that
    measured, no more, and what explains what differs.

    `figures` are those of the report that the document can show, as patterns of their names, `tables` those that are
    kept besides the claims (`benchmarks.publish.smalltables.ASKED`). `page` tells of it behind the document, where that
    is not called as the study. With `head` a picture of the top of the report is kept.
    """

    study: str
    options: tuple[str, ...]
    quick: str | None = None
    quick_options: tuple[str, ...] = ()
    figures: tuple[str, ...] = ("claims", "study-*")
    tables: tuple[str, ...] = ()
    page: str = ""
    head: bool = False

    def command(self, *, quick: bool) -> tuple[str, ...]:
        """STUDY and options of `coldload run`."""
        return (self.name(quick=quick), *(self.quick_options if quick else self.options))

    def name(self, *, quick: bool) -> str:
        """What the files of its results begin with. ValueError for the short form of a study that has none."""
        if quick and self.quick is None:
            raise ValueError(f"{self.study} has no short form")
        return self.quick if quick and self.quick else self.study


OF_ORIGINALS = (
    # Five loads of each point, as the original: 75 minutes. A second run of another day makes ten of them.
    RepeatedStudy("spdy-2012", ("--trials", "5"), "spdy-2012-quick", ("--trials", "1"), tables=("loads",)),
    RepeatedStudy("second-host-2012", (), figures=("waterfalls_*-100-ms-*",)),
    RepeatedStudy("factors-2012", ("--trials", "5"), figures=(), tables=("loads",)),
    RepeatedStudy("figure-1-2012", (), figures=()),
    RepeatedStudy("figure-5-2012", (), figures=(), tables=("loads",)),
    RepeatedStudy("settings-2012", (), figures=()),
    RepeatedStudy("multiplexing", ("--trials", "5"), figures=()),
    RepeatedStudy(
        "requests-2012",
        ("--only", "engine=wrk", "--only", "page=noise-200", "--only", "protocol=http1"),
        "requests-2012-quick",
        ("--trials", "1"),
    ),
    RepeatedStudy("requests-2012-scaled", ()),
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
    # With TLS 1.2 and 15 s for idle connections as well: two hours more.
    RepeatedStudy("users-2013-together", ()),
)

AT_100_MS = ("--only", "link=2012-10mbps-100ms")
OF_TODAY = (
    RepeatedStudy("demo", (), figures=("overview", "waits_*"), tables=("loads", "waits"), head=True),
    RepeatedStudy("protocols", AT_100_MS, figures=(), tables=("loads",)),
    RepeatedStudy(
        "protocols-2012", (*AT_100_MS, "--trials", "10"), figures=(), tables=("loads",), page="protocols"
    ),
    RepeatedStudy(
        "inlining-minification",
        ("--only", "engine=chromium"),  # figure 3 of spdy-2012 has the other engine
        figures=(),
        tables=("loads",),
        page="savings",
    ),
    RepeatedStudy("factorial", (), figures=("effects_*",), tables=("effects",), page="savings"),
    RepeatedStudy("compression", (), figures=(), tables=("loads",), page="savings"),
    RepeatedStudy("extend-cache", (), figures=("study-views",), tables=("loads",), page="views"),
    RepeatedStudy("distances", (), figures=("claims",)),
    RepeatedStudy("distances-phone", ("--trials", "7"), figures=("claims",), page="distances"),
    RepeatedStudy("engines", (), figures=("claims",)),
    RepeatedStudy("queues", (), figures=("factors",)),
)


@dataclass(frozen=True)
class RepeatedBenchmark:
    """A benchmark that keeps what documents quote (`benchmarks.quoted`), by what its files begin with.

    `commands` is what comes behind `python -m benchmarks.`, by the last part that each measures.
    """

    name: str
    commands: Mapping[str, tuple[str, ...]]


OF_TOOLS = (
    RepeatedBenchmark("start", {"commands": ("start",)}),
    RepeatedBenchmark(
        "link",
        {
            part: ("link", "--only", part)
            for part in ("building", "rtt", "parts", "goodput", "packets", "queue")
        },
    ),
    RepeatedBenchmark("linkcost", {"cases": ("linkcost",)}),
    RepeatedBenchmark("clients", {part: ("clients", "--only", part) for part in ("truth", "packets")}),
    RepeatedBenchmark(
        "vitals", {part: ("vitals", "--only", part) for part in ("web-vitals", "trace", "lighthouse")}
    ),
    RepeatedBenchmark(
        "observing",
        {
            "agency": ("observing",),
            "dummy-2012": ("observing", "--page", "dummy-2012", "--only", "har", "--blocks", "80"),
        },
    ),
    RepeatedBenchmark("film", {part: ("film", "--only", part) for part in ("rate", "known", "speedline")}),
    RepeatedBenchmark("slowdown", {"places": ("cpu_slowdown", "--rounds", "6")}),
    RepeatedBenchmark("disturbance", {"loads": ("disturbance", "--minutes", "25")}),  # and its other tables
    RepeatedBenchmark("crowddisturbance", {"crowds": ("crowddisturbance",)}),
    RepeatedBenchmark(
        "crowd", {part: ("crowd", "--only", part) for part in ("cpu", "clients", "memory", "times")}
    ),
    RepeatedBenchmark("rates", {"pipelining": ("rates",)}),
    RepeatedBenchmark(
        "cluster", {"records": ("cluster",), "kills": ("cluster", "--kills", "200", "--seed", "7")}
    ),
    RepeatedBenchmark("scale", {"commands": ("scale", "--only", "plan", "resume", "records")}),
    RepeatedBenchmark("optimise", {"variants": ("optimise",)}),
    RepeatedBenchmark("stylesheets", {"sheets": ("stylesheets",)}),
    RepeatedBenchmark("replay", {part: ("replay_quality", "--only", part) for part in ("quality", "looks")}),
    RepeatedBenchmark(
        "archive",
        {
            "apache": ("archive_size",),
            "caddy": ("archive_size", "--server", "caddy", "50", "2000", "10000"),
            "load": ("archive_size", "--load", "10000", "--runs", "1"),
        },
    ),
    RepeatedBenchmark("advice", {"times": ("advice",)}),  # and its other table
    RepeatedBenchmark("hostile", {"cases": ("hostile",)}),
    RepeatedBenchmark(
        "overhead",
        {engine: ("trial_overhead", "--engine", engine) for engine in ("chromium", "firefox", "webkit")},
    ),
)


@dataclass(frozen=True)
class Edition:
    """A document, the folder of the pages behind it, that of the data files, and what these are of.

    `front` shows some of it before anyone opens the document.
    """

    name: str
    pages: Path
    data: Path
    studies: tuple[RepeatedStudy, ...]
    benchmarks: tuple[RepeatedBenchmark, ...] = ()
    front: tuple[Path, ...] = ()

    @property
    def document(self) -> Path:
        return self.pages.with_suffix(".md")

    @property
    def documents(self) -> tuple[Path, ...]:
        """All that is made of the data: the front, the document and the pages behind it."""
        return *self.front, self.document, *sorted(self.pages.glob("*.md"))

    @property
    def runs(self) -> Path:
        """Where the runs of its studies are."""
        return RUNS / self.name

    def page(self, study: RepeatedStudy) -> Path:
        """The page behind the document that tells of a study."""
        return self.pages / f"{study.page or study.study}.md"


REPRODUCTION = Edition("reproduction", DOCS / "reproduction", DOCS / "reproduction", OF_ORIGINALS)
RESULTS = Edition(
    "results",
    DOCS / "results",
    DOCS / "results" / "data",
    OF_TODAY,
    OF_TOOLS,
    front=(DOCS.parent / "README.md",),
)
EDITIONS: Mapping[str, Edition] = {each.name: each for each in (REPRODUCTION, RESULTS)}
