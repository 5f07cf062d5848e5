"""Published claims: what is read of their files, how they follow the figures of a study, and one line for mistakes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.plan import comparisons_of
from harness.cli.studychoice import chosen
from harness.errors import StudyError
from harness.model.kind import Kind, Requests
from harness.study.claim import Claim, Publication
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.publicationfile import shipped_claims
from harness.study.studyfile import parse_study, read_study, shipped_studies
from tests.facts import tells
from tests.unit.harness.study.kindstudies import USERS

STUDY = """
name = "mine"
pages = ["one", "two"]
protocols = ["http1", "h2"]
trials = 2
published = {published}
[[links]]
down_mbps = 10
rtt_ms = [20, 50]
[[figures]]
name = "1"
title = "Figure 1"
x = "rtt_ms"
series = ["protocol"]
where = {{page = "one"}}
"""
HEAD = 'title = "A paper"\nsource = "Somebody, 2012"\n'
CLAIM = """
[[claims]]
name = "half"
text = "Half the time"
stands = "figure 1"
figure = "1"
subject = {protocol = "h2"}
reference = {protocol = "http1"}
where = {rtt_ms = [20, 50]}
published = [0.45, 0.55]
"""


def publication(folder: Path, claims: str, published: str = '"its.toml"', study: str = STUDY) -> Publication:
    (folder / "its.toml").write_text(HEAD + claims)
    found = parse_study(study.format(published=published), "mine.toml", folder).published
    assert found is not None
    return found


def refused(folder: Path, claims: str, published: str = '"its.toml"') -> str:
    with pytest.raises(StudyError) as caught:
        publication(folder, claims, published)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix("mine.toml: ")


def test_a_claim_keeps_to_the_conditions_of_its_figure(tmp_path: Path) -> None:
    made = publication(tmp_path, CLAIM)
    (claim,) = made.claims
    said = claim.published
    assert (made.title, made.source) == ("A paper", "Somebody, 2012")
    assert (said.low, said.high, said.figure, said.not_comparable) == (0.45, 0.55, "1", "")
    assert claim.compares
    assert claim.where == {"page": ("one",), "rtt_ms": (20.0, 50.0)}
    assert not claim.expects


@pytest.mark.parametrize(
    ("published", "bounds", "expects"),
    [
        ("0.5", (0.5, 0.5), {}),
        ('"below 0.9"', (None, 0.9), {"ratio_below": 0.9}),
        ('"above 1.5"', (1.5, None), {"ratio_within": (1.5, 1000)}),
    ],
)
def test_a_value_is_a_number_or_a_bound(
    tmp_path: Path, published: str, bounds: tuple[float | None, float | None], expects: dict[str, object]
) -> None:
    (claim,) = publication(tmp_path, CLAIM.replace("[0.45, 0.55]", published)).claims
    assert (claim.published.low, claim.published.high) == bounds
    assert claim.compares
    assert {key: getattr(claim, key) for key in ("ratio_below", "ratio_within")} == {
        "ratio_below": None,
        "ratio_within": None,
    } | expects


OF_ITS_OWN = '{title = "A paper", source = "Somebody, 2012"}'


def test_a_study_all_of_whose_claims_are_published_has_no_usual_ones() -> None:
    published = STUDY.format(published=OF_ITS_OWN) + CLAIM
    study = parse_study(published, "mine.toml")
    assert [claim.name for claim in study.every_claim] == ["half"]
    assert study.all_claims == make_plan(study, 1).claims == ()
    assert [claim.name for claim in make_plan(study, 1).every_claim] == ["half"]
    assert comparisons_of(study) == 2  # link for link
    beside = '[[claims]]\nname = "mine"\nsubject = {protocol = "h2"}\nreference = {protocol = "http1"}\n'
    assert [claim.name for claim in parse_study(published + beside, "x").all_claims] == ["mine"]
    nothing = CLAIM.partition("subject")[0] + 'not_comparable = "another page"\n'
    assert (
        len(parse_study(STUDY.format(published=OF_ITS_OWN) + nothing, "x").all_claims) == 1
    )  # h2 against http1


def test_a_value_without_a_reference_is_of_the_metric_itself(tmp_path: Path) -> None:
    text = CLAIM.replace('reference = {protocol = "http1"}\n', 'metric = "bytes_down"\ntolerance = "5 %"\n')
    (claim,) = publication(tmp_path, text.replace("[0.45, 0.55]", "1_222_000")).claims
    assert claim.compares
    assert (claim.at_most, claim.metric) == (1_222_000, "bytes_down")
    assert claim.published.bounds == pytest.approx((1_160_900, 1_283_100))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('figure = "1"', 'figure = "7"', "no figure '7'; it makes: 1"),
        ('"h2"', '"h4"', "claim 'half': subject: the study has no protocol 'h4'"),
        ("[20, 50]", "[20, 70]", "where: the study has no rtt_ms 70; it has: 20, 50"),
        ("rtt_ms =", "rtt =", "unknown key 'rtt' in [where]"),
        ("published = [0.45, 0.55]", "", "published is missing"),
        ("[0.45, 0.55]", "[0.55, 0.45]", "published is 0.55 to 0.45; the first must not be above"),
        ("[0.45, 0.55]", "[1]", "published must be two numbers"),
        ("[0.45, 0.55]", '"about 1"', "published is 'about 1'; a bound is written as in"),
        ("[0.45, 0.55]", '"below 1"\ntolerance = "5 %"', "tolerance goes with a published value or range"),
        ("[0.45, 0.55]", "1\ntolerance = 5", "tolerance must be a text such as"),
        ("[0.45, 0.55]", "1\nmetric = 'tls'", "metric: tls is no number"),
        ("[0.45, 0.55]", "1\nat_users = 5", "at_users goes with studies of users"),
        ("text =", "txt =", "unknown key 'txt' in [claims] (did you mean text?)"),
        ('text = "Half the time"', 'text = "Half\\nthe time"', "text must be a text of one line"),
        ('stands = "figure 1"\n', "", "stands must be a text"),
    ],
)
def test_a_claim_that_cannot_be_is_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in CLAIM
    found = refused(tmp_path, CLAIM.replace(old, new))
    assert found.startswith("published its.toml: claim 'half': ")
    assert says in found


def test_files_that_cannot_be_are_one_line(tmp_path: Path) -> None:
    twice = refused(tmp_path, CLAIM + CLAIM.replace('text = "', 'text = "Not '))
    assert tells([twice], "two claims", "name 'half'")
    assert "it has neither conditions" in refused(tmp_path, CLAIM[: CLAIM.index("subject")])
    assert "claims must be a list" in refused(tmp_path, "")
    assert "it is not TOML" in refused(tmp_path, "[[")
    assert "unknown key 'author'" in refused(tmp_path, f'author = "x"\n{CLAIM}')
    assert refused(tmp_path, CLAIM, '"none.toml"').startswith("published: no file ")
    named = refused(tmp_path, CLAIM, '"users-2031"')
    assert "'users-2031' (did you mean users-2013?)" in named
    assert "published must name claims" in refused(tmp_path, CLAIM, "3")
    assert "published must name claims" in refused(tmp_path, CLAIM, "{short = true}")
    assert "unknown key 'shorter'" in refused(tmp_path, CLAIM, '{claims = "its.toml", shorter = true}')


def test_of_a_short_form_what_it_lacks_is_not_comparable(tmp_path: Path) -> None:
    text = (
        CLAIM.replace("[20, 50]", "[20, 70]")
        + CLAIM.replace("half", "seventy").replace("[20, 50]", "70")
        + CLAIM.replace("half", "seven").replace('figure = "1"', 'figure = "7"')
        + CLAIM.replace("half", "spdy").replace('"h2"', '"spdy"')
    )
    narrowed, seventy, seven, spdy = publication(tmp_path, text, '{claims = "its.toml", short = true}').claims
    assert narrowed.compares
    assert narrowed.where["rtt_ms"] == (20.0,)
    assert not any(each.compares for each in (seventy, seven, spdy))
    assert tells([seventy.published.not_comparable], "this form", "no rtt_ms 70")
    assert tells([seven.published.not_comparable], "this form", "no figure 7")
    assert tells([spdy.published.not_comparable], "this form", "no protocol spdy")


def test_ratios_only_tells_values_without_a_verdict(tmp_path: Path) -> None:
    text = CLAIM + CLAIM.replace("half", "ms").replace('reference = {protocol = "http1"}\n', "")
    ratio, value = publication(tmp_path, text, '{claims = "its.toml", ratios_only = true}').claims
    assert (ratio.published.not_comparable, value.compares) == ("", True)
    assert "compares ratios alone" in value.published.not_comparable


def test_a_plan_carries_what_was_published(tmp_path: Path) -> None:
    (tmp_path / "its.toml").write_text(HEAD + CLAIM)
    plan = make_plan(parse_study(STUDY.format(published='"its.toml"'), "mine.toml", tmp_path), 1)
    assert plan.published is not None
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl") == plan


PAPER = '{title = "A paper", source = "Somebody, 2012", differs = ["CPU: another"]}'
OWN = """
[[claims]]
name = "own"
subject = {protocol = "h2"}
reference = {protocol = "http1"}
ratio_below = 1
"""


def test_a_studys_own_claims_may_carry_what_was_published(tmp_path: Path) -> None:
    """They are read as those of a file are, and are no part of what the study itself expects."""
    (tmp_path / "its.toml").write_text(HEAD + CLAIM)
    of_file = parse_study(STUDY.format(published='"its.toml"'), "mine.toml", tmp_path).published
    study = parse_study(STUDY.format(published=PAPER) + OWN + CLAIM, "mine.toml", tmp_path)
    assert study.published is not None
    assert of_file is not None
    assert study.published == replace(of_file, differs=("CPU: another",))
    assert [each.name for each in study.claims] == ["own"]
    plan = make_plan(study, 1)
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl") == plan


@pytest.mark.parametrize(
    ("published", "claims", "says"),
    [
        (PAPER, CLAIM.replace("published =", "ratio_below = 1\npublished ="), "go with no published value"),
        (PAPER.replace("title", "short = true, title"), CLAIM, "unknown key 'short'"),
        (PAPER.replace("source", "name"), CLAIM, "unknown key 'name' in [published]"),
        (PAPER, OWN, "published names no claims, and none of the study's"),
        ('"its.toml"', CLAIM, "published names claims of its own"),
        ("", CLAIM, "claim 'half' has a published value; say what is repeated"),
    ],
)
def test_own_claims_that_cannot_be_are_one_line(
    tmp_path: Path, published: str, claims: str, says: str
) -> None:
    (tmp_path / "its.toml").write_text(HEAD + CLAIM)
    study = STUDY if published else STUDY.replace("published = {published}\n", "")
    with pytest.raises(StudyError) as caught:
        parse_study(study.format(published=published) + claims, "mine.toml", tmp_path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_command_line_keeps_to_the_claims_of_what_is_left(tmp_path: Path) -> None:
    whole = CLAIM + CLAIM.replace("half", "all").replace('figure = "1"\n', "")
    study = STUDY.replace("[[figures]]", "[[figures]]", 1)
    (tmp_path / "its.toml").write_text(HEAD + whole)
    (tmp_path / "mine.toml").write_text(study.format(published='"its.toml"'))
    arguments = argparse.Namespace(
        study=str(tmp_path / "mine.toml"), trials=None, until=None, only=["page=two"], without=[]
    )
    _, left = chosen(arguments)
    assert left.published is not None
    assert [each.name for each in left.published.claims] == ["all"]


def test_a_number_of_users_goes_with_crowds(tmp_path: Path) -> None:
    text = CLAIM[: CLAIM.index("figure =")] + (
        'subject = {protocol = "h2"}\nmetric = "page_ms"\nat_users = 100\npublished = 1100\n'
    )
    study = "published = {published}\n" + USERS.replace("{", "{{").replace("}", "}}")
    (claim,) = publication(tmp_path, text, study=study).claims
    assert claim.published.at_users == 100


OF_USERS = """
[[claims]]
name = "{name}"
text = "Some"
stands = "results"
subject = {{protocol = "h2"}}
metric = "{metric}"
published = {published}
"""


def of_users(tmp_path: Path, text: str, published: str) -> Publication:
    study = "published = {published}\n" + USERS.replace("{", "{{").replace("}", "}}")
    return publication(tmp_path, text, published, study=study)


def test_of_a_smaller_server_users_and_rates_are_its_share(tmp_path: Path) -> None:
    text = (
        OF_USERS.format(name="rate", metric="pages_per_s", published=16.3)
        + OF_USERS.format(name="users", metric="users_over_bound", published="[130, 140]")
        + OF_USERS.format(name="time", metric="page_ms", published=1100)
        + OF_USERS.format(name="then", metric="page_ms", published=1100)
        + 'at_users = 100\ndiffers = "TLS"\n'
        + OF_USERS.format(name="ratio", metric="pages_per_s", published=6)
        + 'reference = {protocol = "http1"}\n'
        + '[[claims]]\nname = "memory"\ntext = "Some"\nstands = "results"\nnot_comparable = "not measured"\n'
    )
    made = of_users(tmp_path, text, '{claims = "its.toml", scale = 0.25}')
    assert made.differs[0].startswith("Size: 0.25 of ")
    rate, users, time, then, ratio, memory = made.claims
    assert (memory.published.low, memory.published.differs) == (None, "")
    assert (rate.published.low, rate.published.high, rate.published.differs) == (
        4.075,
        4.075,
        "0.25 of the published 16.3",
    )
    assert rate.compares
    assert rate.at_most == 4.075
    assert (users.published.low, users.published.high, users.published.differs) == (
        32.5,
        35,
        "0.25 of the published 130 to 140",
    )
    assert (time.published.low, time.published.differs) == (1100, "")
    assert (then.published.at_users, then.published.low) == (25, 1100)
    scaled, own = then.published.differs.split("; ")
    assert tells([scaled], "25 users", "in place of 100")
    assert own == "TLS"
    assert (ratio.published.low, ratio.published.differs) == (6, "")
    whole = of_users(tmp_path, text, '{claims = "its.toml", scale = 1}')
    assert whole == of_users(tmp_path, text, '"its.toml"')
    assert (whole.claims[0].published.low, whole.claims[3].published.at_users, whole.differs) == (
        16.3,
        100,
        (),
    )


def test_growth_and_share_of_a_crowd_are_told_at_a_scaled_number_of_users(tmp_path: Path) -> None:
    rate = OF_USERS.format(name="rate", metric="pages_per_s", published='"below 1"')
    memory = OF_USERS.format(name="memory", metric="server_memory_bytes", published=0.41)
    text = (
        f"{rate}at_users = 400\nagainst_users = 120\n"
        f'{memory}reference = {{protocol = "http1"}}\nat_users = 88\nsince_users = 38\n'
    )
    share, growth = of_users(tmp_path, text, '{claims = "its.toml", scale = 0.25}').claims
    assert (share.published.at_users, share.published.against_users, share.published.high) == (100, 30, 1)
    assert tells([share.published.differs], "100 users in place of 400", "30 users in place of 120")
    assert (growth.published.at_users, growth.published.since_users, growth.published.low) == (22, 10, 0.41)
    assert Claim.from_json(growth.to_json(), Kind.USERS) == growth


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("since_users = 5", "go with at_users"),
        ("at_users = 9\nsince_users = 5\nagainst_users = 4", "exclude each other"),
        ("at_users = 9\nsince_users = 0", "since_users"),
    ],
)
def test_two_numbers_of_users_that_cannot_be_are_one_line(tmp_path: Path, said: str, told: str) -> None:
    text = OF_USERS.format(name="then", metric="page_ms", published=1) + said + "\n"
    with pytest.raises(StudyError, match=told):
        of_users(tmp_path, text, '"its.toml"')


def test_a_form_tells_what_differs_in_it_before_what_differs_in_all(tmp_path: Path) -> None:
    text = 'differs = ["CPU: another"]\n' + OF_USERS.format(name="rate", metric="pages_per_s", published=16.3)
    made = of_users(tmp_path, text, '{claims = "its.toml", scale = 0.25, differs = ["Ramp: shorter"]}')
    assert [each.split(":")[0] for each in made.differs] == ["Size", "Ramp", "CPU"]


def test_more_users_than_come_are_not_comparable(tmp_path: Path) -> None:
    many = OF_USERS.format(name="many", metric="first_error_users", published=100_000)
    then = OF_USERS.format(name="then", metric="page_ms", published=1) + "at_users = 100000\n"
    rate = OF_USERS.format(name="rate", metric="pages_per_s", published=100_000)
    ratio = many.replace("many", "ratio") + 'reference = {protocol = "http1"}\n'
    claims = of_users(tmp_path, many + then + rate + ratio, '"its.toml"').claims
    assert [each.name for each in claims if "users come here" in each.published.not_comparable] == [
        "many",
        "then",
    ]


@pytest.mark.parametrize("scale", ["0", "1.5", '"half"'])
def test_a_size_that_cannot_be_is_one_line(tmp_path: Path, scale: str) -> None:
    with pytest.raises(StudyError, match="scale"):
        of_users(
            tmp_path,
            OF_USERS.format(name="a", metric="page_ms", published=1),
            f'{{claims = "its.toml", scale = {scale}}}',
        )


def test_a_size_goes_with_crowds(tmp_path: Path) -> None:
    assert tells(
        [refused(tmp_path, CLAIM, '{claims = "its.toml", scale = 0.5}')], "scale", "studies of users"
    )


@pytest.mark.parametrize("name", shipped_claims())
def test_the_claims_that_ship_are_those_of_a_study_that_ships(name: str) -> None:
    made = read_study(shipped_studies()[name]).published
    assert made is not None
    assert len(made.claims) >= 3


WORKERS = 14  # of the article of requests-2012; the studies have one


@pytest.mark.parametrize("name", ["requests-2012", "requests-2012-scaled"])
def test_connections_of_an_article_with_fourteen_workers_count_for_each(name: str) -> None:
    study = read_study(shipped_studies()[name])
    assert study.published is not None
    judged = [each for each in study.published.claims if each.compares and not each.published.not_comparable]
    assert judged
    for claim in judged:
        there = [connections * WORKERS for connections in claim.where["connections"]]
        if "below 400" in claim.name:
            assert max(there) < 400
        elif "from 400" in claim.name:
            assert min(there) >= 400
            assert max(there) <= 1_110  # the article measured no more
        else:
            has = {
                each.workload.connections * WORKERS
                for each in study.conditions
                if isinstance(each.workload, Requests)
            }
            assert there == [min(has, key=lambda each: abs(each - 1_100))]


@pytest.mark.parametrize("name", ["figure-5-2012", "requests-2012-scaled"])
def test_a_study_made_for_what_an_original_found_judges_all_of_it(name: str) -> None:
    found = read_study(shipped_studies()[name]).published
    assert found is not None
    assert [each.name for each in found.claims if each.published.not_comparable] == []
