"""A command as a value: argument list, environment and the host (namespace) it runs on. Nothing runs here."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True)
class Command:
    """An argument list (never a shell string) and what it needs around it.

    `environment` is added to the parent's. `network` is the namespace file of the host to run on; None is the
    caller's own. `unprivileged` gives the process a user namespace of its own in which it is an ordinary user
    (uid 1000): daemons that drop privileges and Chromium's sandbox then behave alike for root and for a user.
    `dies_with_us` ends it also when we are killed; inside an enclosure everything does anyway. `cpus` are the CPUs that
    it and all that it starts may use, by the kernel's numbers; none means those of the caller. `called` is its name in
    what a person reads, where that of the program says nothing ("python3"). `tree` is a Debian tree in which it is
    started (harness.system.root), and `places` are what it sees of the machine there.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    network: Path | None = None
    unprivileged: bool = False
    dies_with_us: bool = False
    cpus: tuple[int, ...] = ()
    called: str | None = None
    tree: Path | None = None
    places: tuple[Path, ...] = ()

    @classmethod
    def of(cls, *argv: str | Path | int | float) -> Command:
        return cls(tuple(str(word) for word in argv))

    def named(self, called: str) -> Command:
        return replace(self, called=called)

    def plus(self, *words: str | Path | int | float) -> Command:
        return replace(self, argv=(*self.argv, *(str(word) for word in words)))

    def on(self, network: Path | None) -> Command:
        return replace(self, network=network)

    def with_environment(self, **variables: str) -> Command:
        return replace(self, environment={**self.environment, **variables})

    def as_ordinary_user(self) -> Command:
        return replace(self, unprivileged=True)

    def dying_with_us(self) -> Command:
        return replace(self, dies_with_us=True)

    def in_tree(self, tree: Path, *places: Path) -> Command:
        return replace(self, tree=tree, places=places)

    def on_cpus(self, cpus: Iterable[int]) -> Command:
        return replace(self, cpus=tuple(cpus))

    @property
    def full_argv(self) -> tuple[str, ...]:
        """What is executed: the command behind the programs that enter its namespaces."""
        words: tuple[str, ...] = ()
        if self.network is not None:
            words += ("nsenter", f"--net={self.network}")
        if self.tree is not None:
            words += (
                sys.executable,
                "-m",
                "harness.system.root",
                str(self.tree),
                *map(str, self.places),
                "--",
            )
        if self.unprivileged:
            words += ("unshare", "--user", "--map-user=1000", "--map-group=1000")
        if self.dies_with_us:
            words += ("setpriv", "--pdeathsig", "KILL")
        if self.cpus:
            words += ("taskset", "--cpu-list", ",".join(map(str, self.cpus)))
        return (*words, *self.argv)

    @property
    def program(self) -> str:
        return self.argv[0]

    def __str__(self) -> str:
        return shlex.join(self.argv)
