"""A server of a study: a program, set up as the study says, under a name of the study's own."""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import StudyError
from harness.model.compression import Compression
from harness.model.protocol import Protocol
from harness.model.serversettings import USUAL, ServerSettings
from harness.study.abilities import ABILITIES


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
