"""The links of a study: every kind of direction, files beside it, names of shipped links, each mistake named."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import StudyError
from harness.model.link import NO_LINK, Discipline, GilbertElliott, Link, Queue, RandomLoss, Way
from harness.model.rate import ConstantRate, RateFormat, RecordedRate
from harness.study.linkfile import links_of, named_links, shipped_links

PLAIN: dict[str, Any] = {"down_mbps": 10, "rtt_ms": 50}


def one(folder: Path = Path(), **table: Any) -> Link:
    """The one link of a table."""
    (link,) = links_of({"links": [table]}, folder)
    return link


def mistake(folder: Path = Path(), **table: Any) -> str:
    """What is said about a table that cannot be a link."""
    with pytest.raises(StudyError) as caught:
        one(folder, **table)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_direction_has_its_own_rate_queue_loss_and_jitter() -> None:
    link = one(
        **PLAIN,
        up_mbps=1.5,
        queue_down="codel",
        queue_up="unlimited",
        loss_down_percent=2.5,
        gilbert_elliott_up={"p": 0.01, "r": 0.25, "h": 0.5},
        jitter_down_ms=3,
        seed=7,
    )
    assert (link.name, link.seed) == ("10-1.5mbps-50ms", 7)
    assert link.down.rate == ConstantRate(10)
    assert link.down.queue == Queue(Discipline.CODEL, 1_500_000)
    assert link.up.queue == Queue(Discipline.UNLIMITED, None)
    assert link.down.loss == RandomLoss(2.5)
    assert link.up.loss == GilbertElliott(0.01, 0.25, 0.5, 1.0)
    assert (link.down.jitter_ms, link.up.jitter_ms) == (3, 0)


def test_what_is_stored_of_a_link_gives_it_back(tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_text("1\n2\n2\n4\n")
    links = [
        one(**PLAIN),
        one(**PLAIN, queue_up="unlimited", loss_up_percent=1, jitter_up_ms=2),
        one(**PLAIN, gilbert_elliott_down={"p": 0.1, "r": 0.5}),
        one(tmp_path, rtt_ms=10, trace_down="a.trace", up_mbps=2),
        one(down_mbps=10, delay_down_ms=20, delay_up_ms=30),
        one(**PLAIN, per_client=True),
        one(**PLAIN, per_client=True, shared_down_mbps=100, shared_up_mbps=50),
    ]
    for link in links:
        assert Link.from_json(link.to_json()) == link
    assert len(set(links)) == len(links)


def test_a_link_may_say_its_delay_each_way() -> None:
    link = one(down_mbps=5, delay_down_ms=40, delay_up_ms=45.5)
    assert (link.name, link.rtt_ms) == ("5mbps-40-45.5ms", 85.5)
    assert [link.delay_ms(way) for way in Way] == [40, 45.5]
    half = one(down_mbps=5, rtt_ms=85)
    assert [half.delay_ms(way) for way in Way] == [42.5, 42.5]
    assert one(down_mbps=5, delay_down_ms=40.1, delay_up_ms=45.2).rtt_ms == 85.3


def test_a_link_of_each_client_may_share_a_rate() -> None:
    link = one(**PLAIN, per_client=True, shared_down_mbps=100)
    assert (link.per_client, link.shared_mbps(Way.DOWN), link.shared_mbps(Way.UP)) == (True, 100, None)
    assert not one(**PLAIN).per_client
    assert not one(**PLAIN).changes


def test_a_preset_is_of_each_client_or_shared() -> None:
    """In a study of crowds each has it to itself unless its table says otherwise."""
    shipped = links_of({"links": ["cable"]}, Path())
    assert links_of({"links": [{"preset": "cable"}]}, Path()) == shipped
    crowds = {"links": ["cable", {"preset": "dsl", "per_client": False}, {"name": "own", **PLAIN}, "none"]}
    made = {link.name: link for link in links_of(crowds, Path(), per_client=True)}
    assert {name: link.per_client for name, link in made.items()} == {
        "cable": True,
        "dsl": False,
        "own": True,
        "none": False,
    }
    assert replace(made["cable"], per_client=False) == shipped[0]
    table = {"preset": "cable", "per_client": True, "shared_down_mbps": 100}
    assert links_of({"links": [table]}, Path())[0].shared_down_mbps == 100
    for wrong, says in (({"rtt_ms": 5}, "a link with a preset"), ({"preset": "cabel"}, "did you mean cable")):
        with pytest.raises(StudyError, match=says):
            links_of({"links": [{"preset": "cable", **wrong}]}, Path())


def test_what_a_link_does_not_use_is_not_stored_of_it() -> None:
    unused = ("delay", "per_client", "shared")
    assert not [key for key in one(**PLAIN).to_json() if key.startswith(unused)]
    assert one(**PLAIN, per_client=False).to_json() == one(**PLAIN).to_json()
    used = one(down_mbps=10, delay_down_ms=0, delay_up_ms=50, per_client=True).to_json()
    assert [key for key in used if key.startswith(unused)] == [
        "delay_down_ms",
        "delay_up_ms",
        "per_client",
        "shared_down_mbps",
        "shared_up_mbps",
    ]


def test_a_trace_is_read_beside_the_study_and_known_by_its_content(tmp_path: Path) -> None:
    text = "# two packets a round of 4 ms\n2\n\n4\n"
    (tmp_path / "lte.trace").write_text(text)
    link = one(tmp_path, trace_down="lte.trace", rtt_ms=30, up_mbps=1)
    rate = link.down.rate
    assert isinstance(rate, RecordedRate)
    assert (rate.format, rate.file, rate.mean_mbps) == (RateFormat.TRACE, "lte.trace", 6.0)
    assert rate.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert link.to_json()["trace_down"] == {"file": "lte.trace", "sha256": rate.sha256}
    assert link.name == "6-1mbps-30ms"
    assert link.changes


def test_without_a_rate_up_a_link_is_symmetric(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("0 4\n500 2\n")
    link = one(tmp_path, steps_down="s", rtt_ms=30)
    assert link.up.rate == link.down.rate
    assert link.up.rate.mean_mbps == 4


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"rtt_ms": 50}, ["down_mbps"]),
        ({"down_mbps": 10}, ["needs rtt_ms (or delay_down_ms and delay_up_ms)"]),
        (PLAIN | {"delay_up_ms": 5}, ["both rtt_ms and delay_up_ms"]),
        (
            {"down_mbps": 10, "delay_up_ms": 5},
            ["delay_up_ms alone", "delay_down_ms and delay_up_ms, or rtt_ms"],
        ),
        ({"down_mbps": 10, "delay_up_ms": 5, "delay_down_ms": -1}, ["delay_down_ms is -1"]),
        ({"down_mbps": 10, "delay_up_ms": 60_000, "delay_down_ms": 1}, ["rtt_ms is 60001"]),
        ({"down_mbps": 10, "delay_up_ms": "45", "delay_down_ms": 1}, ["delay_up_ms must be a number"]),
        (PLAIN | {"per_client": 1}, ["per_client must be true or false, found 1"]),
        (PLAIN | {"shared_up_mbps": 10}, ["shared_up_mbps needs per_client = true"]),
        (PLAIN | {"per_client": True, "shared_up_mbps": 0}, ["shared_up_mbps is 0"]),
        (PLAIN | {"per_client": True, "shared_up_mbps": 3}, ["shared_up_mbps is 3: less than the 10 Mbit/s"]),
        (PLAIN | {"per_client": True, "queue_up": "unlimited"}, ["queue_up is unlimited", "needs a size"]),
        (PLAIN | {"down_kbps": 1}, ["'down_kbps'", "did you mean"]),
        (PLAIN | {"up_mbps": 0}, ["up_mbps is 0", "0.001 to 10000 Mbit/s"]),
        (PLAIN | {"up_mbps": float("nan")}, ["up_mbps is nan"]),
        (PLAIN | {"loss_down_percent": 120}, ["loss_down_percent is 120", "0, or 0.0001 to 99.9999 %"]),
        (PLAIN | {"loss_up_percent": -1}, ["loss_up_percent is -1"]),
        (PLAIN | {"loss_up_percent": "1%"}, ["loss_up_percent must be a number", "bare number"]),
        (PLAIN | {"queue_down_bytes": 1499}, ["queue_down_bytes is 1499", "one packet (1500)"]),
        (PLAIN | {"queue_down": "red"}, ["queue_down", "droptail, codel, unlimited"]),
        (PLAIN | {"queue_up": "unlimited", "queue_up_bytes": 3000}, ["queue_up is unlimited", "3000"]),
        (PLAIN | {"jitter_up_ms": -0.5}, ["jitter_up_ms is -0.5"]),
        (PLAIN | {"gilbert_elliott_up": {"p": 0.1}}, ["gilbert_elliott_up", "p and r"]),
        (
            PLAIN | {"gilbert_elliott_up": {"p": 1.1, "r": 0.1}},
            ["gilbert_elliott_up: p is 1.1", "0, or 0.000001 to 1"],
        ),
        (PLAIN | {"gilbert_elliott_up": {"p": 0, "r": 0}}, ["never change"]),
        (PLAIN | {"gilbert_elliott_up": {"p": 0.1, "r": 0.1, "q": 1}}, ["'q'"]),
        (PLAIN | {"gilbert_elliott_up": {"p": 0.1, "r": 1}, "loss_up_percent": 1}, ["one kind of loss"]),
        (PLAIN | {"trace_down": "x"}, ["down_mbps and trace_down", "one rate"]),
        ({"trace_down": "nowhere.trace", "rtt_ms": 1}, ["nowhere.trace", "No such file"]),
        (PLAIN | {"rtt_ms": -1}, ["rtt_ms is -1"]),
        (PLAIN | {"name": "a b"}, ["'a b'"]),
        (PLAIN | {"name": 7}, ["name must be a text, found 7"]),
        (PLAIN | {"source": {}}, ["source must be a text, found {}"]),
        (PLAIN | {"gilbert_elliott_up": {}}, ["gilbert_elliott_up must be a table with some of p, r, h, k"]),
        (PLAIN | {"rtt_ms": 1e-9}, ["rtt_ms is 1e-09", "0, or 0.01 to 60000 ms"]),
        (PLAIN | {"down_mbps": 1e-9}, ["down_mbps is 1e-09", "0.001 to 10000 Mbit/s"]),
        (PLAIN | {"loss_up_percent": 100}, ["loss_up_percent is 100", "99.9999 %"]),
        (PLAIN | {"loss_up_percent": 1e-9}, ["loss_up_percent is 1e-09"]),
        (PLAIN | {"gilbert_elliott_up": {"p": 1, "r": 0}}, ["all packets would be lost"]),
        (PLAIN | {"gilbert_elliott_up": {"p": 1e-9, "r": 1}}, ["p is 1e-09"]),
        (PLAIN | {"jitter_up_ms": 1e-9}, ["jitter_up_ms is 1e-09"]),
        (PLAIN | {"down_mbps": 10**400}, ["down_mbps is a whole number of 1,329 bits"]),
        (PLAIN | {"queue_up_bytes": True}, ["queue_up_bytes must be a whole number, found True"]),
        ({"trace_down": "/dev/zero", "rtt_ms": 1}, ["/dev/zero: it is a device, not a file"]),
    ],
)
def test_mistakes_are_named(table: dict[str, Any], words: list[str]) -> None:
    said = mistake(**table)
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("trace", "", "empty"),
        ("trace", "# nothing\n\n", "empty"),
        ("trace", "1\n5\n4\n", "line 3: time runs backwards, from 5 to 4 ms"),
        ("trace", "1\nx\n", "line 2"),
        ("trace", "1\n2.5\n", "line 2"),
        ("trace", "0\n0\n", "no duration"),
        ("trace", "1\n99999999999999999999\n", "line 2"),
        ("steps", "", "empty"),
        ("steps", "5 1\n", "line 1: the first step must be at 0 ms"),
        ("steps", "0 1\n0 2\n", "line 2: time must rise"),
        ("steps", "0 1\n10 0\n", "line 2: rate 0"),
        ("steps", "0 1\n10 nan\n", "line 2: want"),
        ("steps", "0 1 2\n", "line 1"),
        ("steps", "0 1e3\n", "line 1: want"),  # the emulator reads no exponents
        ("steps", "0 1\n1_0 2\n", "line 2: want"),
    ],
)
def test_a_line_of_a_file_that_makes_no_sense_is_named(
    tmp_path: Path, kind: str, text: str, words: str
) -> None:
    (tmp_path / "file").write_text(text)
    said = mistake(tmp_path, rtt_ms=1, **{f"{kind}_down": "file"})
    assert words in said
    assert said.startswith(f"{kind} file: ")


def test_a_trace_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1\n\xff\n")
    assert "is not text" in mistake(tmp_path, rtt_ms=1, trace_down="file")


def test_every_shipped_link_is_valid_and_has_a_source() -> None:
    names = [link.name for link in shipped_links()]
    assert len(set(names)) == len(names)
    for name in names:
        assert [link.name for link in named_links(name)] == [name]
    for path in (Path(__file__).parents[4] / "configs" / "links").glob("*.toml"):
        assert "\nsource = " in path.read_text()


def test_webpagetests_profiles_have_full_round_trip_times() -> None:
    wanted = {
        "cable": (5, 1, 28),
        "dsl": (1.5, 0.384, 50),
        "3g": (1.6, 0.768, 300),
        "3g-fast": (1.6, 0.768, 150),
        "4g": (9, 9, 170),
        "lte": (12, 12, 70),
        "fios": (20, 5, 4),
    }
    for name, (down, up, rtt) in wanted.items():
        (link,) = named_links(name)
        assert (link.down.rate.mean_mbps, link.up.rate.mean_mbps, link.rtt_ms) == (down, up, rtt)


def test_the_grid_of_2012_is_one_name_or_one_point() -> None:
    grid = named_links("2012-10mbps")
    assert [link.rtt_ms for link in grid] == [20, 50, 70, 100, 150, 200]
    assert grid[3] == named_links("2012-10mbps-100ms")[0]
    with pytest.raises(StudyError, match=r"did you mean cable.*2012-10mbps"):
        named_links("cabel")


def test_no_link_has_a_name_and_says_that_nothing_is_emulated() -> None:
    assert links_of({"links": ["none"]}, Path()) == (NO_LINK,)
    assert NO_LINK.to_json()["emulated"] is False
    assert Link.from_json(NO_LINK.to_json()) == NO_LINK
    assert "emulated" not in one(**PLAIN).to_json()
