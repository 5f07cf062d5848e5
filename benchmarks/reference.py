"""Write docs/reference from the code: metrics, columns of the data, files of a run, keys of a study, filters, settings
of servers, commands.

    .venv/bin/python -m benchmarks.reference

The code gives names, values, defaults and the meanings that it declares: those of the files of a run stand below the
fields of the types that write them (`benchmarks.declared`). What keys of a study mean stands in `benchmarks.meanings`.
`tests/unit/test_reference.py` says when a key is missing, and when a page is not what the code gives.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from analysis.runs.recordtable import HEAD, OF_SOME_RUNS, TAIL, flat_condition
from analysis.runs.selection import COUNTS
from benchmarks.declared import declared, listed, table
from benchmarks.filereference import files
from benchmarks.meanings import COLUMNS, DECLARED, KEYS, MUST, USUAL_VALUES
from harness.cli.commands import COMMANDS, parser
from harness.model.condition import DIMENSIONS, OF_WORKLOADS, Condition
from harness.model.filtersettings import DEFAULTS, SETTINGS
from harness.model.kind import Kind, main_metric
from harness.model.serversettings import USUAL, settable
from harness.model.variant import FILTERS, NEEDS, SETS
from harness.records import StoredRecord
from harness.study.metrics import metrics_of
from harness.study.studyfile import OF_KINDS, STUDY_KEYS, parse_study

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
MADE = "Made from the code by `make reference`.\n"


TYPES: Mapping[object, str] = {
    **{pa.int64(): "whole number", pa.string(): "text", pa.float64(): "number"},
    **{int: "whole number", str: "text", float: "number", bool: "true or false"},
}
EXAMPLES: Mapping[Kind, str] = {
    Kind.LOAD: 'protocols = ["h2"]',
    Kind.USERS: 'kind = "users"\nprotocols = ["http1"]\ngenerator = "k6"\nusers = {steps = [1], step_s = 60}',
    Kind.REQUESTS: (
        'kind = "requests"\nprotocols = ["http1"]\nserver = "nginx"\ngenerator = "wrk"\nrequests = {connections = 1}'
    ),
}


def columns_of_conditions(kind: Kind) -> dict[str, str]:
    """The columns that name a condition of this kind, those of its link's details aside, and their types."""
    study = parse_study(f'name = "x"\npages = ["x"]\nlinks = ["cable"]\ntrials = 1\n{EXAMPLES[kind]}\n', "x")
    flat = flat_condition(study.conditions[0], {})
    return {
        name: TYPES[type(each)]
        for name, each in flat.items()
        if name == "link" or not name.startswith(("link_", "workload_"))
    }


def column_meanings() -> dict[str, str]:
    """Of each column that is no metric what it means. A column is there where a key of a record is absent."""
    fields = declared(Condition) | declared(StoredRecord)
    return {name: field.meaning.partition("; absent")[0] for name, field in fields.items()} | dict(COLUMNS)


def columns() -> str:
    """The columns of the data of a run: `coldload.read`, `coldload records`, records.parquet."""
    own = {
        "run": "text",
        COUNTS: "true or false",
        **{name: TYPES[each] for name, each in (HEAD | TAIL).items()},
    }
    of_kinds = {kind: columns_of_conditions(kind) for kind in Kind}
    of_conditions = {name: each for found in of_kinds.values() for name, each in found.items()}

    def where(name: str) -> str:
        kinds = [kind for kind, found in of_kinds.items() if name in found]
        return "all" if len(kinds) == len(Kind) else " and ".join(f"`{kind}`" for kind in kinds)

    meanings = column_meanings()
    head = ("column", "type", "meaning")
    return (
        f"# Columns of the data\n{MADE}\n"
        "The table of `coldload.read(RUN)`, `coldload records RUN` and records.parquet: "
        "a row is an attempt at a trial. [records.md](../records.md) says how to get and read it.\n"
        f"\n## Of every attempt\n{listed(OF_SOME_RUNS)} are there where some record says so.\n\n"
        + table(head, ((f"`{name}`", kind, meanings[name]) for name, kind in own.items()))
        + "\n## Of its condition\n\n"
        + table(
            (*head, "kinds"),
            ((f"`{name}`", kind, meanings[name], where(name)) for name, kind in of_conditions.items()),
        )
        + "\nWhere a study has them: `set` and `factor` (text), `without` and `filter_settings` (text). Everything "
        "else of the link is `link_...`, as `link_loss_down_percent`; of a crowd or a loop `workload_...`.\n"
        "\n## Of its metrics\n[metrics.md](metrics.md) has the metrics of each kind, by their keys, with units. "
        "Numbers are doubles. Counts by name are one text, as `h2 24`; `error_count` is the sum of `errors`. "
        "The counters of the emulator are `link_reading_...`, as `link_reading_down_drops_queue`. "
        "Lists are in records.jsonl alone.\n"
    )


def metrics() -> str:
    """The metrics of each kind."""
    heads = {Kind.LOAD: "A page load", Kind.USERS: "A crowd", Kind.REQUESTS: "A closed loop"}
    parts = [
        f"\n## {heads[kind]}\nKind `{kind}`; the main metric is `{main_metric(kind)}`.\n\n"
        + table(
            ("key", "unit", "observed in", "meaning"),
            (
                (f"`{key}`", str(each.unit), str(each.source), each.meaning)
                for key, each in metrics_of(kind).items()
            ),
        )
        for kind in Kind
    ]
    return (
        f"# Metrics\n{MADE}\nKeys of a record, columns of the data. What was not observed is `null`. Of a page load, "
        "times count from navigation start. "
        "[record-format.md](../record-format.md#what-the-metrics-say) says more of some.\n" + "".join(parts)
    )


def _rows(name: str, taken: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Of each key of a table: what may stand there, what does where nothing is said, and what it means."""
    for key in taken:
        value, meaning = KEYS[name][key]
        default = USUAL_VALUES.get(name, {}).get(key, "")
        told = default if default in ("", MUST) else f"`{default}`"
        yield (f"`{key}`", value, *[told] * (name in USUAL_VALUES), meaning)


def study_keys() -> str:
    """The keys of a study file and of its tables."""
    of_kind = {key: [kind for kind, own in OF_KINDS.items() if key in own] for key in STUDY_KEYS}
    own = (
        (*row, " and ".join(f"`{kind}`" for kind in of_kind[key]) or "all")
        for key, row in zip(STUDY_KEYS, _rows("", STUDY_KEYS), strict=True)
    )
    parts = [f"\n## The study\n\n{table(('key', 'value', 'default', 'meaning', 'kinds'), own)}"]
    for name, taken in DECLARED.items():
        if name:
            columns = ("key", "value", *["default"] * (name in USUAL_VALUES), "meaning")
            head = name[0].upper() + name[1:] if " " in name else f"`{name}`"
            parts.append(f"\n## {head}\n\n{table(columns, _rows(name, taken))}")
    dimensions = [*DIMENSIONS, *(name for names in OF_WORKLOADS.values() for name in names)]
    return (
        f"# Keys of a study\n{MADE}\nA study is a TOML file. Unknown keys are refused by name. Of links, `WAY` is "
        f"`down` or `up`. Dimensions of claims and figures: {listed(dimensions)}. "
        "[methodology.md](../methodology.md) explains what the keys do.\n" + "".join(parts)
    )


def filters() -> str:
    """The filters in the order of application, the sets, and the settings of the filters."""
    sets = {name: [each for each, members in SETS.items() if name in members] for name in FILTERS}
    by_filter = (
        (name, meaning, listed(sets[name]), NEEDS.get(name, "")) for name, meaning in FILTERS.items()
    )
    limits = (
        (
            f"`{name}`",
            f"{getattr(DEFAULTS, each.attribute):,}",
            f"{each.least:,} to {each.most:,}",
            f"`{each.option}`" if each.option else "",
            each.meaning,
        )
        for name, each in SETTINGS.items()
    )
    return (
        f"# Filters\n{MADE}\nA variant names filters and sets: `core`, `inline_css,combine_css`, `core,-inline_css`. "
        "[filters.md](../filters.md) says what each filter keeps, and how it differs from mod_pagespeed.\n"
        f"\n## In the order of application\n\n{table(('filter', 'what it does', 'sets', 'needs'), by_filter)}"
        "\n## Limits\nA study sets them in `[filters]`, a command by `--set NAME=VALUE`.\n\n"
        + table(("limit", "usual", "possible", "in mod_pagespeed", "meaning"), limits)
    )


def servers() -> str:
    """What may be set of each server."""
    parts = []
    for program, usual in USUAL.items():
        rows = []
        for setting in settable(usual):
            allowed = setting.metadata
            possible = "true or false"
            if "range" in allowed:
                possible = "{:,} to {:,}".format(*allowed["range"])
            elif "known" in allowed:
                possible = listed(allowed["known"])
            value = getattr(usual, setting.name)
            shown = "" if value is None else str(value).lower() if isinstance(value, bool) else f"{value}"
            rows.append((f"`{allowed['called']}`", shown, possible))
        parts.append(f"\n## {program}\n\n{table(('setting', 'usual', 'possible'), rows)}")
    return (
        f"# Settings of servers\n{MADE}\nBy the servers' own names, in a table of the study: `[apache]`, "
        "`[servers.NAME]`. [methodology.md](../methodology.md#servers) says how the servers differ.\n"
        '`template = "FILE"` of Apache, nginx and Caddy is a configuration of your own '
        "([how](../server-studies.md#a-configuration-of-your-own)).\n" + "".join(parts)
    )


def commands() -> str:
    """Every command with its arguments."""
    (subparsers,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    parts = []
    for row in COMMANDS:
        command = subparsers.choices[row.name].made()
        parts.append(f"\n## coldload {row.name}\n{row.help[0].upper()}{row.help[1:]}.\n")
        parts += _arguments(command, f"coldload {row.name}")
    return (
        f"# Commands\n{MADE}\nExit codes: 0 done, 1 the measurement says no, 2 wrong input, 3 the machine lacks "
        "something, 4 `--fail-on` is not known to hold, 130 interrupted. `coldload -v COMMAND` shows the traceback "
        "of an error.\n" + "".join(parts)
    )


def _arguments(command: argparse.ArgumentParser, name: str) -> Iterator[str]:
    """The table of a command's arguments, then those of its own commands."""
    rows = []
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner, choice in action.choices.items():
                yield f"\n### {name} {inner}\n"
                yield from _arguments(choice, f"{name} {inner}")
        elif not isinstance(action, argparse._HelpAction) and action.help is not argparse.SUPPRESS:
            value = action.metavar or action.dest.upper() if action.nargs != 0 else ""
            if action.choices is not None and action.metavar is None:
                value = "|".join(map(str, action.choices))
            words = ", ".join(action.option_strings) or str(action.metavar or action.dest)
            shown = f"`{words} {value}`" if action.option_strings and value else f"`{words}`"
            rows.append((shown, _help(action)))
    if rows:
        yield f"\n{table(('argument', 'meaning'), rows)}"


def _help(action: argparse.Action) -> str:
    """The help of an argument as `--help` has it, but for defaults that are the machine's."""
    values = {name: value for name, value in vars(action).items() if isinstance(value, str | int | float)}
    return (action.help or "") % {**values, "prog": "coldload"}


FILES: Mapping[str, Callable[[], str]] = {
    "metrics.md": metrics,
    "columns.md": columns,
    "files.md": lambda: files(MADE),
    "study.md": study_keys,
    "filters.md": filters,
    "servers.md": servers,
    "commands.md": commands,
}


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, made in FILES.items():
        (FOLDER / name).write_text(made(), encoding="utf-8")
        print(FOLDER / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
