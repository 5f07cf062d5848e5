"""Hosts of the testbed: network namespaces made by the run, held by bind mounts that vanish with it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import TestbedFailed
from harness.system import syscalls
from harness.system.enclosure import PRIVATE_RUN, loopback_up
from harness.system.program import Command, run

NETNS_FOLDER = PRIVATE_RUN / "netns"


@dataclass(frozen=True)
class Host:
    """One network namespace. `path` is its file, for nsenter and setns; `ip netns exec NAME` works too."""

    name: str
    path: Path

    def configure(self, *lines: str) -> None:
        """Apply `ip` commands (without the word ip) in this host, in one call."""
        with self.entered():  # a program that enters it first would be one more to start
            run(Command.of("ip", "-batch", "-"), stdin="".join(f"{line}\n" for line in lines))

    def set_kernel(self, settings: Mapping[str, str | int]) -> None:
        """Write sysctls below net, e.g. {"ipv4.tcp_no_metrics_save": 1}; the namespace is the host's own."""
        with self.entered():
            for name, value in settings.items():
                path = Path("/proc/sys/net", *name.split("."))
                try:
                    path.write_text(str(value))
                except OSError as error:
                    raise TestbedFailed(
                        f"host {self.name}: cannot set net.{name} to {value}: {error}"
                    ) from error

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """The calling thread works on this host for the length of the block; its children start there."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            target = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                syscalls.setns(target, syscalls.CLONE_NEWNET)
            finally:
                os.close(target)
            try:
                yield
            finally:
                syscalls.setns(home, syscalls.CLONE_NEWNET)
        finally:
            os.close(home)


@contextlib.contextmanager
def host(name: str) -> Iterator[Host]:
    """A new host with nothing but a loopback device that is up."""
    path = NETNS_FOLDER / name
    try:
        path.touch(exist_ok=False)
    except FileExistsError as error:
        raise TestbedFailed(f"a host named {name} exists already in this testbed") from error
    except OSError as error:
        raise TestbedFailed(f"cannot make host {name}: {error}") from error
    try:
        _new_namespace_at(path)
        yield Host(name, path)
    finally:
        with contextlib.suppress(OSError):  # not yet mounted when making it failed
            syscalls.unmount(str(path))
        path.unlink()


def _new_namespace_at(path: Path) -> None:
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.unshare(syscalls.CLONE_NEWNET)
        try:
            loopback_up()
            syscalls.mount("/proc/thread-self/ns/net", str(path), "", syscalls.MS_BIND)
        finally:
            syscalls.setns(home, syscalls.CLONE_NEWNET)
    except OSError as error:
        raise TestbedFailed(f"cannot make host {path.name}: {error}") from error
    finally:
        os.close(home)
