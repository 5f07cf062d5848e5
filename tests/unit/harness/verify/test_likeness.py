"""A variant is like its original: every screenful, the console, what is asked for."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageFilter

from harness.errors import Outcome
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.trials import PlannedTrial
from harness.model.variant import parse_variant
from harness.probes.loadedpage import Screenful
from harness.probes.registry import Observation
from harness.records import Record
from harness.verify.behaviour import AskedFor, Behaviour
from harness.verify.likeness import Look, engine_fit, likeness, similarity_of, structure
from tests.facts import tells


def png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def flat(level: int) -> bytes:
    return png(Image.new("L", (40, 30), level))


def test_flat_pictures_differ_by_luminance_alone() -> None:
    c1 = (0.01 * 255) ** 2
    expected = (2 * 100 * 150 + c1) / (100**2 + 150**2 + c1)
    alike, varied = structure(np.full((30, 40), 100.0), np.full((30, 40), 150.0))
    assert alike == pytest.approx(np.full((30, 40), expected))
    assert not varied.any()
    assert similarity_of(flat(100), flat(100)) == 1
    assert (
        similarity_of(flat(100), flat(150)) == 0
    )  # the whole ground is another, which is more than a twentieth


def test_more_loss_is_less_alike() -> None:
    picture = Image.effect_noise((200, 150), 60)
    blurred = [png(picture.filter(ImageFilter.GaussianBlur(radius))) for radius in (0, 0.5, 1, 2)]
    values = [similarity_of(png(picture), each) for each in blurred]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(1)
    assert values[-1] < 0.5


def test_a_missing_part_shows() -> None:
    page = Image.new("L", (400, 300), 255)
    text = Image.effect_noise((200, 100), 90)
    whole = page.copy()
    whole.paste(text, (50, 50))
    assert similarity_of(png(whole), png(page)) < 0.1


def test_a_line_that_moved_on_blank_paper_shows() -> None:
    line = Image.effect_noise((120, 12), 90)
    one, other = (Image.new("L", (400, 300), 255) for _ in range(2))
    one.paste(line, (20, 20))
    other.paste(line, (20, 60))
    assert similarity_of(png(one), png(other)) < 0.2


def test_another_size_is_no_match() -> None:
    assert similarity_of(flat(1), png(Image.new("L", (40, 31), 1))) == 0


CONDITION = replace(Condition.usual("page", Protocol.H2, Link.of(20, 20)), variant=parse_variant("core"))


def screen(colour: str, spot: int = 0) -> bytes:
    image = Image.new("L", (300, 260), colour)
    image.paste("black", (0, 0, spot, spot))
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def look(
    *screens: bytes,
    later: tuple[bytes, ...] = (),
    console: tuple[str, ...] = (),
    asked: tuple[str, ...] = (),
    reason: str | None = None,
) -> Look:
    outcome = Outcome.PAGE_TIMEOUT if reason else Outcome.OK
    record = Record(PlannedTrial("1", 1, 1, CONDITION), outcome, reason, "", Observation(), None)
    shown = {Screenful(number): each for number, each in enumerate(screens, 1)}
    shown |= {Screenful(number, later=True): each for number, each in enumerate(later, 1)}
    return Look(record, shown, Behaviour({url: AskedFor(f"https://{url}") for url in asked}, console))


TOP, BOTTOM = screen("white", 60), screen("white", 200)
ORIGINAL = look(TOP, BOTTOM)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (look(TOP, BOTTOM), None),
        (look(TOP, screen("white")), "in screenful 2 of 2"),
        (look(TOP), "in screenful 2 of 1"),
        (look(TOP, BOTTOM, TOP), "in screenful 3 of 3"),
        (look(TOP, BOTTOM, console=("y is not defined",)), "new errors: y is not defined"),
        (look(TOP, BOTTOM, asked=("a.example/b.css",)), "https://a.example/b.css"),
        (look(reason="no load event within 60 s"), "page-timeout: no load event within 60 s"),
    ],
)
def test_every_difference_counts_and_is_named(made: Look, says: str | None) -> None:
    found = likeness("core", [ORIGINAL], [made])
    assert found.ok == (says is None)
    assert (says or "like the original") in str(found)


def test_each_screenful_counts_by_its_most_alike_pair() -> None:
    late_top, late_bottom = look(screen("white"), BOTTOM), look(TOP, screen("white"))
    assert not likeness("core", [ORIGINAL], [late_top]).ok
    assert likeness("core", [ORIGINAL], [late_top, late_bottom]).ok
    assert likeness("core", [late_top, late_bottom], [look(TOP, BOTTOM)]).ok


def test_what_happens_now_and_then_is_not_the_variants_doing() -> None:
    now = look(TOP, BOTTOM, console=("z failed",), asked=("a.example/z",))
    assert not likeness("core", [ORIGINAL], [now, now]).ok
    assert likeness("core", [ORIGINAL], [now, look(TOP, BOTTOM)]).ok
    assert likeness("core", [ORIGINAL, now], [now]).ok
    assert likeness("core", [ORIGINAL], [look(reason="crash"), look(TOP, BOTTOM)]).ok


def test_where_the_original_changes_by_itself_nothing_is_told() -> None:
    other = look(TOP, screen("white"))
    found = likeness("core", [ORIGINAL, other], [look(TOP, screen("white", 120))])
    assert (found.ok, found.unsteady, found.screenful) == (True, (Screenful(2),), Screenful(1))
    assert "screenful 2 not compared" in str(found)
    assert not likeness("core", [ORIGINAL, other], [look(screen("white"), BOTTOM)]).ok
    assert not likeness("core", [look(TOP), look(screen("white"))], [look(BOTTOM)]).ok


def test_the_page_counts_also_as_it_is_later() -> None:
    original = look(TOP, BOTTOM, later=(BOTTOM, TOP))
    assert likeness("core", [original], [look(TOP, BOTTOM, later=(BOTTOM, TOP))]).ok
    found = likeness("core", [original], [look(TOP, BOTTOM, later=(TOP, TOP))])
    assert not found.ok
    assert "in screenful 1 (later) of 2" in str(found)
    longer = likeness("core", [original], [look(TOP, BOTTOM, later=(BOTTOM, TOP, TOP))])
    assert longer.screenful == Screenful(3, later=True)


def loaded(
    engine: Engine,
    *asked: str,
    errors: tuple[str, ...] = (),
    blank: bool | None = None,
    reason: str | None = None,
) -> Record:
    cell = replace(CONDITION, engine=engine, protocol=Protocol.HTTP1)
    outcome = Outcome.PAGE_ERROR if reason else Outcome.OK
    seen = Observation(requested=asked, console_errors=errors, blank=blank)
    return Record(PlannedTrial("1", 1, 1, cell), outcome, reason, "", seen, None)


THERE = loaded(Engine.CHROMIUM, "a/", "a/1.png", "a/2.png", "a/3.png", errors=("x at https://a/1.js:1",))
ALL = ("a/", "a/1.png", "a/2.png", "a/3.png")


@pytest.mark.parametrize(
    ("here", "reason"),
    [
        (loaded(Engine.QTWEBKIT, *ALL), None),
        (loaded(Engine.QTWEBKIT, *ALL, errors=("x at https://a/1.js:7", "SyntaxError")), None),
        (loaded(Engine.QTWEBKIT, *ALL[:2]), None),
        (loaded(Engine.QTWEBKIT, *ALL, blank=True), "it shows nothing"),
        (loaded(Engine.QTWEBKIT, *ALL[:1]), "it asks for 25% of what it should"),
        (loaded(Engine.QTWEBKIT, *ALL[:2], errors=("SyntaxError",)), "a script stops"),
        (loaded(Engine.QTWEBKIT, reason="no load event"), "qtwebkit: page-error, no load event"),
    ],
)
def test_a_page_works_in_an_engine_that_shows_it_and_asks_for_what_another_asks_for(
    here: Record, reason: str | None
) -> None:
    fit = engine_fit(here, THERE, TOP, TOP)
    assert fit.ok == (reason is None)
    assert (reason or "") in str(fit)
    assert fit.similarity == pytest.approx(1.0)


def test_fonts_of_one_engine_only_are_one_line() -> None:
    fonts = tuple(f"a/{number}.woff2" for number in range(43))
    fit = engine_fit(loaded(Engine.QTWEBKIT, *ALL, "a/4.png", *fonts), THERE, None, None)
    image, others = fit.details
    assert image == "only here: a/4.png"
    assert tells([others], "only here", "43 fonts", "a/0.woff2")
