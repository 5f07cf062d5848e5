"""What a script asks for, told by its tokens."""

from __future__ import annotations

import time

import pytest

from sites.optimise.scriptfacts import Lookup, facts_of


@pytest.mark.parametrize(
    "script",
    [
        "import('./m.js').then(f)",
        "import /* chunk: 'a' */ (name)",
        "f(`${import('./m.js')}`)",
        "import('./m.js', { with: { type: 'json' } })",
        "import.source('./m.wasm')",
        "new Function('u', 'return import(u)')('./m.js')",
        "(0, eval)('import(\"./m.js\")')",
        "setTimeout(\"import('./m.js')\", 1)",
        "var code = 'import(\"./m.js\")'; eval(code)",
    ],
)
def test_a_script_that_imports(script: str) -> None:
    assert facts_of(script).imports


@pytest.mark.parametrize(
    "script",
    [
        "// import('./m.js')\n/* import('./m.js') */ f()",
        "var s = \"import('./m.js')\"",
        "/import('x')/.test(s)",
        "o.import('./m.js'); ({ import() {} })",
        "importScripts('m.js'); new Worker('w.js')",
        "import d from './m.js'",
    ],
)
def test_a_script_that_only_speaks_of_importing(script: str) -> None:
    assert not facts_of(script).imports


@pytest.mark.parametrize(
    ("script", "selector", "reads"),
    [
        ("document.querySelector('link[href*=theme]')", "link[href*=theme]", ""),
        ('all("script[src*=\\"" + name + "\\"]")', "script[src]", ""),
        ("$(`img[src$='${ending}']`).attr('src')", "img[src]", "src"),
        ("document.scripts[i].src", "script", "src href"),
        ("for (s of document.styleSheets) s.ownerNode", "link,style", "src href"),
        ("e.getElementsByTagName('link')", "link", "src href"),
        ("document.getElementsByTagNameNS('*', 'style')", "style", ""),
        ("document.getElementById('logo').src", "#logo", "src"),
        ("document.getElementsByClassName('big logo')[1].currentSrc", ".big.logo", ""),
        ("document.evaluate('//script[@src]', document, null, 9)", "script", "src href"),
        ("eval('document.querySelector(\"link[href]\")')", "link[href]", ""),
        ("e.closest('p:nth-child(2)')", "p:nth-child(2)", ""),
    ],
)
def test_what_a_script_looks_for(script: str, selector: str, reads: str) -> None:
    assert Lookup(selector, reads=frozenset(reads.split())) in facts_of(script).lookups


def test_the_first_script_is_a_place_unless_its_file_is_asked_for() -> None:
    place = "var s = document.getElementsByTagName('script')[0]; "
    insert = "g.src = 'x.js'; s.parentNode.insertBefore(g, s)"
    assert facts_of(place + insert).lookups == {Lookup("script", first=True)}
    (asked,) = facts_of(place + "var base = s.src").lookups
    assert asked.reads == {"src", "href"}


@pytest.mark.parametrize(
    "script",
    [
        "!!div.getElementsByTagName('link').length",
        "grep(made[i].getElementsByTagName('script'), f)",
        "$('<img src=\"a.png\">')",
        "selector + '[href=\"' + target + '\"]'",
        "e.not('[src]')",
        "'[object Object]'",
        "create('img', { src: 'a.png' })",
    ],
)
def test_what_libraries_do_with_elements_of_their_own_is_no_looking(script: str) -> None:
    assert facts_of(script).lookups == set()


def test_attributes_that_a_script_reads() -> None:
    script = "a.getAttribute('TYPE'); $(b).attr('method'); c.hasAttribute(name)"
    assert facts_of(script).attributes == {"type", "method"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "script",
    [
        "(" * 100_000,
        "getElementsByTagName('x'," * 20_000 + ")" * 20_000,
        "s = '" + "\\x41" * 100_000 + "'",
        "var s = document.getElementsByTagName('script')[0];" * 5_000,
        "a" + ".scripts" * 30_000,
        "f('a'" + " + 'a'" * 50_000 + ")",
    ],
)
def test_no_script_takes_long(script: str) -> None:
    """Each takes a fraction of a second; one that took the square of its length would take minutes."""
    started = time.process_time()
    facts_of(script)
    assert time.process_time() - started < 20
