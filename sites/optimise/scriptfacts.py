"""What a script asks for, by its syntax tree (tree-sitter): modules, elements, attributes. Pure.

Nothing is executed. The parser takes any text, and every pass over its tree is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

# Attributes that filters take out, put in or change. Which of them a script reads decides what it may notice.
WATCHED = frozenset({"src", "href", "type", "media", "rel", "loading", "defer", "target"})
_PARSER = Parser(Language(tree_sitter_javascript.language()))
_STRINGS = frozenset({"string", "template_string"})
_WANTED = _STRINGS | {"call_expression", "new_expression", "member_expression"}
# Methods that find elements by a selector, or tell some from others: of the DOM, of jQuery, of D3.
_FINDING = frozenset(
    {"querySelector", "querySelectorAll", "find", "children", "siblings", "parents", "selectAll"}
)
_TELLING = frozenset(
    {"matches", "matchesSelector", "webkitMatchesSelector", "mozMatchesSelector", "msMatchesSelector"}
) | {"closest", "filter", "not", "is"}
_FUNCTION = re.compile(
    r"[A-Za-z]|\$\$?|\$j|jq|jQuery|Zepto|Sizzle"
)  # of one argument, also under a minifier's name
_BY_NAME = {"getElementsByTagName": 0, "getElementsByTagNameNS": 1}
_READING = re.compile(r"(?!set|remove).*attr.*|getNamedItem", re.IGNORECASE)  # helpers of a page's own, too
_READ = re.compile(r"\.\s*attributes\s*(?:\.\s*|\[\s*[\"'])(\w+)")
_EVALUATING = frozenset({"eval", "Function", "setTimeout", "setInterval", "execScript"})
SHEETS = "link,style"
_COLLECTIONS = {"scripts": "script", "images": "img", "styleSheets": SHEETS}
_FILE = frozenset({"src", "href"})
# What stands in the head or body whatever it is called, and the document as text.
_PARTS = (
    (
        re.compile(
            r"\bdocument\s*\.\s*(?:(head)\s*\.\s*(?:children|childNodes)\b|(body)\s*\.\s*(?:children|childNodes)\s*\[)"
        ),
        "{} > *",
    ),
    (re.compile(r"\bdocument\s*\.\s*(head)\s*\.\s*(?:first|last)(?:Element)?Child\s*\."), "{} > *"),
    (
        re.compile(r"\bdocument\s*\.\s*(?:documentElement|head|body)\s*\.\s*(?:out|inn)erHTML\s*\."),
        "script,link,style,img",
    ),
)
_DOCUMENT = re.compile(r"(?:.*\.)?(?:document|ownerDocument)|doc|[A-Za-z]", re.DOTALL)
_ELEMENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_WITH_ATTRIBUTE = re.compile(
    r"(?<![\w-])(?:script|link|img|style|input)[\w.#:()-]*\[|\[\s*[A-Za-z][\w:-]*\s*[~|^$*]?="
)
_OPEN_ATTRIBUTE = re.compile(r"\[\s*([A-Za-z][\w:-]*)[^\]]*\Z")
_ALONE = re.compile(r"\[([\w-]+)\]")
_UNLIKE = re.compile(r"\[\s*([\w-]+)\s*!=[^\]]*\]")  # jQuery's, also for elements without the attribute
_XPATH = re.compile(r"(?:^|[/.:(])/?(script|link|style|img)\b")
_IMPORT = re.compile(r"\bimport\s*(?:\.\s*\w+\s*)?(?:/\*.{0,200}?\*/\s*)?\(", re.DOTALL)
_DECLARING = frozenset({"function_declaration", "generator_function_declaration", "class_declaration"})
_DECLARED_NAME = re.compile(r"\b(?:function\b[\s*]*|(?:class|let|const)\s+)([\w$]+)")
_EVALUATES = re.compile(r"\beval\b|\bFunction\s*\(|\bset(?:Timeout|Interval)\s*\(\s*[\"'`]")
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(\r\n|[\s\S]))")
_SHORT = 300  # characters of a selector, bytes of a name that is looked at
_FOLLOWED = 20  # first elements of a kind that are followed to where a script uses them


@dataclass(frozen=True)
class Lookup:
    """Elements that a script or style sheet looks for: a selector, whether only the first match counts, and which
    attributes of a match it may read. `styles`: it belongs to a style sheet and changes nothing but the look.
    """

    selector: str
    first: bool = False
    reads: frozenset[str] = frozenset()
    styles: bool = False


@dataclass(frozen=True)
class ScriptFacts:
    """What a script asks for. `imports`: it loads modules by `import()`, relative to where it stands itself.

    `attributes` are the names that it gives to methods which read attributes, `declared` those of functions, classes
    and variables (`let`, `const`) that hold for all of the page from the script's start.
    """

    imports: bool
    lookups: frozenset[Lookup]
    attributes: frozenset[str]
    declared: frozenset[str]


@lru_cache(maxsize=1024)
def facts_of(script: str) -> ScriptFacts:
    """What a script asks for, in strings that it evaluates, too."""
    return _FactsReader(script).facts()


Ancestors = tuple[Node | None, Node | None]  # the parent of a node and the parent of that


class _FactsReader:
    """One pass over a script."""

    def __init__(self, script: str, *, evaluated: bool = False) -> None:
        self._script = script
        self._evaluated = evaluated
        self._evaluates = _EVALUATES.search(script) is not None
        self._paths = ".evaluate(" in script
        self._followed = 0
        self._imports = False
        self._lookups: set[Lookup] = set()
        self._attributes = {name.lower() for name in _READ.findall(script)}
        self._lookups |= {
            Lookup(selector.format(*filter(None, found.groups())), reads=_FILE)
            for pattern, selector in _PARTS
            for found in pattern.finditer(script)
        }

    def facts(self) -> ScriptFacts:
        root = _PARSER.parse(self._script.encode("utf-8", "surrogatepass")).root_node
        self._imports = root.has_error and _IMPORT.search(self._script) is not None
        for node, above in _nodes(root):
            if node.type in _STRINGS:
                self._string(_value(node), follows=_is_right(node, above[0]))
            elif node.type == "member_expression":
                self._collection(node)
            else:
                self._call(node, above)
        reads = self._reads()
        lookups = (
            lookup if lookup.first else replace(lookup, reads=lookup.reads | reads)
            for lookup in self._lookups
        )
        declared = frozenset(_declared(root, self._script))
        return ScriptFacts(self._imports, frozenset(lookups), frozenset(self._attributes), declared)

    def _reads(self) -> frozenset[str]:
        names = re.findall(rf"(?:\.\s*|\[\s*[\"'])({'|'.join(sorted(WATCHED))})\b", self._script)
        return frozenset(names) | (self._attributes & WATCHED)

    def _string(self, text: str, *, follows: bool) -> None:
        """A selector with an attribute of a file, or with a value of one, is one wherever it stands; so is a path, in a
        script that evaluates paths. What `follows` another text goes on with the selector of that.
        """
        self._imports = self._imports or (self._evaluates and _IMPORT.search(text) is not None)
        if len(text) > _SHORT:
            return
        if "[" in text and _WITH_ATTRIBUTE.search(text) and not (follows and text.startswith("[")):
            self._selector(text)
        if self._paths and ("/" in text or "::" in text):
            self._lookups.update(Lookup(name, reads=_FILE) for name in _XPATH.findall(text))

    def _selector(self, text: str) -> None:
        """Of one that a script goes on with (`link[href*="` + name) the attribute counts, whatever its value; but not
        where an attribute is all there is, and none of a file.
        """
        text = _UNLIKE.sub(r"[\1]", text.strip()).rstrip("[ ")
        opened = _OPEN_ATTRIBUTE.search(text)
        if opened is not None:
            text = f"{text[: opened.start()]}[{opened[1]}]"
        alone = _ALONE.fullmatch(text)
        if alone is not None and alone[1].lower() not in WATCHED:
            return
        if text and len(text) <= _SHORT and not text.startswith(("<", "+", "~", ">", "*")):
            self._lookups.add(Lookup(text))

    def _collection(self, node: Node) -> None:
        """`document.scripts` and the like, whatever name the document goes by; `styleSheets` are nobody else's."""
        name = _text(node.child_by_field_name("property"))
        if name in _COLLECTIONS and (
            name == "styleSheets" or _DOCUMENT.fullmatch(_text(node.child_by_field_name("object")))
        ):
            self._lookups.add(Lookup(_COLLECTIONS[name], reads=_FILE if name != "images" else frozenset()))

    def _call(self, node: Node, above: Ancestors) -> None:
        """A call, or `new Function(...)`."""
        called = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        self._imports = self._imports or (called is not None and called.type == "import")
        name, given = _name(called), _arguments(node)
        if name in _EVALUATING and given and given[-1].type in _STRINGS and not self._evaluated:
            inner = _FactsReader(_value(given[-1]), evaluated=True).facts()
            self._imports = self._imports or inner.imports
            self._lookups |= inner.lookups
            self._attributes |= inner.attributes
        where = _BY_NAME.get(name, 0)
        if _READING.fullmatch(name):
            self._attributes |= {
                _value(argument).strip().lower() for argument in given if argument.type in _STRINGS
            }
        own = name in _BY_NAME and (_is_in_part(called) or _is_test(*above))
        if not own and len(given) > where and given[where].type in _STRINGS:
            self._ask(above, name, _value(given[where]).strip(), alone=len(given) == 1)

    def _ask(self, above: Ancestors, name: str, text: str, *, alone: bool) -> None:
        """What a call with a text looks for."""
        if name in _BY_NAME:
            if _ELEMENT_NAME.fullmatch(text):
                self._named(above, text.lower())
        elif name == "getElementsByClassName":
            self._selector("".join(f".{word}" for word in text.split()))
        elif name == "getElementById":
            self._selector(f"#{text}")
        elif name == "querySelector" and text.lower() in ("script", "link", "style"):
            self._first_of(above[0], text.lower())
        elif name in _TELLING:
            self._selector("" if _ALONE.fullmatch(text) else text)
        elif name in _FINDING or (alone and _FUNCTION.fullmatch(name)):
            self._selector(text)

    def _named(self, above: Ancestors, name: str) -> None:
        """`getElementsByTagName(...)[0]` finds a place to put something at; without the index it looks at all."""
        if above[0] is not None and _text(above[0].child_by_field_name("index")) == "0":
            self._first_of(above[1], name)
        else:
            self._lookups.add(Lookup(name, reads=_FILE if name in ("script", "link") else frozenset()))

    def _first_of(self, above: Node | None, name: str) -> None:
        """The first element of a name; its file counts where the script asks for that."""
        uses = "." + _text(above.child_by_field_name("property")) if above is not None else ""
        self._followed += 1
        for field in ("name", "left"):
            kept = _text(above.child_by_field_name(field)) if above is not None else ""
            if kept and self._followed <= _FOLLOWED:
                uses += "".join(re.findall(rf"(?<![\w$]){re.escape(kept)}(\s*\.\s*\w+)", self._script))
        asks = re.search(r"\.\s*(?:src|href|\w+Attribute|attributes|outerHTML)\b", uses)
        self._lookups.add(Lookup(name, True, _FILE if asks or self._followed > _FOLLOWED else frozenset()))


def _declared(root: Node, script: str) -> Iterator[str]:
    """What a script declares at its top, but by `var`; every name where the tree is broken."""
    if root.has_error:
        yield from _DECLARED_NAME.findall(script)
    for node in root.named_children:
        if node.type in _DECLARING:
            yield from _names(node.child_by_field_name("name"))
        elif node.type == "lexical_declaration":
            for declarator in node.named_children:
                yield from _names(declarator.child_by_field_name("name"))


def _names(pattern: Node | None) -> Iterator[str]:
    """The names in the place of a name: one, or those of `{a, b: [c]}`."""
    if pattern is None:
        return
    if pattern.text is not None and not pattern.named_children:
        yield pattern.text.decode("utf-8", "replace")
    for inner in pattern.named_children:
        yield from _names(inner)


def _nodes(root: Node) -> Iterator[tuple[Node, Ancestors]]:
    """Strings, calls and member expressions, in order, with what they stand in."""
    cursor = root.walk()
    stack: list[Node | None] = [None, None]
    while True:
        node = cursor.node
        if node is not None and node.type in _WANTED:
            yield node, (stack[-1], stack[-2])
        if cursor.goto_first_child():
            stack.append(node)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            stack.pop()


def _is_right(node: Node, above: Node | None) -> bool:
    """Whether it is put behind something else."""
    right = (
        above.child_by_field_name("right")
        if above is not None and above.type == "binary_expression"
        else None
    )
    return right is not None and right.id == node.id


def _text(node: Node | None) -> str:
    """Its source, "" when it is no short one."""
    source = node.text if node is not None and node.end_byte - node.start_byte <= _SHORT else None
    return "" if source is None else source.decode("utf-8", "replace")


def _value(node: Node) -> str:
    """The value of a string; of a template only what stands before its first substitution."""
    text = "" if node.text is None else node.text.decode("utf-8", "replace")[1:-1]
    if node.type == "template_string":
        text = text.partition("${")[0]
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return {"n": "\n", "t": "\t", "r": "\r", "\n": "", "\r\n": ""}.get(found[4], found[4])


def _name(called: Node | None) -> str:
    """What is called: the name of a function or method; of `(0, eval)(...)` the last one."""
    if called is not None and called.type == "member_expression":
        called = called.child_by_field_name("property")
    if called is not None and called.type == "parenthesized_expression":
        return _text(called).rstrip(") ").rpartition(",")[2].strip()
    return _text(called)


def _arguments(call: Node) -> list[Node]:
    """The arguments; of one that is put together the first piece."""
    given = call.child_by_field_name("arguments")
    if given is None or given.type != "arguments" or given.named_child_count > 20:
        return []
    return [_first_piece(argument) for argument in given.named_children if argument.type != "comment"]


def _first_piece(node: Node) -> Node:
    while node.type == "binary_expression" and (left := node.child_by_field_name("left")) is not None:
        node = left
    return node


def _is_in_part(called: Node | None) -> bool:
    """Whether a method is one of `parts[i]`: jQuery looks for the scripts in what it has made."""
    within = called.child_by_field_name("object") if called is not None else None
    whole = (
        within.child_by_field_name("object")
        if within is not None and within.type == "subscript_expression"
        else None
    )
    return whole is not None and whole.type != "call_expression"


def _is_test(above: Node | None, over: Node | None) -> bool:
    """JQuery asks whether an element of its own making holds a <link>: `!!div.getElementsByTagName("link").length`."""
    length = above is not None and _text(above.child_by_field_name("property")) == "length"
    return length and over is not None and over.type == "unary_expression"
