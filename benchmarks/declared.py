"""What types declare of their fields, for docs/reference: what may stand there, and the text below the field.

    block: Annotated[int, msgspec.Meta(ge=1, le=MAX_PLANNED)]
    \"\"\"round over all conditions\"\"\"

The text is no part of the running program, so it costs no start. A field without one is an error here.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import itertools
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

from harness.model.condition import Compression
from harness.model.engine import Device
from harness.model.variant import Variant

Row = Sequence[str]
MOST_WORDS = 8  # of an enum, that are listed
AS_TEXT = (Variant, Compression, Device)  # values that are stored by their names
PLAIN: Mapping[object, str] = {
    **{bool: "true or false", int: "whole number", float: "number", str: "text"},
    **{msgspec.Raw: "object", Any: "any value", type(None): "null"},
}


class Declared(NamedTuple):
    """A field of a type: what may stand there, and what it means."""

    value: str
    meaning: str


def listed(names: Iterable[object]) -> str:
    """Names as code, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def table(head: Row, rows: Iterable[Row]) -> str:
    """A table in Markdown."""
    lines = [[cell.replace("|", "\\|").replace("<", "&lt;") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *lines))


def declared(owner: type[Any]) -> dict[str, Declared]:
    """The fields of a dataclass, a Struct or a TypedDict, those of its bases first; ValueError for one without text."""
    hints = get_type_hints(owner, include_extras=True)
    meanings = {
        name: text
        for name, hint in hints.items()
        for text in getattr(hint, "__metadata__", ())
        if isinstance(text, str)  # of a key that is no name of Python
    }
    meanings |= {name: text for base in _bases(owner) for name, text in texts_below(base).items()}
    missing = [name for name in _fields(owner) if name not in meanings]
    if missing:
        raise ValueError(
            f"{owner.__module__}.{owner.__qualname__}: no text stands below {', '.join(missing)}; "
            "write what it means, as below other fields"
        )
    return {name: Declared(value_text(hints[name]), meanings[name]) for name in _fields(owner)}


def members(owner: type[Enum]) -> dict[str, str]:
    """The meaning of each value of an enum; ValueError for one without text."""
    meanings = texts_below(owner)
    missing = [member.name for member in owner if member.name not in meanings]
    if missing:
        raise ValueError(
            f"{owner.__module__}.{owner.__qualname__}: no text stands below {', '.join(missing)}"
        )
    return {member.value: meanings[member.name] for member in owner}


def texts_below(owner: type[Any]) -> dict[str, str]:
    """The texts below the names that the body of a class gives a type or a value."""
    return dict(_texts(_node(owner).body))


def _node(owner: type[Any]) -> ast.ClassDef:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(node, ast.ClassDef)
    return node


def _texts(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, below in itertools.pairwise(body):
        match statement, below:
            case (
                ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]),
                ast.Expr(ast.Constant(str(text))),
            ):
                yield name, " ".join(text.split())


def _bases(owner: type[Any]) -> list[type[Any]]:
    """The classes that declare its fields, in the order of the fields."""
    if is_typeddict(owner):  # no subclass of its bases: their names alone tell them
        module = vars(sys.modules[owner.__module__])
        named = [module[base.id] for base in _node(owner).bases if isinstance(base, ast.Name)]
        return [*(each for base in named if _has_body(base) for each in _bases(base)), owner]
    ours = [base for base in owner.__mro__ if "__annotations__" in vars(base)]
    return [base for base in reversed(ours) if base.__module__.partition(".")[0] != "msgspec"]


def _has_body(base: object) -> bool:
    """Whether it is a TypedDict made by a class, and not by a call."""
    with contextlib.suppress(OSError):
        return isinstance(base, type) and is_typeddict(base) and bool(inspect.getsource(base))
    return False


def _fields(owner: type[Any]) -> tuple[str, ...]:
    if dataclasses.is_dataclass(owner):
        return tuple(field.name for field in dataclasses.fields(owner))
    if issubclass(owner, msgspec.Struct):
        return owner.__struct_fields__
    return tuple(get_type_hints(owner))


def value_text(hint: Any) -> str:
    """What may stand where a type is asked for, in words."""
    inner = get_args(hint)
    match get_origin(hint):
        case origin if origin is Annotated:
            text = _within(value_text(inner[0]), hint.__metadata__)
        case origin if origin is NotRequired:
            text = value_text(inner[0])
        case origin if origin in (Union, types.UnionType):
            text = _either([value_text(kind) for kind in inner])
        case origin if origin is Literal:
            text = listed(inner)
        case origin:
            text = PLAIN.get(hint) or _class_text(origin or hint, inner)
    return text


def _class_text(holder: type[Any], inner: Sequence[Any]) -> str:
    if issubclass(holder, StrEnum) and len(holder) <= MOST_WORDS:
        return listed(holder)
    if issubclass(holder, (str, *AS_TEXT)):
        return "text"
    if issubclass(holder, Sequence | set | frozenset):
        kinds = {value_text(kind) for kind in inner if kind is not Ellipsis}
        return "list of texts" if kinds == {"text"} else "list"
    return "object"


def _either(texts: Iterable[str]) -> str:
    """Several of them: a whole number is a number, and what may be null is so in the end."""
    kinds = dict.fromkeys(texts)
    ends = ["null"] if "null" in kinds else []
    kinds.pop("null", None)
    if any(kind.startswith("number") for kind in kinds):
        kinds = {kind: None for kind in kinds if not kind.startswith("whole number")}
    return " or ".join([*kinds, *ends])


def _within(text: str, constraints: Iterable[object]) -> str:
    """With the bounds of a whole number, where it has both and they are no mere guards."""
    for each in constraints:
        if isinstance(each, msgspec.Meta) and text == "whole number" and each.ge == 1 and each.le is not None:
            return f"1 to {each.le:,}"
    return text
