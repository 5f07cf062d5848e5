"""A run directory as a pack holds it: the study finds its traces, and what is not ours stays where it is."""

from __future__ import annotations

import argparse
import json
import shutil
from importlib import resources
from pathlib import Path

import pytest

from harness.capacity.series import BUCKETS_NAME, PAGES_NAME, SECONDS_NAME
from harness.cli.studychoice import chosen
from harness.errors import ArchiveError, RecordsError
from harness.model.variant import parse_variant
from harness.pack.packedrun import (
    MADE_OF,
    copy_page,
    copy_run,
    describe_pages,
    packed_study,
    read_plan,
    told_of_nobody,
)
from harness.pack.packfile import ARCHIVES, PAGES, RUN, open_pack
from harness.run.directory import open_run
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from harness.study.studytext import StudyText
from sites.archive import Archive, open_archive, write_archive
from sites.archiveindex import METADATA_FILE, WARC_FILE
from sites.optimise.derive import derive
from sites.response import Response
from sites.warc import About

NAMES = ("ann", "lab-7", "root", "h2")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/home/ann/x/.venv/bin/caddy died (exit code -9)", "…/caddy died (exit code -9)"),
        (
            "Command line: '/usr/sbin/apache2 -d /run/coldload/testbed-x/s'",
            "Command line: '…/apache2 -d …/s'",
        ),
        ("see ~ann/lab/run.log, or file:///home/ann/run.log", "see …/run.log, or …/run.log"),
        ("ann@lab-7: permission denied", "…@…: permission denied"),
        ("https://site.example/a/b.css (404)", "https://site.example/a/b.css (404)"),
        ("see https://site.example/?a=/b/c/d#/e/f, /b/c", "see https://site.example/?a=/b/c/d#/e/f, …/c"),
        ("Apache/2.4.71 (Debian), root, h2, annual", "Apache/2.4.71 (Debian), root, h2, annual"),
        ("--disable-features=A,B", "--disable-features=A,B"),
    ],
)
def test_paths_and_names_go_and_the_rest_stays(text: str, told: str) -> None:
    assert told_of_nobody(text, NAMES) == told
    assert told_of_nobody({"a": [text, 1, None, True]}, NAMES) == {"a": [told, 1, None, True]}


PATHS = {"a.trace": "rates/123/a.trace"}


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        ("trace_down = '/home/ann/a.trace' # x\n", 'trace_down = "rates/123/a.trace" # x\n'),
        (
            'links = [{steps_up = "b/c.steps", rtt_ms = 1}]\n',
            'links = [{steps_up = "c.steps", rtt_ms = 1}]\n',
        ),
        ('title = "trace_down = 5" # see /home/ann/x\n', 'title = "trace_down = 5" # see …/x\n'),
        ('published = "spdy-2012"\n', 'published = "spdy-2012"\n'),
    ],
)
def test_files_are_named_where_the_pack_has_them(text: str, packed: str) -> None:
    assert packed_study(StudyText(text), PATHS, None).text == packed


@pytest.mark.parametrize(
    "text", ['published = "../mine.toml"\n', 'published = {claims = "/x/mine.toml", short = true}\n']
)
def test_a_run_without_its_own_published_claims_is_refused(text: str) -> None:
    with pytest.raises(RecordsError, match=r"the run lacks published\.toml"):
        packed_study(StudyText(text), PATHS, None)


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        ('published = "../mine.toml"\nb = 2\n', 'published = "published.toml"\nb = 2\n'),
        (
            "published = {short = true, claims = '/x/mine.toml'} # /x/y\n",
            'published = {short = true, claims = "published.toml"} # …/y\n',
        ),
        ('[published]\nclaims = "mine.toml"\n', '[published]\nclaims = "published.toml"\n'),
        ('published = "spdy-2012"\n', 'published = "spdy-2012"\n'),
    ],
)
def test_a_file_of_claims_is_named_where_the_pack_has_it(text: str, packed: str) -> None:
    assert packed_study(StudyText(text), PATHS, "published.toml").text == packed


@pytest.mark.parametrize(
    "text",
    [
        '"trace_down" = "/home/ann/a.trace"\n',
        'trace_down = """/home/ann/a.trace"""\n',
        '"published" = "/home/ann/mine.toml"\n',
        "title = \"trace_down = '/home/ann/a.trace'\"\n",
        "no toml",
    ],
)
def test_what_cannot_be_packed_as_it_is_meant_is_refused(text: str) -> None:
    with pytest.raises(RecordsError, match="cannot be packed"):
        packed_study(StudyText(text), PATHS, "published.toml")


STUDY = """# as in /home/ann/notes/plan.txt
name = "traced"
pages = ["one"]
protocols = ["http1", "h2"]
trials = 1
aa = false
[[links]]
rtt_ms = 20
trace_down = "{trace}"   # of /home/ann/traces
up_mbps = 1
"""
TRACE = "0\n10\n20\n"
REPRODUCTION = Path(__file__).parents[4] / "docs" / "reproduction"


def run_of(folder: Path, trace: str) -> Path:
    """A run directory of the study, before its first trial."""
    text = STUDY.format(trace=trace)
    run = folder / "runs" / "traced-1"
    with open_run(run, make_plan(parse_study(text, "s", folder / "home"), 1)):
        return run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the user's traces are."""
    folder = tmp_path / "home" / "traces"
    folder.mkdir(parents=True)
    (folder / "lte.trace").write_text(TRACE)
    return folder


def packed(run: Path, target: Path, *, whole_series: bool = False, portraits: bool = False) -> dict[str, int]:
    return dict(
        copy_run(run, target, read_plan(run), {"ann"}, whole_series=whole_series, portraits=portraits)
    )


@pytest.mark.parametrize("absolute", [True, False])
def test_a_packed_study_finds_its_traces_and_makes_the_same_plan(
    absolute: bool, home: Path, tmp_path: Path
) -> None:
    run = run_of(tmp_path, str(home / "lte.trace") if absolute else "traces/lte.trace")
    assert packed(run, tmp_path / "packed") == {}
    text = (tmp_path / "packed" / "study.toml").read_text()
    assert str(tmp_path) not in text
    assert "/home/ann" not in text
    again = parse_study(text, "again", tmp_path / "packed")
    assert make_plan(again, 1) == read_plan(run)
    assert make_plan(again, 1).to_lines() == (run / "plan.jsonl").read_text()


def test_a_packed_study_finds_its_template_of_a_server(home: Path, tmp_path: Path) -> None:
    shipped = (resources.files("configs") / "servers" / "caddy.template").read_text("utf-8")
    (home / "my.template").write_text(f"{shipped}{{# mine #}}")
    text = STUDY.format(trace="traces/lte.trace").replace(
        "[[links]]",
        'server = "mine"\nservers.mine = {program = "caddy", template = "traces/my.template"}\n[[links]]',
    )
    study = parse_study(text, "s", tmp_path / "home")
    with open_run(tmp_path / "run", make_plan(study, 1)):
        packed(tmp_path / "run", tmp_path / "packed")
    again = parse_study((tmp_path / "packed" / "study.toml").read_text(), "again", tmp_path / "packed")
    assert again.servers == study.servers
    assert make_plan(again, 1) == read_plan(tmp_path / "run")


def test_a_packed_study_finds_its_sets_of_pages(home: Path, tmp_path: Path) -> None:
    sets = tmp_path / "home" / "sets"
    sets.mkdir()
    (sets / "mine.toml").write_text('pages = ["one", "two"]\n')
    text = STUDY.format(trace="traces/lte.trace").replace('["one"]', '["@mine"]')
    with open_run(tmp_path / "run", make_plan(parse_study(text, "s", tmp_path / "home"), 1)):
        packed(tmp_path / "run", tmp_path / "packed")
    again = parse_study((tmp_path / "packed" / "study.toml").read_text(), "again", tmp_path / "packed")
    assert make_plan(again, 1) == read_plan(tmp_path / "run")


SEVERAL = """
name = "several"
pages = ["one", "@mine"]
protocols = ["http1", "h2"]
trials = 1
aa = false
published = {claims = "../papers/its.toml", short = true}
[[links]]
name = "traced"
rtt_ms = 20
trace_down = "traces/lte.trace"
[[links]]
name = "usual"
rtt_ms = 20
down_mbps = 1
"""
CLAIMS = """# from /home/ann/papers
title = "A paper"
source = "Somebody, 2012"
[[claims]]
name = "half"
text = "Half the time"
stands = "figure 1"
subject = {protocol = "h2"}
reference = {protocol = "http1"}
published = [0.45, 0.55]
"""


@pytest.mark.parametrize("only", [[], ["page=one"], ["link=usual"], ["page=one", "link=usual"]])
def test_a_packed_study_finds_all_files_that_it_names_also_what_was_not_measured(
    only: list[str], home: Path, tmp_path: Path
) -> None:
    for path, text in {"home/sets/mine.toml": 'pages = ["two"]\n', "papers/its.toml": CLAIMS}.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    (tmp_path / "home" / "several.toml").write_text(SEVERAL)
    given = argparse.Namespace(
        study=str(tmp_path / "home" / "several.toml"), trials=None, until=None, only=only, without=[]
    )
    _, study = chosen(given)
    plan = make_plan(study, 1)
    assert plan.published is not None
    with open_run(tmp_path / "run", plan):
        packed(tmp_path / "run", tmp_path / "packed")
        packed(tmp_path / "packed", tmp_path / "twice")
    for folder in (tmp_path / "packed", tmp_path / "twice"):
        assert "/ann" not in (folder / "published.toml").read_text()
        again = chosen(argparse.Namespace(**{**vars(given), "study": str(folder / "study.toml")}))[1]
        assert make_plan(again, 1).to_lines() == (tmp_path / "run" / "plan.jsonl").read_text()


def test_what_was_packed_can_be_packed_again(home: Path, tmp_path: Path) -> None:
    packed(run_of(tmp_path, "traces/lte.trace"), tmp_path / "first")
    packed(tmp_path / "first", tmp_path / "second")
    once, twice = (
        {path.relative_to(top): path.read_bytes() for path in top.rglob("*.*")}
        for top in (tmp_path / "first", tmp_path / "second")
    )
    assert once == twice


def test_nothing_that_a_run_leads_to_goes_with_it(home: Path, tmp_path: Path) -> None:
    run = run_of(tmp_path, "traces/lte.trace")
    other = tmp_path / "other.txt"
    other.write_text("{}\n")
    (run / "trials" / "00001").mkdir(parents=True)
    for name in ("records.jsonl", "environment.json", "trials/00001/buckets.jsonl", "sets/a.toml"):
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).symlink_to(other)
    private = tmp_path / "private"
    private.mkdir()
    for name in ("buckets.jsonl", "diary.txt", "0123456789ab-a.template"):
        (private / name).write_text("{}\n")
    for name in ("trials/00002", "trials/portrait-00001", "templates"):
        (run / name).symlink_to(private)
    assert packed(run, tmp_path / "packed", portraits=True) == {
        "buckets.jsonl": 1,
        "00002/": 3,
        "portrait-00001/": 3,
    }
    there = {path.name for path in (tmp_path / "packed").rglob("*") if path.is_file()}
    assert there == {"study.toml", "plan.jsonl", "lte.trace"}


def test_a_plan_whose_trace_leads_elsewhere_is_refused(home: Path, tmp_path: Path) -> None:
    run = run_of(tmp_path, "traces/lte.trace")
    plan = (run / "plan.jsonl").read_text().replace('"lte.trace"', '"../../home/traces/lte.trace"')
    (run / "plan.jsonl").write_text(plan)
    with pytest.raises(RecordsError, match="damaged and cannot be packed"):
        packed(run, tmp_path / "packed")


def test_a_trace_that_the_run_lacks_is_named(home: Path, tmp_path: Path) -> None:
    run = run_of(tmp_path, "traces/lte.trace")
    for path in (run / "rates").iterdir():
        path.unlink()
    with pytest.raises(RecordsError, match=r"lacks .*lte\.trace"):
        packed(run, tmp_path / "packed")


def test_what_trials_kept_is_counted_and_only_series_go_with_the_pack(home: Path, tmp_path: Path) -> None:
    run = run_of(tmp_path, "traces/lte.trace")
    kept = (
        "00001/link.pcap",
        "00001/load.har",
        "00002/link.pcap",
        "00002/buckets.jsonl",
        "00002/filmstrip/1.png",
    )
    for name in kept:
        (run / "trials" / name).parent.mkdir(parents=True, exist_ok=True)
        (run / "trials" / name).write_text("{}\n")
    (run / "report.html").write_text("old")
    (run / "recipes").mkdir()
    (run / "recipes" / "page-h2.json").write_text("{}\n")
    assert packed(run, tmp_path / "packed") == {"link.pcap": 2, "load.har": 1, "filmstrip/": 1, "recipes/": 1}
    there = {path.name for path in (tmp_path / "packed").rglob("*") if path.is_file()}
    assert there == {"study.toml", "plan.jsonl", "buckets.jsonl", "lte.trace"}


@pytest.mark.parametrize("whole_series", [False, True])
def test_the_long_series_of_a_crowd_go_with_the_pack_when_they_are_wanted(
    whole_series: bool, home: Path, tmp_path: Path
) -> None:
    run = run_of(tmp_path, "traces/lte.trace")
    trial, long = run / "trials" / "00001", {PAGES_NAME, SECONDS_NAME}
    trial.mkdir(parents=True)
    for name in (BUCKETS_NAME, *long):
        (trial / name).write_text("{}\n")
    left_out = packed(run, tmp_path / "packed", whole_series=whole_series)
    there = {path.name for path in (tmp_path / "packed" / "trials" / "00001").iterdir()}
    assert there == ({BUCKETS_NAME} | long if whole_series else {BUCKETS_NAME})
    assert left_out == ({} if whole_series else dict.fromkeys(long, 1))


def test_reasons_and_the_environment_lose_their_paths_and_nothing_else_changes(
    home: Path, tmp_path: Path
) -> None:
    run = run_of(tmp_path, "traces/lte.trace")
    head = '"schema": 2, "block": 1, "order": 1, "condition": {}, "attempt": 1, "left_out": null, "outcome": "ok"'
    told = {"reason": "/home/ann/caddy died", "failed": ["https://a.example/b/c"]}
    lines = [
        f'{{{head}, "trial": "1",  "reason": null, "plt_ms": 1.50}}\n',
        f'{{{head}, "trial": "2", {json.dumps(told)[1:]}\n',
        f'{{{head}, "trial": "3", "rea',
    ]
    (run / "records.jsonl").write_text("".join(lines))
    programs = {"programs": {"x": "X 1, in /opt/x/bin/x", "y": "by ann"}}
    (run / "environment.json").write_text(json.dumps(programs))
    joined = {"schema": 1, "machine": "lab-1"}
    (run / "machines.jsonl").write_text(json.dumps({**joined, "environment": programs}) + "\n")
    packed(run, tmp_path / "packed")
    first, second = (tmp_path / "packed" / "records.jsonl").read_text().splitlines(keepends=True)
    assert first == lines[0]
    assert json.loads(second) == {**json.loads(lines[1]), "reason": "…/caddy died"}
    environment = json.loads((tmp_path / "packed" / "environment.json").read_text())
    assert environment == {"programs": {"x": "X 1, in …/x", "y": "by …"}}
    machines = (tmp_path / "packed" / "machines.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in machines] == [{**joined, "environment": environment}]


PAGE_URLS = ["https://www.ann.example/", "https://a.example/index.php?title=/wiki/Main/Page&x=1"]


def archive(root: Path, url: str, name: str = "one") -> Archive:
    page = Response(url, 200, (("Content-Type", "text/html"),), b"<p>a page")
    return write_archive(root, name, About(url, "ann's tool", "", ("from /home/ann/one.har",)), [page])


@pytest.mark.parametrize("url", PAGE_URLS)
@pytest.mark.parametrize("bodies", [True, False])
def test_a_page_in_a_pack_is_the_one_that_was_archived(url: str, bodies: bool, tmp_path: Path) -> None:
    made = archive(tmp_path / "archives", url)
    copy_page(made, tmp_path / "packed", {"ann"}, bodies=bodies)
    folder = tmp_path / "packed" / (ARCHIVES if bodies else PAGES)
    before, told = (
        json.loads((each / METADATA_FILE).read_text()) for each in (made.folder, folder / made.name)
    )
    assert told == {**before, "captured_with": "…'s tool", "notes": ["from …/one.har"]}
    if bodies:
        assert open_archive(folder, made.name).start_url == url


def test_an_archive_that_would_not_come_out_of_the_pack_is_refused(tmp_path: Path) -> None:
    made, other = (archive(tmp_path / place, PAGE_URLS[0]) for place in ("archives", "others"))
    (made.folder / WARC_FILE).write_bytes((other.folder / WARC_FILE).read_bytes()[:-20])
    with pytest.raises(ArchiveError, match="archive one is damaged"):
        copy_page(made, tmp_path / "damaged", (), bodies=True)
    archive(tmp_path / "archives", PAGE_URLS[1])
    with pytest.raises(ArchiveError, match="archive one changed while it was packed"):
        copy_page(made, tmp_path / "changed", (), bodies=True)


@pytest.mark.parametrize("url", PAGE_URLS)
def test_a_pack_tells_the_pages_of_a_run_as_they_were_measured(url: str, home: Path, tmp_path: Path) -> None:
    run = run_of(tmp_path, "traces/lte.trace")
    page = {"digest": "0" * 64, "start_url": url, "addresses": [["www.ann.example"]]}
    begun = {"archives": {"one": {**page, "with": "ann's tool", "notes": ["from /home/ann/one.har"]}}}
    (run / "environment.json").write_text(json.dumps({**begun, "continued": [begun]}))
    packed(run, tmp_path / "packed")
    told = {"archives": {"one": {**page, "with": "…'s tool", "notes": ["from …/one.har"]}}}
    assert json.loads((tmp_path / "packed" / "environment.json").read_text()) == {**told, "continued": [told]}
    ((described, _),) = describe_pages(run, read_plan(run), tmp_path)
    assert (described.start_url, described.digest) == (url, page["digest"])


VARIANTS = ("core", "minify")


@pytest.mark.parametrize("digits", [16, 64])
def test_a_page_that_is_not_what_the_variants_of_a_run_were_made_of_is_not_the_measured_one(
    digits: int, home: Path, tmp_path: Path
) -> None:
    measured, root = archive(tmp_path / "archives", PAGE_URLS[0]), tmp_path / "archives"
    text = STUDY.format(trace="traces/lte.trace").replace('"one"]\n', f'"one"]\nvariants = {[*VARIANTS]}\n')
    run = tmp_path / "runs" / "variants-1"
    with open_run(run, make_plan(parse_study(text, "s", home.parent), 1)):
        pass

    def described(*notes: str) -> tuple[str | None, str | None, Archive | None]:
        told = {"digest": "0" * 64, "start_url": PAGE_URLS[0]}
        archives = {
            f"one--{name}": {**told, "notes": ["from one.har", note, "20 bytes saved"]}
            for name, note in zip(VARIANTS, notes, strict=True)
        }
        (run / "environment.json").write_text(json.dumps({"archives": archives}))
        ((page, same),) = describe_pages(run, read_plan(run), root)
        return page.digest, page.start_url, same

    notes = [f"variant {name} of one ({measured.digest[:digits]})" for name in VARIANTS]
    digest, _, same = described(*notes)
    assert (digest, same and same.digest) == (measured.digest, measured.digest)
    archive(root, PAGE_URLS[1])  # in its place
    assert described(*notes) == (measured.digest if digits == 64 else None, PAGE_URLS[0], None)
    shutil.rmtree(root)
    assert described(*notes) == (measured.digest if digits == 64 else None, PAGE_URLS[0], None)
    archive(root, PAGE_URLS[0])
    other = f"variant core of one ({'1' * digits})"
    for unsure in ((other, notes[1]), ("a note", "a note")):
        assert described(*unsure) == (None, PAGE_URLS[0], None)


def test_a_variant_tells_the_digest_of_what_it_was_made_of(tmp_path: Path) -> None:
    original = archive(tmp_path / "archives", PAGE_URLS[0])
    made = derive(original, parse_variant("core,-inline_css")).archive
    assert [note["digest"] for note in map(MADE_OF.fullmatch, made.notes) if note] == [original.digest]


@pytest.mark.parametrize("name", ["study.toml", "plan.jsonl", "environment.json", "records.jsonl"])
def test_a_damaged_run_is_refused_with_one_line(name: str, home: Path, tmp_path: Path) -> None:
    run = run_of(tmp_path, "traces/lte.trace")
    (run / name).write_text("[[[\n")
    with pytest.raises(RecordsError) as refused:
        packed(run, tmp_path / "packed")
    assert len(str(refused.value).splitlines()) == 1


def test_a_pack_tells_title_and_options_of_its_run_in_the_plan(tmp_path: Path) -> None:
    with open_pack(REPRODUCTION / "requests-2012-run1.zip") as pack:
        run = pack.unpack(RUN, tmp_path / "run")
    plan = read_plan(run)
    assert plan.title.startswith("Requests per second")
    assert plan.options == (
        ("--only", "engine=wrk"),
        ("--only", "page=noise-200"),
        ("--only", "protocol=http1"),
    )
    with open_pack(REPRODUCTION / "second-host-2012-run1.zip") as pack:
        assert read_plan(pack.unpack(RUN, tmp_path / "another")).options == ()


def test_the_study_of_a_pack_has_the_options_of_its_run() -> None:
    given = argparse.Namespace(
        study=str(REPRODUCTION / "requests-2012-run1.zip"), trials=2, until=None, only=[], without=[]
    )
    _, study = chosen(given)
    assert study.options[:2] == (("--trials", "2"), ("--only", "engine=wrk"))
    assert (study.seed, "# run with" in study.text.text) == (2012, False)
