"""The servers of a study: the key `server` and its tables, and a server with its settings under a name.

What can be set of servers is imported for a study that sets something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import configs
from harness.errors import StudyError
from harness.input import keys
from harness.input.keys import NAME_PATTERN
from harness.input.shown import one_line, shown
from harness.input.textfile import read_file
from harness.model.condition import Compression
from harness.model.engine import Engine
from harness.model.kind import Kind
from harness.model.protocol import Protocol
from harness.study.enginefile import by_engine
from harness.study.rules import ABILITIES

if TYPE_CHECKING:
    from harness.model.serversettings import ServerSettings, ServerTemplate


@dataclass(frozen=True)
class NamedServer:
    """`name` is what conditions call it, `program` what runs. `settings` are None where the study sets none."""

    name: str
    program: str
    settings: ServerSettings | None = None

    @classmethod
    def usual(cls, program: str) -> NamedServer:
        """A server as page loads have it."""
        return cls(program, program)

    @property
    def capacity(self) -> ServerSettings:
        """What it works with, set or usual."""
        from harness.model.serversettings import USUAL

        return self.settings or USUAL[self.program]

    def speaks(self, protocol: Protocol) -> bool:
        """Whether it can, also under its settings."""
        try:
            self.refuse_unless_spoken(protocol)
        except StudyError:
            return False
        return protocol in ABILITIES[self.program].protocols

    def compresses(self, compression: Compression) -> bool:
        """Whether it can serve text so."""
        return ABILITIES[self.program].compresses(compression)

    def refuse_unless_spoken(self, protocol: Protocol) -> None:
        """StudyError when its settings keep it from a protocol; what its program cannot is told by the rules."""
        if self.settings is not None:
            self.settings.refuse_unless_spoken(protocol)

    def __str__(self) -> str:
        return self.name


SERVER_KEYS = ("server", "servers", *ABILITIES)
MAX_SERVERS = 50
TEMPLATE = "template"
MOST_TEMPLATE_BYTES = 1_000_000
_LISTENS = "by which it listens where trials ask"
_LOGS = "by which its log proves protocols"
# What a template of one's own cannot do without.
NEEDED: Mapping[str, Mapping[str, str]] = {
    "apache": {"listeners": _LISTENS, "log_format": _LOGS, "folder": "which holds the answers"},
    "nginx": {"listeners": _LISTENS, "log_format": _LOGS, "folder": "which holds the answers"},
    "caddy": {"servers": _LISTENS, "log": _LOGS, "folder": "which holds the answers"},
}


def servers_of(
    data: Mapping[str, Any], engines: Iterable[Engine], kind: Kind, folder: Path = Path()
) -> dict[Engine, tuple[NamedServer, ...]]:
    """The servers of each engine: one in a study of loads, one or several in others.

    Templates that they name are looked for in `folder`.
    """
    there = _set_up(data, folder)
    usual = {engine: engine.traits.server for engine in engines}
    chosen = {
        engine: tuple(there[keys.choice("server", name, tuple(there))] for name in _names(value, kind))
        for engine, value in by_engine(data, "server", usual).items()
    }
    used = {server.name for servers in chosen.values() for server in servers}
    for name in (*data.get("servers", {}), *(key for key in ABILITIES if key in data)):
        if name not in used:
            raise StudyError(
                f"server: {name} is set up and serves nothing; name it in server, or leave it out"
            )
    return chosen


def _set_up(data: Mapping[str, Any], folder: Path) -> dict[str, NamedServer]:
    """Every server that a study may name: the usual ones, as it sets them, and its own."""
    there = {program: NamedServer.usual(program) for program in ABILITIES}
    for program in ABILITIES:
        if program in data:
            there[program] = _named(program, program, _table(program, data[program]), folder)
    tables = data.get("servers", {})
    if not isinstance(tables, dict) or len(tables) > MAX_SERVERS:
        raise StudyError(
            f"servers holds up to {MAX_SERVERS} tables such as [servers.old], found {shown(tables)}"
        )
    for name, found in tables.items():
        if not NAME_PATTERN.fullmatch(name) or name in ABILITIES:
            raise StudyError(
                f"servers: {shown(name)} cannot be the name of a server of one's own; choose another"
            )
        table = _table(f"servers.{name}", found)
        program = keys.choice(f"servers.{name}: program", table.get("program"), tuple(ABILITIES))
        own = {key: each for key, each in table.items() if key != "program"}
        there[name] = _named(name, program, own, folder)
    return there


def _named(name: str, program: str, table: Mapping[str, Any], folder: Path) -> NamedServer:
    from harness.model.serversettings import server_settings

    values = dict(table)
    file = values.pop(TEMPLATE, None)
    try:
        settings = server_settings(program, values)
        if file is not None:
            settings = replace(settings, template=_template(program, folder, keys.text(table, TEMPLATE)))
        return NamedServer(name, program, settings)
    except StudyError as error:
        raise StudyError(f"{name}: {error}") from error


def _template(program: str, folder: Path, file: str) -> ServerTemplate:
    """A template of a server's configuration; StudyError for one that could not serve.

    It takes what the one that ships takes, and uses what the testbed cannot do without.
    """
    from jinja2 import Environment, TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables

    from harness.model.serversettings import ServerTemplate

    if program not in NEEDED:
        raise StudyError(f"{TEMPLATE} is for {', '.join(NEEDED)}, and {program} takes none; leave it out")
    try:
        text = read_file(folder / file, MOST_TEMPLATE_BYTES).decode()
        asked = find_undeclared_variables(Environment().parse(text))  # noqa: S701 - not HTML
    except OSError as error:
        raise StudyError(f"{TEMPLATE}: cannot read {folder / file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StudyError(f"{TEMPLATE}: {file} is no UTF-8 text") from error
    except TemplateSyntaxError as error:
        raise StudyError(
            f"{TEMPLATE}: {file}, line {error.lineno}: {one_line(error.message or '')}"
        ) from error
    shipped = (configs.FOLDER / "servers" / f"{program}.template").read_text("utf-8")
    given = find_undeclared_variables(Environment().parse(shipped))  # noqa: S701 - not HTML
    for name in sorted(asked - given):
        raise StudyError(
            f"{TEMPLATE}: {file} asks for {name}{keys.nearest(name, given)}; it is given {', '.join(sorted(given))}"
        )
    for name, why in NEEDED[program].items():
        if name not in asked:
            raise StudyError(
                f"{TEMPLATE}: {file} does not use {name}, {why}; begin with a copy of "
                f"configs/servers/{program}.template"
            )
    return ServerTemplate(PurePath(file).name, text)


def _table(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not value:
        raise StudyError(
            f"{key} must be a table with settings of the server, found {shown(value)}; or leave it out"
        )
    return value


def _names(value: Any, kind: Kind) -> list[Any]:
    """What `server` names; several where servers are compared."""
    if not isinstance(value, list):
        return [value]
    if kind is Kind.LOAD:
        raise StudyError(f"server is {shown(value)}; a study of page loads has one for each engine")
    return keys.entries({"server": value}, "server")
