"""Builds the link emulator and tells where it is, or tests it: `python build.py build|test`. Imports none of ours."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CRATE = Path(__file__).resolve().parent
DEBIAN_CRATES = Path("/usr/share/cargo/registry")


def built() -> Path:
    """The emulator, compiled. One that does not run is compiled anew: after a power cut cargo takes it for whole."""
    program = compiled()
    if not runs(program):
        for made in (program, *program.parent.glob("deps/linkem-*")):
            made.unlink()
        program = compiled()
    if not runs(program):
        raise RuntimeError(f"cargo built {program}, and it does not run, or is not of these sources")
    return program


def compiled() -> Path:
    """The program that cargo makes of the sources, which may not run. Where it lies is up to cargo's settings, too."""
    told = cargo("build", "--release", "--message-format=json-render-diagnostics")
    for message in map(json.loads, told.splitlines()):
        if message["reason"] == "compiler-artifact" and message["executable"]:
            return Path(message["executable"])
    raise RuntimeError("cargo built no program")


def runs(program: Path) -> bool:
    """Whether it runs here, and was compiled from these sources."""
    try:
        told = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    except (OSError, UnicodeDecodeError):
        return False
    return f"(sources {sources()})" in told


def cargo(*words: str) -> str:
    """`cargo build` or `cargo test` of the emulator for this machine, with the locked versions; what it tells programs.

    Where Debian's package of libc is installed, its version is the locked one, and no registry is asked.
    """
    program = shutil.which("cargo")
    if program is None:
        raise RuntimeError("cargo is not installed: on Debian `apt-get install cargo librust-libc-dev`")
    packaged = sorted(DEBIAN_CRATES.glob("libc-[0-9]*"))
    crate, options = CRATE, list[str]()
    environment = {**os.environ, "CARGO_TARGET_DIR": str(CRATE / "target"), "LINKEM_SOURCES": sources()}
    environment.pop("CARGO_BUILD_TARGET", None)
    if packaged:
        crate = with_lock_of(crate, packaged[-1])
        options = ["--offline", "--config", 'source.crates-io.replace-with="debian"']
        options += ["--config", f'source.debian.directory="{DEBIAN_CRATES}"']
    command = [program, *words, "--locked", *options]
    heard = subprocess.PIPE if words[0] == "build" else None
    return (
        subprocess.run(command, cwd=crate, env=environment, check=True, stdout=heard, text=True).stdout or ""
    )


def sources() -> str:
    """The digest of what the emulator is compiled from: it tells builds of one version apart."""
    digest = hashlib.sha256()
    for path in sorted((CRATE / "src").rglob("*.rs")):
        digest.update(f"{path.relative_to(CRATE)}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def with_lock_of(crate: Path, packaged: Path) -> Path:
    """The crate, below its own target folder, with a lock file that names the packaged libc."""
    folder = crate / "target" / "packaged"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("src", "tests"):
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(Path("..", "..", name))
    shutil.copy2(crate / "Cargo.toml", folder)
    checksum = json.loads((packaged / ".cargo-checksum.json").read_text())["package"]
    version = packaged.name.removeprefix("libc-")
    lock = (crate / "Cargo.lock").read_text()
    (folder / "Cargo.lock").write_text(locked(lock, version, checksum))
    return folder


def locked(lock: str, version: str, checksum: str) -> str:
    """A lock file with another version of libc."""
    made, changes = re.subn(
        r'(name = "libc"\nversion = )"[^"]*"(\nsource = "[^"]*"\nchecksum = )"[^"]*"',
        rf'\g<1>"{version}"\g<2>"{checksum}"',
        lock,
    )
    if changes != 1:
        raise RuntimeError("Cargo.lock does not name libc once; make it anew with `cargo generate-lockfile`")
    return made


if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        print(built())  # noqa: T201  # for the build hook
    else:
        cargo(sys.argv[1])  # without --release, which takes three times as long to compile
