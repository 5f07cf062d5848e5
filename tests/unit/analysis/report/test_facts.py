"""What stands at the head of a report of several runs: whether they may be pooled at all."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from analysis.claims.claimresult import ClaimRow
from analysis.comparing.pair import compare_runs, load_pair
from analysis.evaluation.results import Results, evaluate
from analysis.report import facts, methodtexts, paper
from analysis.report.facts import forms
from analysis.report.summary import claims
from analysis.runs.alike import environment_differences
from analysis.runs.rundirectory import load
from analysis.tables.tables import median_times, tables_of
from harness.errors import RecordsError
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import ENVIRONMENT, Synthetic, write_lines

MADE = Synthetic(pages=("p",), protocols=("http1",), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=1)


def notes(folder: Path, *environments: dict[str, Any], made: Synthetic = MADE) -> list[str]:
    runs = []
    for number, environment in enumerate(environments):
        run = made.write(folder / f"run-{number}")
        (run / "environment.json").write_text(json.dumps(environment))
        runs.append(load(run))
    return [note for note in facts.notes(evaluate(runs)) if "not made alike" in note]


def environment(**replay: Any) -> dict[str, Any]:
    settings = {"determinism": True, "compression": ["none"], **replay}
    return {
        "taken_utc": "now",
        "replay": settings,
        "programs": {"chromium": "Chromium 1"},
        "machine": {"load": 1},
    }


@pytest.mark.thorough
def test_runs_that_are_alike_are_pooled_without_a_word(tmp_path: Path) -> None:
    later = environment(compression=["gzip-6"]) | {"taken_utc": "later", "machine": {"load": 2}}
    assert notes(tmp_path, environment(), later) == []
    assert notes(tmp_path / "unknown", environment(), {}) == []


def test_what_differs_between_pooled_runs_is_said(tmp_path: Path) -> None:
    other = environment(determinism=False) | {"programs": {"chromium": "Chromium 2"}}
    (said,) = notes(tmp_path, environment(), environment(), other)
    assert tells(
        [said], "programs.chromium is Chromium 1 or Chromium 2", "replay.determinism is True or False"
    )
    assert said.count(" or ") == 2


def test_what_the_machines_of_a_run_have_apart_is_said(tmp_path: Path) -> None:
    """A run on several has the environment of one of them for all."""
    run = MADE.write(tmp_path / "run")
    first, second = environment(), environment() | {"programs": {"chromium": "Chromium 2"}}
    (run / "environment.json").write_text(json.dumps(first))
    joined = [
        {"schema": 1, "machine": name, "environment": each}
        for name, each in (("one", first), ("two", second))
    ]
    write_lines(run / "machines.jsonl", joined)
    told = [note for note in facts.notes(evaluate([load(run)])) if "not made alike" in note]
    assert tells(told, "programs.chromium is Chromium 1 or Chromium 2")


APACHE, NEWER = "Apache/2.4.62", "Apache/2.4.66"


def continued(kernel: str, apache: str) -> dict[str, Any]:
    return {
        "taken_utc": kernel,
        "coldload": {APACHE: "1.0", NEWER: "2.0"}[apache],
        "programs": {"chromium": "Chromium 1", "apache": apache},
        "machine": {"processor": "CPU", "kernel": kernel, "load_average": [0.5]},
        "servers": {"chromium": {"certificate_bytes": 415 + (apache == NEWER)}},
    }


def test_a_run_that_went_on_with_something_else_is_not_told_as_one(tmp_path: Path) -> None:
    begun, later = continued("6.1", APACHE), continued("6.12", NEWER)
    run = MADE.write(tmp_path / "run")
    (run / "environment.json").write_text(json.dumps({**begun, "continued": [begun, later]}))
    results = evaluate([load(run)])
    differences = ("coldload is 1.0 or 2.0", f"programs.apache is {APACHE} or {NEWER}")
    (said,) = facts.notes(results)
    assert tells([said], "not made alike throughout", *differences)
    assert said.count(" or ") == 2
    told = dict(facts.facts(results))
    assert told["Server"] == f"{APACHE}, {NEWER}"
    assert told["Machine"] == "CPU, kernel 6.1; CPU, kernel 6.12"
    methods = methodtexts.versions(results)
    assert methods.startswith("coldload 1.0, 2.0; ")
    assert all(text in methods for text in (APACHE, NEWER, "Machine: CPU, kernel 6.1, CPU, kernel 6.12."))
    assert dict(paper.ourselves(results).fields)["note"] == "Version 1.0, 2.0"
    (said,) = notes(tmp_path, {**begun, "continued": [begun]}, later)
    assert tells([said], *differences)
    assert said.count(" or ") == 2


def test_a_run_that_went_on_with_the_same_says_nothing(tmp_path: Path) -> None:
    begun = continued("6.1", APACHE)
    again = {**begun, "taken_utc": "later", "servers": {"chromium": {"certificate_bytes": 416}}}
    run = MADE.write(tmp_path / "run")
    (run / "environment.json").write_text(json.dumps({**begun, "continued": [again]}))
    results = evaluate([load(run)])
    assert facts.notes(results) == []
    assert dict(facts.facts(results))["Machine"] == "CPU, kernel 6.1"


@pytest.mark.parametrize(
    ("runs", "lanes", "said", "unsaid"),
    [
        (2, 0, ("Two runs cannot show how much runs differ",), "counts once"),
        (
            2,
            2,
            ("every machine or lane of a run counts once", "Two runs cannot show how much runs differ"),
            "every run",
        ),
        (3, 0, ("every run counts once",), "cannot show"),
    ],
)
def test_what_several_runs_mean_for_the_intervals(
    runs: int, lanes: int, said: tuple[str, ...], unsaid: str, tmp_path: Path
) -> None:
    made = Synthetic(pages=("p",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=6)
    folders = [replace(made, seed=seed).write(tmp_path / str(seed)) for seed in range(runs)]
    for folder in folders if lanes else ():
        edit(folder, lambda record: record | {"lane": 1 + record["block"] % lanes, "lanes": lanes})
    (note,) = facts.notes(evaluate([load(folder) for folder in folders]))
    assert tells([note], *said)
    assert unsaid not in note


def test_long_values_are_left_to_the_environment(tmp_path: Path) -> None:
    (said,) = notes(tmp_path, environment(flags="a" * 60), environment(flags="b" * 60))
    assert said.endswith("replay.flags differs.")


def test_many_differences_are_counted(tmp_path: Path) -> None:
    first = {"link": {str(number): "1" for number in range(9)}}
    second = {"link": {str(number): "2" for number in range(9)}}
    (said,) = notes(tmp_path, first, second)
    assert tells([said], "link.5 is 1 or 2", "3 more")


def test_what_took_no_part_may_differ(tmp_path: Path) -> None:
    first, second = (
        {
            "programs": {
                "chromium": "Chromium 1",
                "firefox": f"Firefox {version}",
                "chromedriver": f"Driver {version}",
            }
        }
        for version in (1, 2)
    )
    assert notes(tmp_path, first, second) == []
    (said,) = notes(tmp_path / "selenium", first, second, made=replace(MADE, drivers=("selenium",)))
    assert said == "The runs were not made alike: programs.chromedriver is Driver 1 or Driver 2."


def test_the_connections_of_page_loads_are_no_load_on_the_server(tmp_path: Path) -> None:
    results = evaluate([load(MADE.write(tmp_path / "run"))])
    assert "connections" in results.records
    assert "Load" not in dict(facts.facts(results))


def test_loads_whose_vitals_lack_frames_are_counted(tmp_path: Path) -> None:
    run = replace(MADE, trials=3).write(tmp_path / "run")
    assert facts.of_vitals(evaluate([load(run)])) == []
    edit(run, lambda record: record | {"unread_frames": record["order"] % 2})
    assert tells(facts.notes(evaluate([load(run)])), "2 of 3 loads", "`unread_frames`")


def test_loads_whose_vitals_are_of_a_part_of_the_page_are_counted_by_why(tmp_path: Path) -> None:
    run = replace(MADE, trials=4).write(tmp_path / "run")
    at_rest = {"settled": True, "observed_ms": 5000.0, "unread_frames": 0, "dropped_entries": 0}
    nothing = dict.fromkeys(at_rest) | {"settled": False}
    seen = [
        at_rest,
        at_rest | {"settled": False, "dropped_entries": 3},
        nothing,
        at_rest | {"settled": False},
    ]
    edit(run, lambda record: record | seen[record["block"] - 1])
    restless, hung, dropped = facts.of_vitals(evaluate([load(run)]))
    assert tells([restless], "In 2 of 4 loads", "not come to rest within 10 s", "Speed Index")
    assert tells([hung], "In 1 of 4 loads", "hung", "missing")
    assert tells([dropped], "In 1 of 4 loads", "`dropped_entries`")
    edit(run, lambda record: record | at_rest)
    assert facts.of_vitals(evaluate([load(run)])) == []


def test_distances_are_told_with_and_without_each_factor(tmp_path: Path) -> None:
    run = MADE.write(tmp_path / "run")
    pages = {"p": {"p.example": 0.0, "cdn.example": 40.5}, "p--core": {"p.example": 0.0, "cdn.example": 40.5}}
    far = {"distance": "recorded", "distances_ms": pages}
    said = {**environment(), "factors": {"far": {"replay": far}, "near": {"replay": {}}}}
    (run / "environment.json").write_text(json.dumps(said))
    results = evaluate([load(run)])
    told = dict(facts.facts(results))["Distances"]
    assert told.startswith("far: recorded: ")
    assert tells([told], "4 hosts of 2 archives", "0 to 40.5 ms", "median 20.2 ms")
    assert "far: recorded" in methodtexts.conditions(results)
    assert "Distances" not in dict(facts.facts(evaluate([load(MADE.write(tmp_path / "other"))])))


WHY = "inline_css: larger than 2,048 bytes (inline_css.max_bytes): https://r.example/a.css 5,120 bytes"


@dataclass(frozen=True)
class Changed(Synthetic):
    """A run of plain and core; `beside` says what core is for a page, `originals` of which pages it is the original."""

    pages: tuple[str, ...] = ("p", "q", "r")
    variants: tuple[str, ...] = ("plain", "core")
    protocols: tuple[str, ...] = ("http1", "h2")
    rates_mbps: tuple[float, ...] = (10.0,)
    rtts_ms: tuple[float, ...] = (50.0,)
    trials: int = 7
    waits: bool = True
    beside: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (("p", (("without", "inline_css"),)),)
    originals: tuple[str, ...] = ("r",)

    def conditions(self) -> list[dict[str, Any]]:
        beside = {page: dict(told) for page, told in self.beside}
        return [
            each | (beside.get(each["page"], {}) if each["variant"] == "core" else {})
            for each in super().conditions()
        ]

    def records(self) -> list[dict[str, Any]]:
        return [each | {"archive_digest": self._digest(each["condition"])} for each in super().records()]

    def _digest(self, condition: dict[str, Any]) -> str:
        page, variant = condition["page"], condition["variant"]
        return f"{page} {'plain' if page in self.originals else variant}"

    def write(self, directory: Path) -> Path:
        super().write(directory)
        archives = {f"{page}--core": {"unchanged": [WHY]} for page in self.originals}
        (directory / "environment.json").write_text(json.dumps({**ENVIRONMENT, "archives": archives}))
        return directory


def results(folder: Path, made: Synthetic) -> Results:
    return evaluate([load(made.write(folder / "run"))])


def test_a_report_names_what_variants_are_and_compares_them_with_plain_all_the_same(tmp_path: Path) -> None:
    found = results(tmp_path, Changed())
    told = dict(facts.facts(found))["Variants"]
    assert told.split("; ", 1) == ["p: core without inline_css", f"r: core is its original ({WHY})"]
    texts = {each.head: each.text for each in methodtexts.method_texts(found)}
    assert "p: core without inline_css." in texts["Conditions."]
    # It is no dimension of its own: the page stands in the same panels, tables and claims as the others.
    assert len(found.cells) == 3 * 2 * 2
    assert not {"without", "filter_settings"} & set(found.panel_columns)
    table = median_times(found)
    assert table is not None
    assert "without" not in table.head
    row = next(each for each in found.claims if each.claim.name == "core against plain")
    assert row.pages == ("p", "q", "r")
    effects = {each["page"]: each for each in found.effects.to_dict("records")}
    assert set(effects) == {"p", "q", "r"}


@pytest.mark.thorough
def test_a_variant_that_is_its_original_is_called_so_in_tables_and_claims(tmp_path: Path) -> None:
    some, alone = results(tmp_path / "some", Changed()), results(tmp_path / "all", Changed(pages=("r",)))
    effects = {each.name: each for each in tables_of(some)}["effects"]
    verdicts = {row[0].text: row[-1].text for row in effects.rows}
    assert tells([verdicts["r"]], "same archive", "twice", "noise")
    assert "twice" not in verdicts["p"]
    (said,) = (
        each.text for each in claims(some) if each.text.startswith("core against plain, 3 pages, HTTP/1.1")
    )
    assert "faster" in said
    assert tells(said.split("; "), "same archive", "twice", "noise: r")
    (said,) = (each.text for each in claims(alone) if each.text.startswith("core against plain, HTTP/1.1"))
    assert tells([said], "core against plain, HTTP/1.1", "same archive", "twice", "noise (ratio")
    waited = {each.name: each for each in tables_of(some)}["waits-changed"]
    place = waited.head.index("Against")
    against = {row[0].text: row[place].text for row in waited.rows if row[place].text.startswith("plain")}
    assert against == {"p": "plain", "q": "plain", "r": "plain (the same archive)"}
    of_protocols = [each.text for each in claims(some) if "HTTP/2 (TLS) against" in each.text]
    assert of_protocols
    assert not any(
        "twice" in text for text in of_protocols
    )  # one archive by two protocols is no variant of itself


@pytest.mark.thorough
def test_runs_whose_variants_differ_are_not_alike(tmp_path: Path) -> None:
    large = Changed(
        pages=("q",), originals=(), beside=(("q", (("filter_settings", "inline_css.max_bytes=4096"),)),)
    )
    usual = replace(large, beside=(), seed=1)
    runs = [load(made.write(tmp_path / name)) for name, made in {"large": large, "usual": usual}.items()]
    assert forms(runs) == ["core with inline_css.max_bytes=4096"]
    assert environment_differences(runs)["variant q core"] == ["inline_css.max_bytes=4096", "as named"]
    assert "variant q plain" not in environment_differences(runs)
    both = evaluate(runs)
    assert len(both.cells) == 2 + 2 * 2  # plain of both, and two cores that are no trials of one condition
    assert tells(facts.notes(both), "variant q core", "inline_css.max_bytes=4096 or as named")
    pair = compare_runs(load_pair((tmp_path / "large", tmp_path / "usual")))
    assert len(pair.matched.pairs) == 4


@pytest.mark.parametrize("wrong", [5, ["inline_css"], {"a": 1}])
def test_what_is_no_text_is_refused(wrong: Any, tmp_path: Path) -> None:
    made = Changed(beside=(("p", (("without", wrong),)),))
    with pytest.raises(RecordsError, match="condition"):
        load(made.write(tmp_path))


BROWSERS = Synthetic(
    pages=("p",),
    protocols=("http1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(50.0,),
    trials=3,
    engines=("chromium", "firefox"),
)
OF_PROTOCOLS = Claim(name="h2", subject={"protocol": "h2"}, reference={"protocol": "http1"})
OF_BROWSERS = Claim(name="b", subject={"engine": "firefox"}, reference={"engine": "chromium"})


@pytest.mark.parametrize(
    ("claims_made", "said"),
    [
        (None, ("not the protocol's", "comparisons", "within an engine")),
        ((OF_PROTOCOLS,), ("not the protocol's", "comparisons", "within an engine")),
        (
            (OF_PROTOCOLS, OF_BROWSERS),
            ("study asks for one", "compares browsers", "firefox against chromium: plt_ms"),
        ),
    ],
)
def test_browsers_are_set_against_each_other_only_where_the_study_asks(
    claims_made: tuple[Claim, ...] | None, said: tuple[str, ...], tmp_path: Path
) -> None:
    results = evaluate([load(replace(BROWSERS, claims=claims_made).write(tmp_path / "run"))])
    (note,) = (each for each in facts.notes(results) if "2 engines" in each)
    assert tells(note, *said)
    across = {row.claim.name for row in results.claims if len(engines_of(results, row)) > 1}
    assert across == ({"b"} if claims_made and OF_BROWSERS in claims_made else set())


def engines_of(results: Results, row: ClaimRow) -> set[str]:
    """Of the cells that a claim sets against each other."""
    known = results.cells.set_index("cell")["engine"]
    return {str(known[cell]) for pair in row.pairs for cell in pair if cell is not None}
