"""Minified style sheets: rule by rule, the same tokens, in linear time. tinycss2 is the other opinion."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
import tinycss2  # type: ignore[import-untyped, unused-ignore]  # has no types
from hypothesis import given
from hypothesis import strategies as st

from sites.optimise.cssminify import minified
from sites.optimise.stylesheet import tokens

SHORT = {
    "a { b : c ; d : e ; }": "a{b:c;d:e}",
    "a{--x: ;--y : { a:b } ; c:d}": "a{--x: ;--y:{ a:b };c:d}",
    "@property --x { syntax : '*' ; initial-value : 0.0px }": "@property --x{syntax:'*';initial-value:0.0px}",
    "@container cards ( width > 30em ) { a { b : c } }": "@container cards (width>30em){a{b:c}}",
    "@container style( --a: b ) { c { d : e } }": "@container style(--a:b){c{d:e}}",
    "@scope ( .a ) to ( .b * ) { p { c : d } }": "@scope (.a) to (.b *){p{c:d}}",
    "@supports selector( .a * ) { p { c : d } }": "@supports selector(.a *){p{c:d}}",
    "@scope ( .a :hover ) to ( .b ) { :scope { c : d } }": "@scope (.a :hover) to (.b){:scope{c:d}}",
    ".a { & > .b , .c & { d : e ; &:hover { f : g } } }": ".a{&>.b,.c &{d:e;&:hover{f:g}}}",
    ".a { @media ( min-width : 1px ) and (hover) { b : c } }": ".a{@media (min-width:1px) and (hover){b:c}}",
    "a { transform : translate( -50% , 0 ) }": "a{transform:translate(-50%,0)}",
    "a { b : calc( 1px + 2px * ( 3 - var( --x , ) ) ) }": "a{b:calc(1px + 2px*(3 - var(--x, )))}",
    "a :not( .b > .c ) + d::before{}": "a :not(.b>.c)+d::before{}",
    ":nth-child( 2n + 1 of .a ){}": ":nth-child(2n + 1 of .a){}",
    "a[ b = 'c'  i ] , d [ e ]{}": "a[b='c'i],d [e]{}",
    "@supports not ( ( --a: b ) or selector( c > d :hover ) ){}": "@supports not ((--a:b) or selector(c>d :hover)){}",
    "@import url( 'x' )  layer( a )  supports( b : c ) ;": "@import url('x') layer(a) supports(b : c);",
    "@layer a , b ; @layer a { }": "@layer a,b;@layer a{}",
    "@keyframes k { from , 50.5% { a : b } }": "@keyframes k{from,50.5%{a:b}}",
    "@font-face { unicode-range : U+26, U+0-7F , U+4?? }": "@font-face{unicode-range:U+26,U+0-7F,U+4??}",
    "a { b : 0.50 -0.5px 10.0 1.0px 0.0 1.5e3px 100.50% }": "a{b:.5 -.5px 10.0 1.0px 0.0 1.5e3px 100.5%}",
    "a { b : red ! important ; *zoom : 1 }": "a{b:red!important;*zoom:1}",
    "a { font : 1px / 2 b ; grid-area : 1 / 2 }": "a{font:1px/2 b;grid-area:1/2}",
    "a { b : c/* x */d ; /* y */ e : f /*! z */ g }": "a{b:c/**/d;e:f /*! z */ g}",
    "/* x */ /*! y */ a { b : 'c  /* d */' }": "/*! y */a{b:'c  /* d */'}",
    "<!-- a { b : c } -->": "<!--a{b:c}-->",
    "@page :first { margin : 1px }": "@page :first{margin:1px}",
}
# In each of these something is not understood, which stays, and what follows is minified.
LEFT = {
    "@new  x { a { b } }": "@new  x { a { b } }",
    "@new  x ;": "@new  x;",
    "@media x { @new  ( y ) { a : b } }": "@media x{@new  ( y ) { a : b }}",
    "a { filter : progid:X.Y( a = 'b' , c=d ) }": "a{filter:progid:X.Y( a = 'b' , c=d )}",
    "a { width : expression( b + c ) }": "a{width:expression( b + c )}",
    "a[b ~ = c]{d:e}": "a[b~ =c]{d:e}",
    "a { --b:; --c: ; }": "a{--b:;--c: }",
    "a / b  { c : d }": "a / b{c:d}",
    "} e  { c : d }": "} e{c:d}",
    "a { b : c ) d  e ; f : g }": "a{b:c) d e;f:g}",
    "a { b : url(var(--c)) ; d : e }": "a{b:url(var(--c));d:e}",
    "a { b  c ; d : e }": "a{b  c;d:e}",
}


@pytest.mark.parametrize("css", list(SHORT))
def test_what_is_understood_becomes_short(css: str) -> None:
    assert minified(css) == SHORT[css]


@pytest.mark.parametrize("css", list(LEFT))
def test_what_is_not_understood_stays_as_a_rule_and_not_as_a_sheet(css: str) -> None:
    assert minified(f"{css} z  {{ y : x }}") == f"{LEFT[css]}z{{y:x}}"


@pytest.mark.parametrize(
    "css",
    [
        "a{b:c",
        "a{b:(c}",
        "a{b:'c\n}",
        'a{b:"c',
        "a{}/* b",
        "a{b:url(c",
        "a{b:\\\n}",
        "a{b:\0}",
        "@media x{a{}",
    ],
)
def test_what_is_not_closed_is_rejected(css: str) -> None:
    assert minified(css) is None


def test_a_character_set_that_is_not_at_the_head_does_not_come_there() -> None:
    assert minified('/* a */ @charset "x"; b{}') == ' @charset "x";b{}'
    assert minified('@charset "x"; b{}') == '@charset "x";b{}'


IDENT = st.sampled_from(["a", "b-c", "--x", "-webkit-y", "\\31 0", "\u00e9", "e3", "U", "and", "--"])
ATOM = st.one_of(
    IDENT,
    st.sampled_from(
        ["0.50", "-0.5px", "1.0", "+.5e3", "10%", "#fff", "#0.5", "'s  t'", '"/* u */"', "url( v )", "url('w  x')",
         "+", "-", "*", "/", ">", "~", ",", ":", "!", "=", "<", "|", ".", "&", "?", "$", "<!--", "-->", "@media"]
    ),
    st.builds("({})".format, IDENT),
    st.builds("[{}='x']".format, IDENT),
    st.builds("f( {} , {} )".format, IDENT, IDENT),
)  # fmt: skip
GAP = st.sampled_from(["", " ", "\n  ", "/**/", " /* c */ "])
PIECE = st.lists(st.tuples(ATOM, GAP), max_size=6).map(lambda parts: "".join(a + b for a, b in parts))
DECLARATION = st.builds("{}{}:{}{}".format, IDENT, GAP, GAP, PIECE)
RULE: st.SearchStrategy[str] = st.recursive(
    st.builds("{} {{{};{}}}".format, PIECE, DECLARATION, DECLARATION),
    lambda inner: (
        st.builds("{}{{{}{}}}{}".format, PIECE, DECLARATION, inner, GAP)
        | st.builds("@media ({}){{{}{}}}".format, PIECE, inner, inner)
        | st.builds("{};{}".format, DECLARATION, inner)
    ),
    max_leaves=4,
)
SHEET = st.lists(st.builds("{}{}".format, RULE, GAP), max_size=4).map("".join)


def flat(nodes: Sequence[Any], within: str = "") -> Iterator[str]:
    """The tokens of a sheet by tinycss2, with the white space that may mean something, without last semicolons."""
    nodes = [
        node
        for before, node in pairwise([None, *(node for node in nodes if node.type != "comment")])
        if node.type != "whitespace" or before is None or before.type != "whitespace"
    ]
    for at, node in enumerate(nodes):
        around = [nodes[each] if 0 <= each < len(nodes) else None for each in (at - 1, at + 1)]
        if node.type == "whitespace":
            plain = [each is not None and each.type not in ("literal", "{} block") for each in around]
            if all(plain):
                yield " "
        elif node.type in ("{} block", "() block", "[] block", "function"):
            content = node.arguments if node.type == "function" else node.content
            yield f"{node.type}{getattr(node, 'lower_name', '')}"
            yield from flat(content, node.type)
            yield "end"
        elif node == ";":
            yield from () if within == "{} block" else ";"
        elif node.type in ("number", "dimension", "percentage"):
            yield f"{node.value}{node.is_integer}{getattr(node, 'lower_unit', '')}"
        else:
            yield f"{node.type} {getattr(node, 'value', '')}"


@pytest.mark.thorough
@given(SHEET)
def test_the_tokens_are_the_same(css: str) -> None:
    short = minified(css)
    if short is None:
        return
    assert len(short) <= len(css)
    before, after = (
        list(flat(tinycss2.parse_component_value_list(each, skip_comments=True))) for each in (css, short)
    )
    assert before == after


@given(st.text("ab0.5-+ \n\\\"'/*(){}[];:@#<>!,urlURL\0\u00e9", max_size=60))
def test_tokens_are_the_text_and_any_text_is_survived(css: str) -> None:
    assert "".join(token.text for token in tokens(css)) == css
    short = minified(css)
    assert short is None or len(short) <= len(css) + 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("unit", "end"),
    [("a{", ""), ("a{", "}"), ("@media x{", "}"), ("a{b:(", ""), ("/* ", ""), ('a{b:"', ""), (":not(", ")"),
     ("--x:{", "}"), ("}", ""),
     ("a , ", ""), ("<!--", ""), ("url(a ", ""), ("@x ", ""), ("0", ""), ("\\", ""), ("@media ((", "))")],
)  # fmt: skip
def test_time_is_linear_on_hostile_sheets(unit: str, end: str) -> None:
    def seconds(times: int) -> float:
        css = unit * times + end * times
        spent = []
        for _ in range(3):
            before = time.process_time()
            minified(css)
            spent.append(time.process_time() - before)
        return min(spent)

    assert seconds(16_000) < 30 * (seconds(2_000) + 0.001)  # eight times as long; quadratic would be 64 times
