"""Minified scripts do what they did before: each trap is run by Node, before and after."""

from __future__ import annotations

import json
import re
import subprocess
import time
from functools import cache
from pathlib import Path

import pytest

from sites.optimise import script
from sites.servers.nodepackages import node

HERE = Path(__file__).parent
# What the minifier leaves alone, as it may: the parser rejects it, or the shorter form is another program.
LEFT_ALONE = {
    "heredoc",  # reads a comment of its own
    "less not minus",  # a<! --b would begin a comment of HTML
    "less bang",
    "numeric member",
    "unicode ids",
    "sloppy block fn else",
    "getter/static ids",
}
# Syntax of ECMAScript 2016 and later, which a minifier must not put where there was none.
NEWER = ("catch{", "**", "?.", "??", "=>", "`")


@cache
def traps() -> dict[str, str]:
    text = (HERE / "traps.js").read_bytes().decode()  # with its CRLF
    _, *parts = re.split(r"(?m)^//= (.*)\n", text)
    return {name: source[:-1] for name, source in zip(parts[::2], parts[1::2], strict=True)}


def ran(scripts: list[str]) -> list[str]:
    """What each script said in a world of its own."""
    done = subprocess.run(
        [node(), HERE / "runscripts.js"],
        input=json.dumps(scripts),
        capture_output=True,
        text=True,
        check=True,
    )
    said: list[str] = json.loads(done.stdout)
    return said


@cache
def before_and_after() -> dict[str, tuple[str, str]]:
    """By trap that was minified: what it said before, and after."""
    minified = {name: script.minified(source) for name, source in traps().items()}
    shorter = {name: text for name, text in minified.items() if text is not None}
    said = zip(ran([traps()[name] for name in shorter]), ran(list(shorter.values())), strict=True)
    return dict(zip(shorter, said, strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(traps()))
def test_a_minified_script_does_what_it_did(name: str) -> None:
    assert (name not in before_and_after()) == (name in LEFT_ALONE)
    if name not in LEFT_ALONE:
        before, after = before_and_after()[name]
        assert before == after


def test_no_syntax_is_written_that_was_not_there() -> None:
    assert traps()
    for source in traps().values():
        short = script.minified(source) or ""
        assert [
            mark for mark in NEWER if mark in short and mark not in source.replace("catch {", "catch{")
        ] == []


@pytest.mark.parametrize(("behind", "strict"), [("'use strict'", True), ("a()", False)])
def test_many_comments_before_a_directive_take_no_time(behind: str, *, strict: bool) -> None:
    started = time.process_time()
    assert script.is_strict("/*x**/ // y\n" * 25 + behind) == strict
    assert time.process_time() - started < 2


@pytest.mark.parametrize("source", ["{/*\n*/}" * 20_000, "x=`" + "{/*\n" * 60_000 + "`.toString()"])
def test_many_comments_of_lines_take_no_square_of_the_time(source: str) -> None:
    started = time.process_time()
    assert script.minified(source) is not None
    assert time.process_time() - started < 5


def test_what_is_minified_is_shorter_and_keeps_its_licence() -> None:
    assert script.minified("/*! by me */ var a = 1 ; // one\nvar b ;") == "/*! by me */var a=1;var b;"
    assert script.minified("try { a ( ) } catch ( e ) { b ( ) }") == "try{a()}catch(e){b()}"
