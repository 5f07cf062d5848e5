"""The error of a replay beside its live page, and what `verify --live` refuses."""

from __future__ import annotations

import math

import pytest

from harness.cli.commands import main
from harness.cli.verifylive import Errors, over_pages
from harness.verify.live import Turn
from tests.unit.harness.verify.test_live import record


def turns(*ratios: float) -> list[Turn]:
    """Turns whose replay takes so many times as long as the live page, which takes twice as long in every other one."""
    live = [400.0 * (1 + number % 2) for number in range(len(ratios))]
    return [
        Turn(number, record(plt_ms=took), record(plt_ms=took * ratio))
        for number, (took, ratio) in enumerate(zip(live, ratios, strict=True))
    ]


def test_errors_are_paired_by_turn() -> None:
    error = Errors.of("page", turns(1.02, 1.03, 1.04)).compared()["plt_ms"]
    assert error.n == 3
    assert error.ratio == pytest.approx(1.03, abs=1e-4)
    assert 1.0 < error.low < 1.03 < error.high < 1.06


def test_what_was_not_observed_has_no_error() -> None:
    found = Errors.of("page", turns(1.0, 1.0, 1.0)).compared()
    assert found.keys() == {"plt_ms", "requests", "bytes_body"}
    assert found["requests"].ratio == 1


def test_two_turns_have_no_interval() -> None:
    assert math.isnan(Errors.of("page", turns(1.02, 1.03)).compared()["plt_ms"].low)


def test_pages_are_a_sample_from_three_on() -> None:
    pages = [
        Errors.of(name, turns(*each)) for name, each in (("a", (1.0, 1.02, 1.01)), ("b", (0.97, 0.98, 0.99)))
    ]
    assert over_pages(pages) == {}
    error = over_pages([*pages, Errors.of("c", turns(1.03, 1.04, 1.05))])["plt_ms"]
    assert (error.pages, error.n) == (3, 9)
    assert error.ratio == pytest.approx((1.01 * 0.98 * 1.04) ** (1 / 3), abs=1e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a", "b", "--live", "https://site.example/"), "--live URL is of one page"),
        (("a", "--live", "--engine", "firefox"), "--live loads pages as archived in chromium"),
        (("a", "--live", "--variant", "core"), "leave out --variant"),
        (("a", "--live", "--times", "0"), "--times 0 makes no sense"),
        (("a", "b"), "2 pages: only --live takes several at once"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_line(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", *words]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
