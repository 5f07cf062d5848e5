"""A factor is the study with something changed; what cannot be is told in one line."""

from __future__ import annotations

import pytest

from harness.cli import studychoice
from harness.errors import StudyError
from harness.model.condition import USUAL_FACTOR, Condition, dimensions_of
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from harness.model.serversettings import ApacheSettings
from harness.model.settings import CertificateChain, CertificateKey
from harness.study.plan import Plan
from harness.study.planning import make_plan, settings_of
from harness.study.study import Study
from harness.study.studyfile import parse_study

GOOD = """
name = "mine"
pages = ["one"]
engines = ["chromium", "qtwebkit"]
protocols = ["http1", "spdy", "h2"]
server = {chromium = "nginx"}
tcp = {congestion_control = "reno"}
trials = 2
[[links]]
down_mbps = 10
rtt_ms = [20, 100]
[[factors]]
name = "initial window 3"
tcp = {initial_window = 3}
[[factors]]
name = "sessions resumed"
tls_resumption = true
engine = "chromium"
protocols = ["http1", "h2"]
[[factors]]
name = "1 % loss"
link = {loss_down_percent = 1, name = "lossy"}
[[factors]]
name = "long chain"
certificate_chain = 4
certificate_key = "rsa-2048"
[[claims]]
name = "SPDY against HTTP"
subject = {protocol = "spdy"}
reference = {protocol = "http1"}
[[claims]]
name = "the window matters"
subject = {factor = "initial window 3"}
reference = {factor = "usual"}
where = {protocol = "spdy"}
"""


def study(text: str = GOOD) -> Study:
    return parse_study(text, "mine.toml")


def part(name: str) -> Study:
    (chosen,) = (member for member in study().parts if member.factor == name)
    return chosen


def test_each_factor_changes_what_its_table_says_and_nothing_else() -> None:
    usual = part(USUAL_FACTOR)
    window = part("initial window 3")
    assert (window.tcp.initial_window, window.tcp.congestion_control) == (3, "reno")
    assert window.replays == usual.replays
    chain = part("long chain")
    assert chain.replays[Engine.QTWEBKIT].chain == CertificateChain(4, CertificateKey.RSA_2048)
    assert chain.tcp == usual.tcp
    lossy = part("1 % loss")
    assert [link.name for link in lossy.links] == ["lossy-20ms", "lossy-100ms"]
    assert [link.rtt_ms for link in lossy.links] == [link.rtt_ms for link in usual.links]


def test_a_factor_may_be_about_some_engines_and_protocols() -> None:
    resumed = part("sessions resumed")
    assert {(condition.engine, condition.protocol) for condition in resumed.own_conditions} == {
        (Engine.CHROMIUM, Protocol.HTTP1),
        (Engine.CHROMIUM, Protocol.H2),
    }
    assert all(replay.tls_resumption for replay in resumed.replays.values())


def test_conditions_are_those_of_all_parts_told_apart_by_the_factor() -> None:
    made = study()
    assert len(made.conditions) == len(set(made.conditions)) == 8 + 8 + 4 + 8 + 8
    assert {condition.factor for condition in made.conditions} == {
        condition.factor for condition in made.parts
    }
    assert len({condition.served for condition in made.conditions}) == len(made.conditions) / 2  # two links


def test_a_plan_with_factors_is_read_as_it_was_written() -> None:
    plan = make_plan(study(), 7)
    text = plan.to_lines()
    assert Plan.from_lines(text, "plan").to_lines() == text
    plain = [condition.to_json() for condition in study(GOOD.partition("[[factors]]")[0]).conditions]
    assert all("factor" not in condition for condition in plain)
    assert all(Condition.from_json(condition).factor == "" for condition in plain)


def test_a_factor_is_a_setting_of_its_own_and_chance_is_measured_without_any() -> None:
    settings = settings_of(study().conditions, twice=True)
    for setting in settings:
        cells = [cell for group in setting for cell in group]
        assert len({cell.factor for cell in cells}) == 1
        assert any(cell.again for cell in cells) == (cells[0].factor == USUAL_FACTOR)


def test_claims_are_judged_with_each_factor_and_may_be_about_one() -> None:
    first, second = study().claims
    assert (first.name, second.subject) == ("SPDY against HTTP", {"factor": "initial window 3"})
    assert {dimensions["factor"] for dimensions in map(dimensions_of, study().conditions)} >= {
        "usual",
        "1 % loss",
    }


def test_a_choice_holds_for_every_factor_that_has_it() -> None:
    h2 = studychoice._only(study(), "protocol=h2")
    assert {condition.protocol for condition in h2.conditions} == {Protocol.H2}
    assert {each.factor for each in h2.factors} == {each.factor for each in study().factors}
    spdy = studychoice._only(study(), "protocol=spdy")
    assert "sessions resumed" not in {condition.factor for condition in spdy.conditions}
    chain = studychoice._only(study(), "factor=long chain")
    assert {condition.factor for condition in chain.conditions} == {"long chain"}
    usual = studychoice._only(study(), "factor=usual")
    assert usual.conditions == study().own_conditions
    with pytest.raises(StudyError, match="no such factor; it has: usual, initial window 3"):
        studychoice._only(study(), "factor=tls")


MIXED = """
name = "mixed"
pages = ["one"]
protocols = ["http1", "h2"]
links = ["dsl"]
trials = 2
[[factors]]
name = "TLS 1.2"
tls = "1.2"
protocols = ["h2"]
[[factors]]
name = "HTTP/3"
protocols = ["h2", "h3"]
"""


def test_all_that_is_compared_gets_bodies_that_plain_http_can_carry_whatever_is_chosen() -> None:
    made = study(MIXED)
    alone = studychoice._only(made, "protocol=h2")
    factor = studychoice._only(made, "factor=TLS 1.2")
    for part in (*made.parts, *alone.parts, *factor.factors):
        assert [replay.over_http for setup in part.setups for replay in setup.replays] == [True]
    secure = study(MIXED.replace('"http1"', '"https1"'))
    assert not any(replay.over_http for part in secure.parts for replay in part.replays.values())


def test_an_engine_that_loads_nothing_over_http_gets_the_bodies_of_https() -> None:
    """Other engines take other codings anyway."""
    made = study(
        'name = "two"\npages = ["one"]\nengines = ["chromium", "qtwebkit"]\nlinks = ["dsl"]\ntrials = 2\n'
        'protocols = ["h2", "http1-pipelined"]\n'
    )
    assert {engine.value: replay.over_http for engine, replay in made.replays.items()} == {
        "chromium": False,
        "qtwebkit": True,
    }


def with_factor(text: str) -> str:
    return f"{GOOD.partition('[[factors]]')[0]}[[factors]]\n{text}\n"


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        ("tls_resumption = true", "name must be a text"),
        ('name = "x"', "factor x: it changes nothing"),
        ('name = "usual"\ndeterminism = true', "two are called"),
        ('name = "x"\ntrials = 3', "factor x: trials is the same for the whole run"),
        ('name = "x"\nfactors = []', "factor x: factors is the same for the whole run"),
        ('name = "x"\nwindow = 3', "factor x: unknown key 'window' in the study"),
        ('name = "x"\ntcp = 3', "factor x: tcp must be a table"),
        ('name = "x"\nlink = {loss = 1}', "factor x: unknown key 'loss' in a link"),
        ('name = "x"\nlink = {loss_down_percent = 1}', "factor x: link: the study has another link"),
        ('name = "x"\ntls_resumption = true', "factor x: tls_resumption: the server spdy-gateway lets no"),
        ('name = "x"\ncertificate_chain = 6', "factor x: certificate_chain is 6; it must be 1 to 5"),
        ('name = "x"\ncertificate_key = "dsa"', "factor x: certificate_key: unknown 'dsa'"),
        (
            'name = "x"\nh2_stream_window_bytes = 65535',
            "factor x: h2_stream_window_bytes: qtwebkit has no such",
        ),
        ('name = "x"\nlink = {}', "factor x: it changes nothing: all that it measures"),
        ('name = "x"\nlink = {name = "again"}', "factor x: it changes nothing: all that it measures"),
        ('name = "x"\ntcp = {congestion_control = "reno"}', "factor x: it changes nothing: all that"),
        ('name = "x"\nprotocols = ["http1"]', "factor x: it changes nothing: all that it measures"),
        (
            'name = "x"\nprotocols = ["http1"]\ntls = "1.2"',
            "factor x: tls changes nothing: it is about TLS, and the only protocols are http1; leave tls out",
        ),
        ('name = "x"\nprotocols = ["http1"]\ncertificate_chain = 5', "factor x: certificate_chain changes"),
        (
            'name = "x"\nengine = "chromium"\nprotocols = ["http1"]\nh2_stream_window_bytes = 65535',
            "factor x: h2_stream_window_bytes changes nothing: it is about HTTP/2",
        ),
        ('name = "x"\nspdy_header_compression = true', "spdy_header_compression"),
        (
            'name = "x"\nlink = {name = "y", loss_down_percent = 1}\n'
            '[[factors]]\nname = "z"\nlink = {name = "y", loss_down_percent = 2}',
            "factor z: link: the study has another link that is called y-20ms",
        ),
        (f'name = "{"x" * 61}"\ndeterminism = true', "a name has up to 60 characters"),
        (
            'name = "x"\ndeterminism = false\n[[factors]]\nname = "x"\ntcp = {initial_window = 3}',
            "two are called 'x'",
        ),
    ],
)
def test_a_factor_that_cannot_be_is_one_line(factor: str, said: str) -> None:
    with pytest.raises(StudyError) as refused:
        study(with_factor(factor))
    message = str(refused.value)
    assert said in message
    assert message.startswith("mine.toml: ")
    assert "\n" not in message


def test_a_claim_about_a_factor_that_is_not_there_is_refused() -> None:
    plain = GOOD.partition("[[factors]]")[0]
    claim = '[[claims]]\nname = "c"\nsubject = {factor = "x"}\nreference = {factor = "usual"}\n'
    with pytest.raises(StudyError, match="the study has no factor 'x'; it has: none"):
        study(plain + claim)


PLAIN = 'name = "mine"\npages = ["one"]\nprotocols = ["http1"]\nlinks = ["dsl"]\ntrials = 2\n'


@pytest.mark.parametrize(
    "needless",
    [
        'tls = "1.2"',
        "tls_resumption = true",
        "certificate_chain = 5",
        'certificate_key = "rsa-2048"',
        "h2_stream_window_bytes = 65535",
    ],
)
def test_settings_of_what_no_protocol_has_are_refused_also_without_factors(needless: str) -> None:
    key = needless.partition(" ")[0]
    with pytest.raises(StudyError, match=f"^mine.toml: {key} changes nothing: "):
        study(f"{needless}\n{PLAIN}")
    with_h2 = study(f'{needless}\n{PLAIN}[[factors]]\nname = "new"\nprotocols = ["h2"]\n')
    assert [each.factor for each in with_h2.factors] == ["new"]


def test_what_is_so_anyway_may_be_said() -> None:
    assert study(f'tls = "1.3"\ntls_resumption = false\ncertificate_chain = 1\n{PLAIN}')
    with pytest.raises(StudyError, match=r"factor x: tls changes nothing"):
        study(
            f'tls = "1.2"\n{PLAIN.replace("http1", "h2")}'
            '[[factors]]\nname = "x"\nprotocols = ["http1"]\ntls = "1.3"\n'
        )


def test_factors_may_share_a_link() -> None:
    lossy = 'link = {name = "y", loss_down_percent = 1}'
    made = study(
        with_factor(f'name = "x"\n{lossy}\n[[factors]]\nname = "z"\n{lossy}\ntcp = {{initial_window = 3}}')
    )
    assert [link.name for link in made.every_link] == ["10mbps-20ms", "10mbps-100ms", "y-20ms", "y-100ms"]


CROWD = """
name = "crowd"
kind = "users"
pages = ["one"]
protocols = ["http1", "h2"]
server = "few"
users = {from = 1, to = 10, over_s = 20}
[[links]]
per_client = true
down_mbps = 10
rtt_ms = 50
[servers.few]
program = "apache"
mpm = "worker"
MaxRequestWorkers = 8
ThreadsPerChild = 4
[[factors]]
name = "TLS 1.2"
tls = "1.2"
[[factors]]
name = "more users"
users = {steps = [50], step_s = 30}
[[factors]]
name = "short queue"
servers = {few = {program = "apache", mpm = "worker", ListenBacklog = 4}}
"""


def test_a_crowd_has_factors_too_of_its_users_and_its_server() -> None:
    made = study(CROWD)
    assert len(set(made.conditions)) == len(made.conditions) == 2 * 4
    assert {condition.factor: str(condition.workload) for condition in made.conditions} == {
        "usual": "1 to 10 in 20 s",
        "TLS 1.2": "1 to 10 in 20 s",
        "more users": "50 for 30 s",
        "short queue": "1 to 10 in 20 s",
    }
    for condition in made.conditions:
        part = made.part_of(condition)
        (setup,) = part.setups
        settings = setup.server.capacity
        assert isinstance(settings, ApacheSettings)
        assert (condition.factor == "short queue") == (settings.listen_backlog == 4)
        assert (condition.factor == "TLS 1.2") == (setup.replays[0].tls == "1.2")


def test_a_closed_loop_has_factors_too() -> None:
    made = study(
        """
name = "loop"
kind = "requests"
pages = ["one"]
protocols = ["http1"]
server = "nginx"
links = ["none"]
requests = {connections = 4}
[[factors]]
name = "16 connections"
requests = {connections = 16}
"""
    )
    assert {condition.factor: str(condition.workload) for condition in made.conditions} == {
        "usual": "4 connections",
        "16 connections": "16 connections",
    }
