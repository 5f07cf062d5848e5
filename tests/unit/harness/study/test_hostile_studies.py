"""Whatever stands in a study file: a plan that can be printed, or one line that says what is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.cli.plan import conditions_table, size
from harness.errors import StudyError
from harness.input import textfile
from harness.model.condition import DIMENSIONS
from harness.model.engine import Driver, Engine
from harness.model.protocol import Protocol
from harness.model.settings import CONGESTION_CONTROLS
from harness.study.claimfile import CLAIM_KEYS
from harness.study.linkfile import LINK_KEYS
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import STUDY_KEYS, TCP_KEYS, parse_study

GOOD: dict[str, Any] = {
    "name": "mine",
    "pages": ["one"],
    "protocols": ["http1", "h2"],
    "trials": 2,
    "links": [{"down_mbps": 10, "rtt_ms": [20, 50]}],
}
WORDS = (
    *(
        "",
        "none",
        "recorded",
        "gzip-9",
        "brotli",
        "core",
        "plain",
        "3g",
        "tun",
        "apache",
        "1.2",
        "codel",
        "unlimited",
    ),
    *(
        *Protocol,
        *Engine,
        *Driver,
        *CONGESTION_CONTROLS,
        "mobile",
        "netlog",
        "/dev/zero",
        ".",
        "\0",
        "a\nb",
        "[/red]",
    ),
)
EDGES = (0, 1, -1, 100, 1e-9, 0.01, 1e300, 2**31, 2**63, 10**30, 10**190, float("nan"), float("inf"))
SCALARS = (
    st.sampled_from([*WORDS, *EDGES])
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.dates()
    | st.times()
)
TABLE_KEYS = st.sampled_from([*LINK_KEYS, *TCP_KEYS, *Engine, "factorial", "p", "r", "h", "k"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=3
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TABLE_KEYS, inner, max_size=4),
    max_leaves=12,
)
LISTED = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True)
NEARLY_RIGHT = st.sampled_from(WORDS) | st.floats(0, 1000) | st.integers(0, 50) | LISTED
VALUES = st.one_of(NEARLY_RIGHT, NEARLY_RIGHT, ANYTHING)
CHANGES = st.dictionaries(st.sampled_from(STUDY_KEYS), VALUES, max_size=2)
SIDE = st.dictionaries(st.sampled_from(DIMENSIONS), VALUES | LISTED, max_size=2)
CLAIM_CHANGES = st.dictionaries(st.sampled_from(CLAIM_KEYS), VALUES | SIDE, max_size=3)
LINK_CHANGES = st.dictionaries(st.sampled_from(LINK_KEYS), VALUES, max_size=2)


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(str(value)).replace("\x7f", "\\u007f") if value.isascii() else _unicode(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, int | float):
        return repr(value)
    return str(value.isoformat())


def _unicode(text: str) -> str:
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


def document(data: dict[str, Any]) -> str:
    return "".join(f"{key} = {toml(value)}\n" for key, value in data.items())


def outcome(text: str) -> tuple[Study | None, str]:
    """The study, or what is said of the text."""
    try:
        return parse_study(text, "mine.toml"), ""
    except StudyError as error:
        return None, str(error)


def planned_and_printed(text: str) -> None:
    """The plan of a study, stored, read back and shown; a StudyError must be one line."""
    study, said = outcome(text)
    assert "\n" not in said
    assert len(said) < 2000
    if study is None:
        return
    plan = make_plan(study, 1)
    assert len(plan.cells) == len(set(study.conditions)) == len(study.conditions) > 0
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl") == plan
    assert len(list(conditions_table(study))) == 1 + plan.conditions
    assert all("\n" not in line for line in size(study, plan))


@pytest.mark.thorough
@given(CHANGES, LINK_CHANGES)
@settings(max_examples=300)
@example({"server": {}}, {})
@example({}, {"name": 7})
@example({}, {"queue_down_bytes": 10**190})
@example({"tcp": {}}, {"source": {}})
def test_any_value_of_any_key_is_planned_or_refused(study: dict[str, Any], link: dict[str, Any]) -> None:
    links = {"links": [GOOD["links"][0] | link]} if link else {}
    planned_and_printed(document(GOOD | links | study))


@pytest.mark.thorough
@given(CLAIM_CHANGES, st.booleans())
@settings(max_examples=300)
@example({"name": "a\nb"}, True)
@example({"subject": {"page": []}}, True)
@example({"where": {"rtt_ms": [True]}}, True)
@example({"at_most": 10**190, "reference": {}}, False)
@example({"ratio_within": ["3 %"]}, True)
def test_any_claim_is_planned_or_refused(claim: dict[str, Any], right: bool) -> None:
    good = {"subject": {"protocol": "h2"}, "reference": {"protocol": "http1"}} if right else {}
    planned_and_printed(document(GOOD | {"claims": [good | claim]}))


@given(st.text("[]{}.=,'\"\\#\n ab1-_\r", max_size=60))
@settings(max_examples=300)
@example('a = """\\"""\n')
@example("a = 1-02-30")
@example("a = 2001-02-30")
@example("a." * 16 + "a = 1")
@example("a = " + "[" * 100_000)
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        textfile.parse_toml(text)
    except textfile.TomlRefusedError as error:
        assert "\n" not in str(error)  # noqa: PT017 - whether it raises is open


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "line 1: more than 16 brackets"),
        (
            "# [[[\nb = '[[['\n" + ".".join(["a"] * 20_000) + " = 1",
            "line 3: a dotted key of more than 16 parts",
        ),
        (
            'c = """\n[[[\n"""\n[' + '\' \'."\\"." . ' * 20_000 + "a]",
            "line 4: a dotted key of more than 16 parts",
        ),
        ("a = 1\nb = " + "9" * 400, "line 2: a number or key of 400 characters"),
        ("a = 0x" + "f" * 100_000, "line 1: a number or key of 100,002 characters"),
        ("a = 1\n" * 200_000, "over 1000 kB"),
    ],
)
def test_monsters_are_refused_at_once(text: str, says: str) -> None:
    with pytest.raises(textfile.TomlRefusedError, match=says):
        textfile.parse_toml(text)


@pytest.mark.parametrize(
    "text",
    [
        'a = "' + "[[[[[[[[[[[[[[[[[[[[.a.b.c" * 100 + '"',
        "a = '''" + "''[\n" * 100 + "'''''",
        'a = """' + '""\\"[\n' * 100 + '"""""',
        "a = [" + "1.5, 1979-05-27T07:32:00.5Z, " * 1000 + "]",
        "#" + "." * 1000 + "\na.b.c = 1",
    ],
)
def test_what_stands_in_strings_and_comments_is_no_structure(text: str) -> None:
    assert set(textfile.parse_toml(text)) == {"a"}


@pytest.mark.parametrize(
    "part",
    [
        lambda n: '"""' + '\\"""\n' * n,
        lambda n: '"' + '\\"' * n,
        lambda n: "'''\n" * n,
        lambda n: 'a = "' + "\\\\" * n,
        lambda n: " \t" * n,
    ],
)
def test_the_time_to_look_at_a_text_grows_with_its_length(part: Callable[[int], str]) -> None:
    """Thirty times the text: far less than the nine hundred times of a quadratic pass."""

    def seconds(text: str) -> float:
        begun = time.process_time()
        for _ in range(3):
            textfile.refuse_monsters(text)
        return time.process_time() - begun

    short, long = seconds(part(5_000)), seconds(part(150_000))
    assert long < 200 * max(short, 1e-4)
