"""The servers of a study: the key `server` and its tables, and a server with its settings under a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shown
from harness.model.compression import Compression
from harness.model.engine import Engine
from harness.model.kind import Kind
from harness.model.protocol import Protocol
from harness.model.serversettings import USUAL, ServerSettings, server_settings
from harness.study.enginefile import by_engine
from harness.study.rules import ABILITIES


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


SETTABLE = tuple(USUAL)  # the servers that have settings
SERVER_KEYS = ("server", "servers", *SETTABLE)
MAX_SERVERS = 50


def servers_of(
    data: Mapping[str, Any], engines: Iterable[Engine], kind: Kind
) -> dict[Engine, tuple[NamedServer, ...]]:
    """The servers of each engine: one in a study of loads, one or several in others."""
    there = _set_up(data)
    usual = {engine: engine.traits.server for engine in engines}
    chosen = {
        engine: tuple(_server(name, there) for name in _names(value, kind))
        for engine, value in by_engine(data, "server", usual).items()
    }
    used = {server.name for servers in chosen.values() for server in servers}
    for name in (*data.get("servers", {}), *(key for key in SETTABLE if key in data)):
        if name not in used:
            raise StudyError(
                f"server: {name} is set up and serves nothing; name it in server, or leave it out"
            )
    return chosen


def _set_up(data: Mapping[str, Any]) -> dict[str, NamedServer]:
    """Every server that a study may name: the usual ones, as it sets them, and its own."""
    there = {program: NamedServer.usual(program) for program in ABILITIES}
    for program in SETTABLE:
        if program in data:
            there[program] = _named(program, program, _table(program, data[program]))
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
        there[name] = _named(name, program, {key: each for key, each in table.items() if key != "program"})
    return there


def _named(name: str, program: str, table: Mapping[str, Any]) -> NamedServer:
    try:
        return NamedServer(name, program, server_settings(program, table))
    except StudyError as error:
        raise StudyError(f"{name}: {error}") from error


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


def _server(name: Any, there: Mapping[str, NamedServer]) -> NamedServer:
    return there[keys.choice("server", name, tuple(there))]
