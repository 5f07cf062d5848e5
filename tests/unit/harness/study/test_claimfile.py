"""The claims of a study file: what is read, and one line for each that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.studychoice import add_study, chosen
from harness.errors import StudyError
from harness.model.condition import dimensions_of
from harness.study.claim import Claim
from harness.study.claimfile import claims_in, narrowed
from harness.study.studyfile import parse_study, shipped_studies
from tests.facts import tells

ROOT = Path(__file__).parents[4]
STUDY = """
name = "mine"
pages = ["one", "two"]
variants = ["plain", "inline_css,combine_css"]
compression = ["none", "gzip-6"]
engines = ["chromium", "qtwebkit"]
protocols = ["http1", "h2", "spdy"]
drivers = ["playwright", "selenium"]
trials = 2
[[links]]
down_mbps = 10
rtt_ms = [20, 50]
"""
H2 = 'subject = {protocol = "h2"}\nreference = {protocol = "http1"}\n'


def claims(text: str) -> tuple[Claim, ...]:
    return parse_study(f"{STUDY}\n[[claims]]\n{text}", "mine.toml").claims


def refused(text: str) -> str:
    with pytest.raises(StudyError) as caught:
        claims(text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("mine.toml: claim 1: ")
    return message.removeprefix("mine.toml: claim 1: ")


def test_a_claim_is_read_with_all_that_it_says() -> None:
    (claim,) = claims(
        'name = "h2 wins"\nsubject = {protocol = "h2", variant = "inline_css, combine_css"}\n'
        'reference = {protocol = "http1", variant = "plain"}\n'
        'where = {page = "one", rtt_ms = [20, 50], compression = "gzip"}\n'
        'metric = "ttfb_ms"\nratio_below = 0.95\nratio_within = [0.5, 0.97]\n'
    )
    assert claim == Claim(
        name="h2 wins",
        subject={"protocol": "h2", "variant": "inline_css,combine_css"},
        reference={"protocol": "http1", "variant": "plain"},
        where={"page": ("one",), "rtt_ms": (20.0, 50.0), "compression": ("gzip-6",)},
        metric="ttfb_ms",
        ratio_below=0.95,
        ratio_within=(0.5, 0.97),
    )


def test_what_is_left_out_has_its_default() -> None:
    (claim,) = claims(H2)
    assert claim == Claim(name=claim.title, subject={"protocol": "h2"}, reference={"protocol": "http1"})
    assert claim.name == "h2 against http1: plt_ms"
    assert parse_study(STUDY, "mine.toml").claims == ()


def test_a_margin_is_the_same_in_both_directions() -> None:
    (claim,) = claims(f'{H2}ratio_within = "3 %"')
    assert claim.ratio_within == pytest.approx((1 / 1.03, 1.03))


def test_a_budget_needs_no_reference_and_no_subject() -> None:
    (budget,) = claims("at_most = 2500")
    assert (budget.at_most, budget.subject) == (2500, {})
    assert budget.name == "every condition: plt_ms"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('subjekt = {protocol = "h2"}', "unknown key 'subjekt' in [claims] (did you mean subject?)"),
        (
            H2.replace("protocol =", "protokol =", 1),
            "'protokol' in [subject] (did you mean protocol?)",
        ),
        ('reference = {protocol = "http1"}', "subject is missing"),
        ('subject = {protocol = "http1"}', "reference is missing"),
        ("subject = {}\n" + H2.splitlines()[1], "subject must be a table"),
        (
            H2.replace("h2", "h3"),
            "protocol 'h3' (did you mean h2?); it has: http1, h2, spdy",
        ),
        (H2 + "where = {rtt_ms = 30}", "where: the study has no rtt_ms 30; it has: 20, 50"),
        (H2 + "where = {rtt_ms = true}", "where: rtt_ms is True; it must be one value of the study"),
        (H2 + 'where = {page = ["one", "three"]}', "where: the study has no page 'three'"),
        (H2 + "where = {page = []}", "page must be a list with at least one entry"),
        (H2.replace("http1", "h2"), "both sides are h2"),
        (
            'subject = {compression = "gzip"}\nreference = {compression = "gzip-6"}',
            "both sides are gzip-6",
        ),
        (
            'subject = {protocol = "h2"}\nreference = {variant = "plain"}',
            "subject names protocol, reference variant",
        ),
        (
            H2.replace("http1", "spdy"),
            "no engine in common",
        ),
        (
            'subject = {engine = "qtwebkit"}\nreference = {engine = "chromium"}',
            "no driver in common",
        ),
        (
            'subject = {engine = "qtwebkit", protocol = "h2"}\nreference = {engine = "chromium", protocol = "h2"}',
            "subject: no condition of the study has all of this",
        ),
        (
            H2 + 'where = {protocol = "spdy", engine = "chromium"}',
            "where: no condition of the study has all of this",
        ),
        (
            H2 + 'where = {engine = "qtwebkit"}',
            "subject: no condition",
        ),
        (H2 + 'metric = "plt"', "metric: unknown 'plt' (did you mean plt_ms?)"),
        (H2 + 'metric = "tls"', "metric: tls is no number"),
        (H2 + 'metric = "spdy_streams"', "metric: chromium does not tell spdy_streams"),
        (
            'metric = "lcp_ms"\nat_most = 2500',
            "qtwebkit does not tell lcp_ms",
        ),
        (H2 + "at_most = 2500", "at_most is a budget of the subject alone"),
        ("at_most = 0", "at_most is 0; it must be 0.000001 to"),
        ("at_most = -1", "at_most is -1"),
        ("at_most = nan", "at_most is nan"),
        ('at_most = "2500 ms"', "at_most must be a number"),
        ("at_most = 2500\nratio_below = 1", "at_most goes with no ratio"),
        (H2 + "ratio_below = 0", "ratio_below is 0; it must be 0.001 to 1000"),
        (
            H2 + "ratio_below = 0.9\nratio_within = [0.97, 1.03]",
            "ratio_below 0.9 and ratio_within 0.97 to 1.03",
        ),
        (
            H2 + "ratio_within = [1.03, 0.97]",
            "ratio_within is 1.03 to 0.97",
        ),
        (H2 + "ratio_within = [1, 1]", "ratio_within is 1 to 1"),
        (H2 + "ratio_within = [1]", "ratio_within must be two numbers"),
        (H2 + 'ratio_within = "3"', "ratio_within is '3'; it must be a margin as in \"3 %\""),
        (H2 + 'ratio_within = "0 %"', "ratio_within is '0 %'"),
    ],
)
def test_each_mistake_is_one_line(text: str, says: str) -> None:
    assert says in refused(text)


def test_a_claim_is_named_by_its_name() -> None:
    with pytest.raises(StudyError, match=r"mine\.toml: claim 'fast': ratio_below"):
        claims(f'name = "fast"\n{H2}ratio_below = 0')
    with pytest.raises(StudyError, match=r"claim 1: name .*text.* 7"):
        claims(f"name = 7\n{H2}")
    with pytest.raises(StudyError, match=r"two claims .*'x'"):
        claims(f'name = "x"\n{H2}[[claims]]\nname = "x"\nat_most = 1')
    with pytest.raises(StudyError, match="claims must be a list"):
        parse_study(f"claims = 7\n{STUDY}", "mine.toml")
    with pytest.raises(StudyError, match=r"claims .*\b101\b.* 100\b"):
        claims("\n[[claims]]\n".join(f"at_most = {number + 1}" for number in range(101)))


def test_of_a_narrowed_study_the_claims_about_what_is_left_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import argparse

    study = tmp_path / "mine.toml"
    study.write_text(
        f'{STUDY}[[claims]]\nname = "protocols"\n{H2}where = {{page = ["one", "two"]}}\n'
        '[[claims]]\nname = "coding"\nsubject = {compression = "gzip-6"}\nreference = {compression = "none"}\n'
    )
    parser = argparse.ArgumentParser()
    add_study(parser)
    arguments = parser.parse_args([str(study), "--only", "page=two", "--only", "compression=none"])
    _, narrow = chosen(arguments)
    assert [(claim.name, dict(claim.where)) for claim in narrow.claims] == [("protocols", {"page": ("two",)})]
    (said,) = capsys.readouterr().out.splitlines()
    assert tells([said], "left out", ": coding")


def test_the_examples_of_the_documents_are_read() -> None:
    demo = shipped_studies()["demo"].read_text()
    text, mark, example = demo.partition("# [[claims]]")
    lines = [line.removeprefix("#").strip() for line in f"{mark}{example}".splitlines()]
    assert [claim.name for claim in parse_study(text + "\n".join(lines), "demo").claims] == [
        "keep-alive saves round trips",
        "the largest paint comes in time",
    ]
    protocols = shipped_studies()["protocols"].read_text().partition("[[claims]]")[0]
    blocks = (ROOT / "README.md").read_text().split("```")
    (block,) = (each for each in blocks if "[[claims]]" in each and "subject" in each)
    assert len(parse_study(protocols + block, "README.md").claims) == 1


def test_a_claim_about_nothing_that_is_left_is_none() -> None:
    study = parse_study(STUDY, "mine.toml")
    conditions = [dimensions_of(each) for each in study.conditions]
    (claim,) = claims_in({"claims": [{"at_most": 1, "where": {"page": "one"}}]}, conditions)
    assert narrowed(claim, conditions) == claim
    assert narrowed(claim, [each for each in conditions if each["page"] == "two"]) is None
