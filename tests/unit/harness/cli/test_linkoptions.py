"""The options of a link give what the keys of a study give."""

from __future__ import annotations

import argparse

import pytest

from harness.cli.linkoptions import add_link_options, add_named_link, link_of
from harness.errors import StudyError
from harness.model.link import Link, Way
from harness.study.linkfile import named_links


def link(*words: str) -> Link:
    parser = argparse.ArgumentParser()
    add_named_link(parser)
    add_link_options(parser)
    return link_of(parser.parse_args(words))


def test_the_round_trip_is_halved_unless_delays_are_given() -> None:
    assert link() == Link.of(10, 50)
    assert link("--down-mbps", "5", "--up-mbps", "1", "--rtt-ms", "28") == Link.of(5, 28, 1)
    own = link("--delay-down-ms", "40", "--delay-up-ms", "45")
    assert (own.rtt_ms, own.delay_ms(Way.DOWN), own.delay_ms(Way.UP)) == (85, 40, 45)


@pytest.mark.parametrize(
    "words",
    [
        ("--delay-down-ms", "40"),
        ("--delay-up-ms", "40"),
        ("--rtt-ms", "85", "--delay-down-ms", "40", "--delay-up-ms", "45"),
    ],
)
def test_a_link_says_its_delay_in_one_way(words: tuple[str, ...]) -> None:
    with pytest.raises(StudyError, match=r"^give --rtt-ms, or both --delay-down-ms and --delay-up-ms$"):
        link(*words)


def test_a_delay_below_zero_is_refused_by_its_name() -> None:
    with pytest.raises(StudyError, match="delay_up_ms is -5"):
        link("--delay-down-ms", "40", "--delay-up-ms", "-5")


def test_a_link_by_its_name_goes_with_no_other() -> None:
    assert link("--link", "cable") == named_links("cable")[0]
    with pytest.raises(StudyError, match="--link 2012-10mbps names 6 links: 2012-10mbps-20ms, "):
        link("--link", "2012-10mbps")
    with pytest.raises(StudyError, match=r"no link is named 'cabel' \(did you mean cable\?\)"):
        link("--link", "cabel")
    with pytest.raises(StudyError, match="give --link, or rates and delays"):
        link("--link", "cable", "--delay-up-ms", "3")
