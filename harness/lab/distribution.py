"""The distribution that a run is made on: its release, the versions of its packages, and the roots in use."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from harness.errors import ColdloadError
from harness.lab.preflight import debian_packages, debian_release
from harness.system import roots
from harness.system.command import Command
from harness.system.program import run

DEBIAN = "debian"  # the key in environment.json


def described() -> dict[str, Any]:
    """Stored in environment.json: `packages` are those coldload asks for, null where nothing tells of them."""
    return {
        "release": debian_release() or None,
        "packages": _versions([each.name for each in debian_packages() if each.is_offered]),
        "roots": {
            purpose: {"release": root.release, "made_utc": root.made_utc, "packages": _listed(root)}
            for purpose, root in in_use().items()
        },
    }


def in_use() -> Mapping[str, roots.Root]:
    """The roots that a run would use, by their purpose."""
    found = {
        roots.Purpose.LABORATORY: roots.inside(),
        roots.Purpose.HISTORICAL: roots.of_the_historical_engine(),
    }
    return {purpose.value: root for purpose, root in found.items() if root is not None}


def place(environment: Mapping[str, Any]) -> str:
    """Where a run is made, from its environment: `Debian GNU/Linux 12 (bookworm)`, with the roots in use."""
    system = str(environment.get("machine", {}).get("system") or "an unknown system")
    inside = environment.get(DEBIAN, {}).get("roots", {})
    named = [
        f"the root {purpose} of {str(root['made_utc'])[:10]}" for purpose, root in sorted(inside.items())
    ]
    return " with ".join([system, *named])


def _versions(names: list[str]) -> dict[str, str] | None:
    with contextlib.suppress(ColdloadError):  # no dpkg, as on another distribution
        query = Command.of("dpkg-query", "--show", r"--showformat=${Package} ${Version}\n", *names)
        rows = (line.split() for line in run(query, ok_codes=(0, 1)).splitlines())
        return {row[0]: row[1] for row in rows if len(row) == 2}
    return None


def _listed(root: roots.Root) -> dict[str, str]:
    names = {each.name for each in debian_packages()}
    return {name: version for name, version in root.packages.items() if name in names}
