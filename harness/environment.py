"""What a run was made on and with: machine, kernel, versions, settings. Stored as environment.json."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sysconfig
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import harness
from harness.browser.policy import FIRST_PREFERENCES, FLAGS, SERVICE_NAMES
from harness.browser.qtwebkit import home as qtwebkit
from harness.command import Command
from harness.errors import EnvironmentLacks
from harness.link import linkem_program
from harness.process import run
from harness.study import Study
from harness.testbed import Testbed
from sites.archive import Archive

PROGRAMS = {
    "chromium": ("chromium", "--version"),
    "chromedriver": ("chromedriver", "--version"),
    "apache": ("apache2", "-v"),
    "caddy": (str(Path(sysconfig.get_path("scripts"), "caddy")), "version"),
    "nginx": ("nginx", "-v"),
    "dnsmasq": ("dnsmasq", "--version"),
}
PACKAGES = ("selenium", "playwright", "warcio", "cryptography", "numpy", "pandas", "scipy", "matplotlib")


def describe_environment(testbed: Testbed, archives: Mapping[str, Archive], study: Study) -> dict[str, Any]:
    """Everything that may change a figure and is not in the study itself."""
    replay = study.setups[0].replay  # the engines differ in TLS alone
    return {
        "taken_utc": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "coldload": harness.__version__,
        "machine": describe_machine(),
        "programs": program_versions(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "link": {"backend": testbed.backend.value, "tcp": asdict(testbed.tcp)},
        "browser": {
            "flags": list(FLAGS),
            "preferences": FIRST_PREFERENCES,
            "unresolved": list(SERVICE_NAMES),
        },
        "replay": {
            "origins": replay.origins.value,
            "determinism": replay.determinism,
            "compression": str(replay.compression),
            "think_time": str(replay.think_time),
        },
        "servers": {
            setup.engine.value: {
                "name": setup.server,
                "tls": setup.replay.tls,
                "settings": testbed.server_settings(setup.engine),
            }
            for setup in study.setups
        },
        "archives": {
            name: {
                "digest": archive.digest,
                "start_url": archive.start_url,
                "with": archive.captured_with,
                "addresses": [list(hosts) for hosts in testbed.groups(name)],
                "notes": list(archive.notes),
                "changed_for_replay": testbed.replay_notes(name),
            }
            for name, archive in archives.items()
        },
        "study": {"timeout_s": study.timeout_s, "keep": list(study.keep)},
    }


def describe_machine() -> dict[str, Any]:
    """Hardware and kernel."""
    return {
        "system": _os_name(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "processor": _proc_value("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_kib": int((_proc_value("/proc/meminfo", "MemTotal") or "0 kB").split()[0]),
        "load_average": list(os.getloadavg()),
        "python": platform.python_version(),
        "as_root": _real_root(),
    }


def program_versions() -> dict[str, str | None]:
    """The first line each program prints of its version; None where it is missing."""
    versions: dict[str, str | None] = {}
    for name, words in {**PROGRAMS, "linkem": (str(linkem_program()), "--version")}.items():
        try:
            versions[name] = run(Command.of(*words), timeout_s=30, with_stderr=True).splitlines()[0].strip()
        except (EnvironmentLacks, IndexError):
            versions[name] = None
    try:
        versions["qtwebkit"] = qtwebkit.version()
    except EnvironmentLacks:
        versions["qtwebkit"] = None
    return versions


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _proc_value(path: str, key: str) -> str | None:
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _real_root() -> bool:
    """Whether uid 0 here is the machine's root and not an ordinary user's own namespace."""
    return os.geteuid() == 0 and Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
