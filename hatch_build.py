"""Build hook: compile the link emulator with cargo and put it into the wheel (or beside an editable install)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DEBIAN_CRATES = Path("/usr/share/cargo/registry")


class LinkemBuildHook(BuildHookInterface[Any]):
    """Compiles harness/linkem before the wheel is made and tags the wheel for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatchling's name
        """Called by hatchling for each wheel, also an editable one."""
        crate = Path(self.root, "harness", "linkem")
        cargo("build", crate)
        target = Path(os.environ.get("CARGO_TARGET_DIR", crate / "target"))
        (crate / "bin").mkdir(exist_ok=True)
        built = crate / "bin" / "linkem"
        shutil.copy2(target / "release" / "linkem", built.with_suffix(".new"))
        built.with_suffix(".new").replace(built)  # a run under way keeps the program it started
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def cargo(verb: str, crate: Path) -> None:
    """`cargo build` or `cargo test` of the emulator, with the locked versions."""
    program = shutil.which("cargo")
    if program is None:
        raise RuntimeError("cargo is not installed: on Debian `apt-get install cargo librust-libc-dev`")
    subprocess.run([program, verb, "--release", "--locked", *_source_options()], cwd=crate, check=True)


def _source_options() -> list[str]:
    """Take the crates from Debian's packages where they are installed: no registry is needed then."""
    if not list(DEBIAN_CRATES.glob("libc-*")):
        return []
    return [
        "--offline",
        "--config",
        'source.crates-io.replace-with="debian"',
        "--config",
        f'source.debian.directory="{DEBIAN_CRATES}"',
    ]


if __name__ == "__main__":
    cargo("test", Path(__file__).parent / "harness" / "linkem")
