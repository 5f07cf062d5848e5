"""What a page asks for and when: of real loads (Chromium 156, 10 Mbit/s, 50 ms, three each), and case by case.

Recipes come back as they were kept, and a damaged one is told and as good as none.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.capacity.recipe import DOCUMENT, Item, KeptRecipes, PageRecipe, network_ms, recipe_of
from harness.engines.browserlog import Failure, Request
from harness.engines.chromium.netlog import parse_netlog
from harness.errors import MeasurementRefused
from harness.model.condition import Served
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from tests.facts import tells

DATA = Path(__file__).parents[3] / "data" / "recipe"
START = "https://site.example/"


def real(name: str, loads: int = 3) -> PageRecipe:
    texts = [gzip.decompress((DATA / f"{name}-{number + 1}.json.gz").read_bytes()) for number in range(loads)]
    return recipe_of([parse_netlog(text.decode()).page_requests for text in texts])


def number(recipe: PageRecipe, end: str) -> int:
    (index,) = [number for number, wanted in enumerate(recipe.objects) if wanted.url.endswith(end)]
    return index


def all_before(recipe: PageRecipe, index: int) -> set[int]:
    """What an object waits for, also by way of others."""
    before = set(recipe.objects[index].after)
    for other in before - {DOCUMENT}:
        before = before | all_before(recipe, other)
    return before


@pytest.mark.parametrize("protocol", ["h2", "http1"])
def test_all_of_the_dummy_page_stands_in_its_document(protocol: str) -> None:
    made = real(f"dummy-{protocol}")
    assert made.requests == 24
    assert made.hosts == ("dummy.example",)
    assert {wanted.after for wanted in made.objects} == {(DOCUMENT,)}
    assert {wanted.url.rpartition(".")[2] for wanted in made.objects[:3]} == {"css"}
    assert {wanted.url.rpartition(".")[2] for wanted in made.objects[3:]} == {"png", "jpg"}
    assert {wanted.status for wanted in made.objects} == {200}
    assert made.left_out == 0


def test_one_load_alone_takes_chance_for_a_dependency() -> None:
    """In the first of these loads some pictures were asked for late, after the style sheets had come."""
    texts = [gzip.decompress((DATA / f"dummy-h2-{number}.json.gz").read_bytes()) for number in (1, 2, 3)]
    alone = [recipe_of([parse_netlog(text.decode()).page_requests]) for text in texts]
    assert any({wanted.after for wanted in made.objects} != {(DOCUMENT,)} for made in alone)


@pytest.mark.parametrize("protocol", ["h2", "http1"])
def test_the_agency_page_waits_for_style_sheets_and_scripts(protocol: str) -> None:
    made = real(f"agency-{protocol}")
    assert made.requests == 33
    assert len(made.hosts) == 6
    style, script = number(made, "/css/styles.css"), number(made, "all.js")
    assert made.objects[style].after == (DOCUMENT,)
    for end in ("header-bg.jpg", "map-image.png", "montserrat-latin-400-normal.woff2"):
        assert {style, script} <= all_before(made, number(made, end))
    (missed,) = [wanted for wanted in made.objects if wanted.status == 404]
    assert missed.url.endswith("sb-forms-latest.js")
    headers = made.objects[number(made, "header-bg.jpg")].headers
    assert headers["referer"].endswith("/css/styles.css")
    assert "host" not in headers


def test_an_object_waits_for_none_that_stands_behind_it() -> None:
    for name in ("dummy-h2", "dummy-http1", "agency-h2", "agency-http1"):
        for place, wanted in enumerate(real(name).objects):
            assert wanted.after
            assert all(DOCUMENT <= other < place for other in wanted.after)


def test_the_json_of_the_generator() -> None:
    told = real("dummy-h2").to_json()
    assert told["document"] == "https://dummy.example/"
    assert told["headers"]["sec-fetch-dest"] == "document"
    assert list(told["objects"][0]["after"]) == [DOCUMENT]
    assert told["objects"][0]["method"] == "GET"
    assert told["objects"][0]["headers"]["referer"] == "https://dummy.example/"


def asked(url: str, asked_ms: float, ended_ms: float | None, **changes: Any) -> Request:
    made = Request(
        url=url,
        method="GET",
        of_page=True,
        main_frame=url == START,
        started_ms=asked_ms,
        protocol="h2",
        status=200,
        failure=None,
        body_bytes=1,
        chain=hash(url),
        accepts="document" if url == START else "script",
        asked_ms=asked_ms,
        ended_ms=ended_ms,
    )
    return replace(made, **changes)


DOC = asked(START, 0, 100)


def after(*requests: Request) -> list[tuple[int, ...]]:
    return [wanted.after for wanted in recipe_of([(DOC, *requests)]).objects]


def test_a_script_leads_on_and_a_picture_does_not() -> None:
    picture = asked("https://a.example/p.png", 110, 120, accepts="image")
    script = asked("https://a.example/s.js", 111, 130)
    data = asked("https://a.example/data", 140, 150, accepts="empty")
    last = asked("https://a.example/last", 160, 170, accepts="image")
    assert after(picture, script, data, last) == [(-1,), (-1,), (1,), (2,)]


def test_an_object_that_is_asked_for_while_the_document_arrives_waits_for_it() -> None:
    assert after(asked("https://a.example/p.png", 50, 120)) == [(-1,)]


def test_hops_of_redirects_follow_each_other() -> None:
    """The document is redirected once, and so is a script."""
    first = replace(DOC, status=301, ended_ms=20)
    second = asked("https://site.example/there", 20, 100, main_frame=True, chain=DOC.chain)
    hop = asked("https://a.example/s", 110, 120, status=302, chain=7)
    script = asked("https://a.example/s.js", 120, 130, chain=7)
    made = recipe_of([(first, second, hop, script)])
    assert made.document.url == START
    assert [wanted.after for wanted in made.objects] == [(-1,), (0,), (1,)]
    assert [wanted.status for wanted in made.objects] == [200, 302, 200]


def test_a_frame_that_still_arrives_is_known_by_the_referer() -> None:
    frame = asked("https://f.example/frame", 110, 200, accepts="iframe")
    own = (("referer", "https://f.example/frame"),)
    assert after(frame, asked("https://f.example/s.js", 150, 160, sent=own)) == [(-1,), (0,)]
    origin = (("referer", "https://f.example/"),)
    assert after(frame, asked("https://g.example/s.js", 150, 160, sent=origin)) == [(-1,), (0,)]


def test_what_was_taken_back_or_never_sent_is_no_part_of_the_page() -> None:
    unsent = asked("https://a.example/1", 110, None, protocol=None, status=None)
    unanswered = asked("https://a.example/2", 110, None, status=None, failure=Failure.ABORTED)
    assert after(unsent, unanswered) == []


def test_only_what_every_load_asked_for_is_part_of_the_page() -> None:
    script, extra = asked("https://a.example/s.js", 110, 120), asked("https://a.example/x.js", 115, 120)
    made = recipe_of([(DOC, script, extra), (DOC, script)])
    assert [wanted.url for wanted in made.objects] == ["https://a.example/s.js"]
    assert made.left_out == 1


def test_network_time_is_from_asking_for_the_document_to_the_last_byte_of_all() -> None:
    unanswered = asked("https://a.example/2", 110, None, status=None)
    script = asked("https://a.example/s.js", 110, 220)
    assert network_ms([replace(DOC, asked_ms=5), script, replace(script, ended_ms=150), unanswered]) == 215


def test_the_same_url_twice_is_asked_for_twice() -> None:
    one = asked("https://a.example/s.js", 110, 120)
    assert len(recipe_of([(DOC, one, replace(one, asked_ms=130, ended_ms=140, chain=9))] * 2).objects) == 2


def test_a_load_without_an_answer_makes_no_recipe() -> None:
    with pytest.raises(MeasurementRefused, match="no request that was answered"):
        recipe_of([()])


PAGE = Served("agency", Protocol.H2, Engine.CHROMIUM)
HEADERS = {"accept": "text/css", "referer": "https://a.example/"}
RECIPE = PageRecipe(
    Item("https://a.example/", "GET", {"accept": "text/html"}, 200, ()),
    (
        Item("https://a.example/s.css", "GET", HEADERS, 200, (DOCUMENT,)),
        Item("https://b.example/x\x1b[31m", "POST", {}, 404, (0,)),
    ),
    left_out=3,
)


@pytest.fixture
def warned() -> list[str]:
    return []


@pytest.fixture
def kept(tmp_path: Path, warned: list[str]) -> KeptRecipes:
    return KeptRecipes(tmp_path / "recipes", warned.append)


def the_file(folder: Path) -> Path:
    (path,) = (folder / "recipes").iterdir()
    return path


def test_a_recipe_comes_back_as_it_was_kept(kept: KeptRecipes, tmp_path: Path, warned: list[str]) -> None:
    assert kept.read(PAGE, "digest") is None
    kept.write(PAGE, "digest", RECIPE)
    assert kept.read(PAGE, "digest") == RECIPE
    assert kept.read(PAGE._replace(protocol=Protocol.H3), "digest") is None
    assert the_file(tmp_path).name == "agency-h2-chromium.json"
    assert warned == []


def test_that_of_another_archive_is_none(kept: KeptRecipes, warned: list[str]) -> None:
    kept.write(PAGE, "digest", RECIPE)
    assert kept.read(PAGE, "another") is None
    assert tells(warned[:1], "another archive", "learned anew")


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def apply(text: bytes) -> bytes:
        data = json.loads(text)
        change(data)
        return json.dumps(data).encode()

    return apply


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-20],
        lambda _: b"",
        lambda _: b"\xff\x00",
        lambda _: b"[]",
        lambda _: b"[" * 100_000,
        changed(lambda data: data.pop("items")),
        changed(lambda data: data["items"].clear()),
        changed(lambda data: data["items"][1].update(after=[1])),
        changed(lambda data: data["items"][1].update(after=[-2])),
        changed(lambda data: data["items"][0].update(after=[-1])),
        changed(lambda data: data["items"][1].update(url=7)),
        changed(lambda data: data["items"][1].update(status="200")),
        changed(lambda data: data["items"][1].update(more="\x1b[31m")),
        changed(lambda data: data.update(schema=2)),
    ],
)
def test_a_damaged_one_is_told_in_a_line_and_is_none(
    damage: Callable[[bytes], bytes], kept: KeptRecipes, tmp_path: Path, warned: list[str]
) -> None:
    kept.write(PAGE, "digest", RECIPE)
    path = the_file(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    assert kept.read(PAGE, "digest") is None
    (line,) = warned
    assert line.startswith(f"{path} is damaged (")
    assert "learned anew" in line
    assert line.isprintable()
    kept.write(PAGE, "digest", RECIPE)
    assert kept.read(PAGE, "digest") == RECIPE
