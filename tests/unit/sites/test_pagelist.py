"""Lists of pages: what stands in them, what is done again and what is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ArchiveError
from sites.archive import Archive, fragment_warning, write_archive
from sites.archiving import Wanted, archive_all, default_name, read_list
from sites.response import Response
from sites.warc import About
from tests.facts import tells


def listed(tmp_path: Path, text: str | bytes) -> list[tuple[str, str]]:
    path = tmp_path / "list"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [(page.url, page.name) for page in read_list(path)]


def test_urls_names_and_comments(tmp_path: Path) -> None:
    text = "\ufeff# pages\r\nhttps://A.example\n\nhttps://b.example/x?y=1#part  second # why\nhttps://a.example/\n"
    assert listed(tmp_path, text) == [
        ("https://a.example/", "a.example"),
        ("https://b.example/x?y=1#part", "second"),
    ]


def test_lines_that_differ_by_fragment_alone_are_one_page_that_loses_something(tmp_path: Path) -> None:
    view = "https://a.example/#/b"
    for text in (f"https://a.example/\n{view}\n", f"{view}\nhttps://A.example/#\n", f"{view}\n{view}\n"):
        assert listed(tmp_path, text) == [(view, "a.example")]
    (page,) = read_list(tmp_path / "list")
    assert [tells(fragment_warning(url), "behind #") for url in (page.url, "https://a.example/#")] == [
        True,
        False,
    ]
    recorded(page, tmp_path)
    (again,) = archive_all([page], tmp_path, lambda page, _: recorded(page, tmp_path), jobs=1)
    assert again.said == "archived already"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# nothing\n", "names no page"),
        ("a.example", "line 1: 'a.example' is no absolute URL"),
        ("https://a.example/ one two", "line 1: 3 words"),
        ("\nhttps://a.example/ ../up", r"line 2: an archive cannot be called '\.\./up'"),
        ("https://a.example/ x\nhttps://b.example/ x", "lines 1 and 2: both pages would be archived as x"),
        (b"\xff\xfe", "it is no text"),
    ],
)
def test_bad_lists_are_refused_by_line(tmp_path: Path, text: str | bytes, why: str) -> None:
    with pytest.raises(ArchiveError, match=why):
        listed(tmp_path, text)
    with pytest.raises(ArchiveError, match=r"cannot read the list .*none: No such file"):
        read_list(tmp_path / "none")


def test_names_come_from_the_whole_url() -> None:
    assert default_name("https://a.example/") == "a.example"
    assert default_name("https://a.example/b/c.html?d=%20e") == "a.example-b-c.html-d-20e"
    assert default_name(f"https://a.example/{'x' * 300}")[:20] == "a.example-xxxxxxxxxx"
    assert default_name("https://bücher.example/") == "xn--bcher-kva.example"


def recorded(page: Wanted, root: Path) -> Archive:
    return write_archive(
        root, page.name, About(page.url, "test", "", ()), [Response(page.url, 200, (), b"x")]
    )


def test_what_is_archived_is_skipped_and_failures_do_not_end_the_rest(tmp_path: Path) -> None:
    asked: list[str] = []

    def archive_one(page: Wanted, go_on: Callable[[], None]) -> Archive:
        asked.append(page.name)
        go_on()
        if page.name == "bad":
            raise ArchiveError("nobody answered")
        return recorded(page, tmp_path)

    pages = [Wanted(f"https://{name}.example/", name) for name in ("a", "bad", "taken", "b")]
    recorded(Wanted("https://other.example/", "taken"), tmp_path)

    def run(*, replace: bool = False) -> dict[str, str | None]:
        asked.clear()
        outcomes = archive_all(pages, tmp_path, archive_one, jobs=2, replace=replace)
        return {each.wanted.name: each.said if each.archive else f"failed: {each.said}" for each in outcomes}

    taken = "failed: the name taken is taken by https://other.example/; write another name"
    assert run() == {"a": "", "b": "", "bad": "failed: nobody answered", "taken": taken}
    assert sorted(asked) == ["a", "b", "bad"]
    assert run()["a"] == "archived already"
    assert asked == ["bad"]
    assert run(replace=True)["taken"] == ""


def test_as_many_at_a_time_as_asked_and_all_stop_with_the_caller(tmp_path: Path) -> None:
    both = threading.Barrier(3)
    ended: list[str] = []

    def archive_one(page: Wanted, go_on: Callable[[], None]) -> Archive:
        if page.name == "quick":
            return recorded(page, tmp_path)
        both.wait()
        try:
            while True:
                go_on()
        finally:
            ended.append(page.name)

    pages = [Wanted(f"https://{name}.example/", name) for name in ("quick", "a", "b", "never")]
    outcomes = archive_all(pages, tmp_path, archive_one, jobs=2)
    assert next(outcomes).wanted.name == "quick"
    both.wait()  # the other two run side by side
    outcomes.close()  # type: ignore[attr-defined]
    assert sorted(ended) == ["a", "b"]
