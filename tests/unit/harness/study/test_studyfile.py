"""A study file is read once, and every mistake in it is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import StudyError
from harness.model.condition import Compression, Condition, Origins
from harness.model.engine import DESKTOP, MOBILE, Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Distances, Replay, ThinkTime
from harness.model.variant import AS_ARCHIVED
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.serverfile import NamedServer
from harness.study.studyfile import parse_study, published_today, read_study, shipped_studies
from tests.unit.harness.study.kindstudies import GOOD


def broken(old: str, new: str) -> str:
    """The message for the good study with one thing replaced."""
    assert old in GOOD
    with pytest.raises(StudyError) as caught:
        parse_study(GOOD.replace(old, new), "mine.toml")
    message = str(caught.value)
    assert message.startswith("mine.toml")
    assert "\n" not in message
    return message


def test_conditions_are_the_product() -> None:
    study = parse_study(GOOD, "mine.toml")
    assert len(study.conditions) == 2 * 2 * 2 * 2
    assert len(set(study.conditions)) == 16
    assert study.protocols == (Protocol.HTTP1, Protocol.H2)
    assert study.drivers == (Driver.SELENIUM, Driver.PLAYWRIGHT)
    assert study.links[0].name == "10-1.5mbps-20ms"


def test_defaults_are_filled_in() -> None:
    study = parse_study(GOOD, "mine.toml")
    assert study.seed is None
    assert study.title == "mine"
    assert study.timeout_s == 60
    assert study.variants == (AS_ARCHIVED,)
    assert study.setups[0].replays[0] == Replay(
        Origins.SINGLE, determinism=True, compression=Compression("recorded"), over_http=True
    )


def without_drivers(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("drivers"))


def test_the_historical_engine_has_its_own_defaults() -> None:
    text = 'engine = "qtwebkit"\n' + without_drivers(GOOD).replace('"h2"', '"spdy-plain"')
    (setup,) = parse_study(text, "mine.toml").setups
    assert (setup.server.name, setup.replays[0].tls, setup.drivers) == ("spdy-gateway", "1.2", (Driver.PYQT,))
    (today,) = parse_study(GOOD, "mine.toml").setups
    assert (today.server.name, today.replays[0].tls) == ("caddy", "1.3")


def test_each_protocol_is_measured_with_the_engines_that_speak_it() -> None:
    text = GOOD.replace('["http1", "h2"]', '["http1", "h2", "spdy"]').replace(
        '"selenium", "playwright"', '"selenium"'
    )
    study = parse_study('engines = ["chromium", "qtwebkit"]\n' + text, "mine.toml")
    cells = {(each.engine, each.driver, each.protocol, each.server) for each in study.conditions}
    assert cells == {
        (Engine.CHROMIUM, Driver.SELENIUM, Protocol.HTTP1, "caddy"),
        (Engine.CHROMIUM, Driver.SELENIUM, Protocol.H2, "caddy"),
        (Engine.QTWEBKIT, Driver.PYQT, Protocol.HTTP1, "spdy-gateway"),
        (Engine.QTWEBKIT, Driver.PYQT, Protocol.SPDY, "spdy-gateway"),
    }
    assert [setup.replays[0].tls for setup in study.setups] == ["1.3", "1.2"]


def test_server_and_tls_may_be_given_for_each_engine() -> None:
    settings = 'engines = ["chromium", "qtwebkit"]\nserver = {qtwebkit = "nginx"}\ntls = {chromium = "1.2"}\n'
    study = parse_study(settings + GOOD.replace('"h2"', '"https1", "http1-pipelined"'), "mine.toml")
    assert dict(study.servers) == {
        Engine.CHROMIUM: (NamedServer.usual("caddy"),),
        Engine.QTWEBKIT: (NamedServer.usual("nginx"),),
    }
    assert [setup.replays[0].tls for setup in study.setups] == ["1.2", "1.2"]


def test_the_device_is_part_of_every_condition() -> None:
    assert {each.device for each in parse_study(GOOD, "mine.toml").conditions} == {DESKTOP}
    study = parse_study(f'device = "mobile"\n{GOOD}', "mine.toml")
    assert {each.device for each in study.conditions} == {MOBILE}
    told = study.conditions[0].to_json()
    assert told["device"] == "mobile"
    assert Condition.from_json(told) == study.conditions[0]
    assert "device: unknown 'phone'; known: desktop, mobile" in broken(
        'name = "mine"', 'name = "mine"\ndevice = "phone"'
    )


def test_slower_processors_and_warm_caches_are_dimensions() -> None:
    usual = parse_study(GOOD, "mine.toml")
    assert not {"cpu_slowdown", "cache"} & usual.conditions[0].to_json().keys()  # they are usual
    study = parse_study(f'cpu_slowdown = [1, 4]\ncache = ["cold", "warm"]\n{GOOD}', "mine.toml")
    assert len(study.conditions) == 4 * len(usual.conditions) == study.most_conditions
    slow = next(each for each in study.conditions if each.cpu_slowdown == 4 and each.cache == "warm")
    told = slow.to_json()
    assert (told["cpu_slowdown"], told["cache"]) == (4, "warm")
    assert Condition.from_json(told) == slow
    assert str(slow).endswith("cpu_slowdown 4 warm cache")
    for wrong, said in (
        ("cpu_slowdown = 3", "cpu_slowdown: unknown 3; known: 1, 2, 4, 6"),
        ('cpu_slowdown = "4"', "cpu_slowdown: unknown '4'"),
        ("cpu_slowdown = true", "cpu_slowdown: unknown True"),
        ('cache = "luke"', "cache: unknown 'luke'; known: cold, warm"),
        ('cache = ["warm", "warm"]', "cache holds 'warm' twice"),
    ):
        assert said in broken('name = "mine"', f'name = "mine"\n{wrong}')


def test_settings_of_the_replay() -> None:
    text = GOOD.replace('"http1", ', "") + "\n"
    text = f'origins = "recorded"\ndeterminism = false\ncompression = "brotli-11"\n{text}'
    study = parse_study(text, "mine.toml")
    assert study.setups[0].replays[0] == Replay(
        Origins.RECORDED, determinism=False, compression=Compression("brotli", 11)
    )
    assert {condition.origins for condition in study.conditions} == {Origins.RECORDED}
    written = ("gzip", "gzip-9", "brotli", "none", "zstd", "gzip-dynamic", "zstd-1-dynamic")
    assert [str(Compression.parse(each)) for each in written] == [
        "gzip-6", "gzip-9", "brotli-5", "none", "zstd-3", "gzip-6-dynamic", "zstd-1-dynamic",
    ]  # fmt: skip


def test_hosts_have_distances_of_their_own_where_each_has_its_address() -> None:
    assert parse_study(GOOD, "mine.toml").setups[0].replays[0].distance == Distances()
    recorded = f'origins = "recorded"\ndistance = "recorded"\n{GOOD}'
    assert parse_study(recorded, "mine.toml").setups[0].replays[0].distance == Distances(others="recorded")
    table = f'origins = "recorded"\n{GOOD}\n[distance]\n"cdn.example" = 12\n"*" = 40.5\n'
    study = parse_study(table, "mine.toml")
    assert study.setups[0].replays[0].distance == Distances((("cdn.example", 12.0),), 40.5)
    assert [each.to_json() for each in study.conditions] == [
        each.to_json() for each in parse_study(f'origins = "recorded"\n{GOOD}', "mine.toml").conditions
    ]
    for wrong, said in (
        ('distance = "recorded"', 'distance: with origins = "single" all hosts have one address'),
        ("distance = 12", "distance: unknown 12"),
        ('origins = "recorded"\ndistance = "far"', "distance: unknown 'far'"),
        ('kind = "users"\ndistance = "equal"', 'distance goes with kind = "load"'),
    ):
        assert said in broken('name = "mine"', f'name = "mine"\n{wrong}')


def test_bodies_are_kept_in_the_har() -> None:
    assert parse_study(f'keep = ["har", "bodies"]\n{GOOD}', "mine.toml").keep == ("har", "bodies")
    assert 'name "har", too' in broken('name = "mine"', 'name = "mine"\nkeep = ["bodies"]')


def test_compressions_are_a_dimension() -> None:
    text = 'compression = ["none", "gzip-1", "gzip-dynamic"]\n' + GOOD
    study = parse_study(text, "mine.toml")
    one = parse_study(GOOD, "mine.toml")
    assert len(study.conditions) == 3 * len(one.conditions)
    assert {str(condition.compression) for condition in one.conditions} == {"recorded"}
    names = ["none", "gzip-1", "gzip-6-dynamic"]
    assert list(dict.fromkeys(str(condition.compression) for condition in study.conditions)) == names
    assert [str(replay.compression) for replay in study.setups[0].replays] == names
    condition = study.conditions[-1]
    assert Condition.from_json(condition.to_json()) == condition
    assert " gzip-6-dynamic " in str(condition)


@pytest.mark.parametrize(
    ("value", "shown", "of"),
    [('"none"', "none", 0.0), ('"recorded"', "recorded", 7.5), ("20", "20 ms", 20.0)],
)
def test_think_time(value: str, shown: str, of: float) -> None:
    text = f'think_time = {value}\nserver = "apache"\n' + GOOD.replace(', "h2"', "")
    think_time = parse_study(text, "mine.toml").setups[0].replays[0].think_time
    assert (str(think_time), think_time.of(37.5, 30.0), bool(think_time)) == (shown, of, shown != "none")


def test_a_recorded_think_time_is_the_wait_less_its_round_trip() -> None:
    recorded = ThinkTime(recorded=True)
    assert [recorded.of(*told) for told in ((30.3, 30.1), (30.0, 40.0), (30.0, None))] == [0.2, 0, 30]
    assert (recorded.of(None, 40.0), recorded.of(None, None)) == (0, 0)


def test_default_queue_is_one_bandwidth_delay_product_with_a_floor() -> None:
    assert Link.of(1000, 100).down.queue.limit_bytes == 12_500_000
    assert Link.of(1, 20).down.queue.limit_bytes == 1_500_000


def test_unknown_key_is_named_with_the_nearest_one() -> None:
    assert "'protocol'" in broken("protocols", "protocol")
    assert "did you mean protocols" in broken("protocols", "protocol")


def test_unit_that_we_do_not_use_is_refused_by_key() -> None:
    message = broken("down_mbps = 10", "down_kbps = 10000")
    assert "'down_kbps'" in message
    assert "down_mbps" in message


@pytest.mark.parametrize("value", ['"10Mbps"', '"1.5"', "true", "[10, 1]"])
def test_rate_must_be_a_bare_number(value: str) -> None:
    assert "down_mbps must be a number" in broken("down_mbps = 10", f"down_mbps = {value}")


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "1e9"])
def test_impossible_rates(value: str) -> None:
    broken("down_mbps = 10", f"down_mbps = {value}")


@pytest.mark.parametrize("value", ["-1", "nan", "1e9", "[]", '"50ms"'])
def test_impossible_round_trip_times(value: str) -> None:
    assert "rtt_ms" in broken("rtt_ms = [20, 50]", f"rtt_ms = {value}")


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("trials = 3", "trials = 0", "trials"),
        ("trials = 3", "trials = 2.5", "trials"),
        ('["one", "two"]', "[]", "pages"),
        ('["one", "two"]', '["one", "one"]', "twice"),
        ('["one", "two"]', '["../one"]', "pages"),
        ('["http1", "h2"]', '["http2"]', "h2"),
        ('"selenium"', '"puppeteer"', "selenium"),
        ('name = "mine"', 'name = "a/b"', "name"),
        ("up_mbps = 1.5", "queue_down_bytes = 1000", "one packet"),
        ('name = "mine"', 'name = "mine"\nserver = "iis"', "apache"),
        ('name = "mine"', 'name = "mine', "not TOML"),
        ('name = "mine"', 'name = "mine"\ntcp = {congestion_control = "vegas"}', "cubic"),
        ('name = "mine"', 'name = "mine"\ntcp = {initial_window = 0}', "initial_window"),
        ('name = "mine"', 'name = "mine"\ntcp = {initcwnd = 10}', "[tcp]"),
        ('name = "mine"', 'name = "mine"\ntcp = {slow_start_after_idle = 1}', "true or false"),
        ('name = "mine"', 'name = "mine"\ndeterminism = "yes"', "true or false"),
        ('name = "mine"', 'name = "mine"\norigins = "two"', "recorded"),
        ('name = "mine"', 'name = "mine"\ncompression = "deflate"', "gzip-9"),
        ('name = "mine"', 'name = "mine"\ncompression = "gzip-10"', "gzip-1 to gzip-9"),
        ('name = "mine"', 'name = "mine"\ncompression = "none-1"', "recorded, none"),
        ('name = "mine"', 'name = "mine"\ncompression = "brotli"', "not by http1"),
        ('name = "mine"', 'name = "mine"\ncompression = "zstd"', "not by http1"),
        ('name = "mine"', 'name = "mine"\ncompression = "none-dynamic"', "and gzip-9-dynamic"),
        ('name = "mine"', 'name = "mine"\ncompression = ["gzip", "gzip-6"]', "holds 'gzip-6' twice"),
        ('name = "mine"', 'name = "mine"\ncompression = []', "at least one entry"),
        ('name = "mine"', 'name = "mine"\ntls_resumption = "yes"', "true or false"),
        (
            '["http1", "h2"]',
            '["http1"]\nengine = "qtwebkit"\ntls_resumption = true',
            "lets no session be resumed",
        ),
        (
            '["http1", "h2"]',
            '["http1"]\nengine = "qtwebkit"\nserver = "nginx"\ntls_resumption = true',
            "qtwebkit resumes nothing",
        ),
        ('name = "mine"', 'name = "mine"\ncompression = 9', "it must be text, or a list of texts"),
        (
            '["http1", "h2"]',
            '["h2"]\nserver = "nginx"\ncompression = ["none", "brotli-dynamic"]',
            "brotli-5-dynamic; servers that can: apache",
        ),
        (
            '["http1", "h2"]',
            '["h2"]\ncompression = "zstd-2-dynamic"',
            "leave -dynamic out, or choose another level",
        ),
        ('name = "mine"', 'name = "mine"\nthink_time = "slow"', "number of ms"),
        (
            '["http1", "h2"]',
            '["http1", "h3"]\nserver = "apache"',
            "apache does not speak h3; servers that do: caddy",
        ),
        ('["http1", "h2"]', '["http1", "h3"]\nserver = "nginx"', "servers that do: caddy"),
        ('["http1", "h2"]', '["http1", "spdy"]', "chromium does not speak spdy; engines that do: qtwebkit"),
        ('["http1", "h2"]', '["http1", "h2"]\nengine = "qtwebkit"', "engines that do: chromium"),
        (
            '["http1", "h2"]',
            '["http1-pipelined"]\nengine = "qtwebkit"\nserver = "apache"',
            "http1-pipelined; servers that do: nginx, spdy-gateway",
        ),
        ('["http1", "h2"]', '["http1"]\nengine = "qtwebkit"', "selenium steers chromium"),
        ('["http1", "h2"]', '["http1"]\nengine = "qtwebkit"\ncompression = "brotli"', "choose gzip"),
        ('["http1", "h2"]', '["http1"]\nengine = "qtwebkit"\ndevice = "mobile"', "cannot be mobile"),
        ('["http1", "h2"]', '["h2"]\nengines = ["chromium", "qtwebkit"]', "qtwebkit speaks none"),
        ('["http1", "h2"]', '["h2"]\nengine = "chromium"\nengines = ["chromium"]', "leave one of them out"),
        ('["http1", "h2"]', '["h2"]\nserver = {lynx = "nginx"}', "'lynx'"),
        ('name = "mine"', 'name = "mine"\nthink_time = 20', "servers that can: apache, nginx"),
        ('["http1", "h2"]', '["http1", "h3"]\ntls = "1.2"', "TLS 1.3 built in"),
        ('name = "mine"', 'name = "mine"\ntls = "1.1"', "1.2"),
        ('name = "mine"', 'name = "mine"\nthink_time = -1', "0 to"),
        ('name = "mine"', 'name = "mine"\nserver = "apache"\nthink_time = 20', "by h2 wait"),
    ],
)
def test_mistakes_are_named(old: str, new: str, word: str) -> None:
    assert word in broken(old, new)


def test_missing_file_names_the_shipped_studies(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="demo"):
        read_study(tmp_path / "nothing.toml")
    with pytest.raises(StudyError, match=r"no study file .*mine\.toml; studies that ship: .* more$"):
        read_study(tmp_path / "mine.toml")  # not like "engines"
    with pytest.raises(StudyError, match=r"demo-quik\.toml \(did you mean demo-quick\?\)"):
        read_study(tmp_path / "demo-quik.toml")
    with pytest.raises(StudyError, match=r"\(did you mean demo-quick\?\); studies that ship: .* more$"):
        read_study(Path("demoquick"))


def test_every_shipped_study_is_valid() -> None:
    assert {"demo", "demo-quick"} <= set(shipped_studies())
    for path in shipped_studies().values():
        assert read_study(path).conditions


def test_a_plan_of_another_day_is_held_against_what_is_known_of_its_original_today() -> None:
    plan = make_plan(read_study(shipped_studies()["requests-2012"]), seed=1)
    assert plan.published is not None
    today = Plan.from_lines(plan.to_lines(), "plan").published
    assert published_today(plan) == plan.published == today
    before = plan.published.with_claims(plan.published.claims[:1])
    assert published_today(replace(plan, published=before)) == today
    of_another = replace(before, source="an article of the user's")
    for other in (of_another, None):
        assert published_today(replace(plan, published=other)) is None
    assert published_today(replace(plan, published=before, study="a-study-of-the-users")) is None


def test_of_what_is_known_today_only_what_a_plan_measures_is_claimed() -> None:
    plan = make_plan(read_study(shipped_studies()["requests-2012"]), seed=1)
    few = tuple(trial for trial in plan.trials if getattr(trial.condition.workload, "connections", 0) == 16)
    today = published_today(replace(plan, trials=few))
    assert plan.published is not None
    assert today is not None
    assert 0 < len(today.claims) < len(plan.published.claims)
