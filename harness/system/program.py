"""A command as a value, where its program is, and running it to its end. What stays is `harness.system.process`."""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import EnvironmentLacks, TestbedFailed, UsageError
from harness.system import interruption


@dataclass(frozen=True)
class Command:
    """An argument list (never a shell string) and what it needs around it.

    `environment` is added to the parent's. `network` is the namespace file of the host to run on; None is the
    caller's own. `unprivileged` gives the process a user namespace of its own in which it is an ordinary user
    (uid 1000): daemons that drop privileges and Chromium's sandbox then behave alike for root and for a user.
    `dies_with_us` ends it also when we are killed; inside an enclosure everything does anyway. `cpus` are the CPUs that
    it and all that it starts may use, by the kernel's numbers; none means those of the caller. `called` is its name in
    what a person reads, where that of the program says nothing ("python3"). `tree` is a Debian tree in which it is
    started (harness.system.roots), and `shared` are the paths of the machine that it sees there. With `all_descriptors`
    it may have as many files and connections open as the hard limit says: the soft one of a usual shell is 1024.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    network: Path | None = None
    unprivileged: bool = False
    dies_with_us: bool = False
    cpus: tuple[int, ...] = ()
    called: str | None = None
    tree: Path | None = None
    shared: tuple[Path, ...] = ()
    all_descriptors: bool = False

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

    def in_tree(self, tree: Path, *shared: Path) -> Command:
        return replace(self, tree=tree, shared=shared)

    def with_all_descriptors(self) -> Command:
        return replace(self, all_descriptors=True)

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
                "-P",
                "-m",
                "harness.system.roots",
                str(self.tree),
                *map(str, self.shared),
                "--",
            )
        if self.unprivileged:
            words += ("unshare", "--user", "--map-user=1000", "--map-group=1000")
        if self.dies_with_us:
            words += ("setpriv", "--pdeathsig", "KILL")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if self.all_descriptors and soft != hard:  # else there is nothing to raise
            words += ("prlimit", f"--nofile={'unlimited' if hard == resource.RLIM_INFINITY else hard}:")
        if self.cpus:
            words += ("taskset", "--cpu-list", ",".join(map(str, self.cpus)))
        return (*words, *self.argv)

    @property
    def program(self) -> str:
        return self.argv[0]

    def __str__(self) -> str:
        return shlex.join(self.argv)


SIGNALLED = 128
SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def find_program(name: str, mend: str = "`coldload doctor` tells how to get it") -> str:
    """Absolute path of a program, also from the system folders an ordinary user's PATH leaves out.

    EnvironmentLacks when there is none, with what mends that.
    """
    path = os.pathsep.join([os.environ.get("PATH", ""), *SYSTEM_PATHS])
    program = shutil.which(name, path=path)
    if program is None:
        raise EnvironmentLacks(f"the program {name} is not installed; {mend}")
    return program


def words_and_environment(command: Command) -> tuple[list[str], dict[str, str]]:
    """What a command is started with, its programs by their absolute paths."""
    words = list(command.full_argv)
    prefix = len(words) - len(command.argv)
    words[prefix] = find_program(command.program)
    if prefix:
        words[0] = find_program(words[0])
    return words, {**os.environ, **command.environment}


def run(
    command: Command,
    *,
    stdin: str | None = None,
    timeout_s: float | None = None,
    cwd: Path | None = None,
    ok_codes: Sequence[int] = (0,),
    with_stderr: bool = False,
) -> str:
    """Run a command to its end and return its standard output (and error, if asked); TestbedFailed when it fails."""
    words, environment = words_and_environment(command)
    try:
        done = subprocess.run(
            words,
            env=environment,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            cwd=cwd,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TestbedFailed(f"{command.program} did not end within {timeout_s:g} s: {command}") from error
    except OSError as error:
        raise TestbedFailed(f"cannot start {command.program}: {error}") from error
    if done.returncode not in ok_codes:
        said = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:]) or "it printed nothing"
        raise TestbedFailed(f"`{command}` failed with exit code {done.returncode}: {said}")
    return done.stdout + done.stderr if with_stderr else done.stdout


def in_foreground(words: Sequence[str]) -> int:
    """Run a user's command on our terminal to its end; its exit code, of a signal 128 and its number as shells have it.

    An interruption is passed on to it, as SIGTERM, and raised once it has ended: it may have to tidy up, however long
    that takes. UsageError when there is no such program.
    """
    try:
        process = subprocess.Popen(words)
    except FileNotFoundError as error:
        raise UsageError(f"cannot run {words[0]}: there is no such program") from error
    try:
        code = process.wait()
    except KeyboardInterrupt:
        interruption.calm()
        process.terminate()
        process.wait()
        raise
    return code if code >= 0 else SIGNALLED - code


def version_line(*words: str) -> str:
    """The first line that a program says of itself; EnvironmentLacks when it is missing."""
    return run(Command.of(*words), timeout_s=30).partition("\n")[0].strip()
