"""Which changes of numbers concern a run."""

from __future__ import annotations

import pytest

from benchmarks.publish.changes import Change, changes
from benchmarks.publish.document import CHANGELOG

RUN = {
    "study": "mine",
    "design": "2 pages, 3 variants, 1 protocol",
    "measured": "2026-11-24 10:00 to 2026-11-25 09:00 UTC",
    "browser": "QtWebKit 602.1 driven by pyqt",
}
CROWD = {"study": "users", "design": "1 page", "measured": RUN["measured"], "generator": "k6/1.8.1"}


@pytest.mark.parametrize(
    ("when", "whom", "loads", "crowd"),
    [
        ("2026-11-23", (), False, False),
        ("2026-11-24", (), True, True),
        ("2026-11-24 09:59", (), False, False),
        ("2026-11-24 10:00", (), True, True),
        ("2026-11-25", ("page loads",), True, False),
        ("2026-11-25", ("variants",), True, False),
        ("2026-11-25", ("WebKit",), False, False),
        ("2026-11-25", ("WebKit", "QtWebKit"), True, False),
        ("2026-11-25", ("k6",), False, True),
        ("2026-11-25", ("users",), False, True),
        ("2026-11-25", ("reckoned",), False, False),
    ],
)
def test_a_change_concerns_older_runs_of_its_kind(
    when: str, whom: tuple[str, ...], *, loads: bool, crowd: bool
) -> None:
    change = Change(when, whom)
    assert (change.concerns(RUN), change.concerns(CROWD)) == (loads, crowd)


def test_the_page_of_one_variant_is_no_variant() -> None:
    assert not Change("2026-11-25", ("variants",)).concerns(RUN | {"design": "1 page, 1 variant"})


def test_every_entry_of_the_changelog_is_read() -> None:
    text = CHANGELOG.read_text()
    assert len([*changes(text)]) == text.count("\n- **number**")


def test_an_entry_that_concerns_what_nobody_knows_is_named() -> None:
    with pytest.raises(ValueError, match=r"2026-11-25.*Netscape"):
        [*changes("- **number** 2026-11-25 (Netscape, k6). Faster.\n")]


def test_a_run_that_does_not_say_when_it_began_is_named() -> None:
    with pytest.raises(ValueError, match=r"mine .*yesterday"):
        Change("2026-11-25", ()).concerns(RUN | {"measured": "yesterday"})
