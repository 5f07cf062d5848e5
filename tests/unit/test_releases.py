"""Set-up reads one list on each release of Debian, and the emulator is built with each release's own crate."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.lab import preflight
from harness.linkem.build import locked, runs, sources
from harness.system import folders

ROOT = Path(__file__).resolve().parents[2]
LINKEM = ROOT / "harness" / "linkem"
QTWEBKIT = "python3-pyqt5.qtwebkit"


def test_the_lock_file_names_the_packaged_crate_and_nothing_else_changes() -> None:
    lock = (ROOT / "harness" / "linkem" / "Cargo.lock").read_text()
    made = locked(lock, "0.2.169", "Could not get crate checksum")  # as Debian 13 has it
    before, after = lock.splitlines(), made.splitlines()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert changed == ['version = "0.2.169"', 'checksum = "Could not get crate checksum"']
    with pytest.raises(RuntimeError, match="does not name libc once"):
        locked(lock.replace("libc", "other"), "0.2.169", "x")


@pytest.mark.parametrize(("release", "offered"), [("12", True), ("13", False), ("", False)])
def test_what_a_release_lacks_is_optional(
    monkeypatch: pytest.MonkeyPatch, release: str, *, offered: bool
) -> None:
    monkeypatch.setattr(preflight, "debian_release", lambda: release)
    packages = {each.name: each for each in preflight.debian_packages()}
    assert packages[QTWEBKIT].is_offered is offered
    assert packages["chromium"].is_offered
    assert all("[" not in name for name in packages)


@pytest.mark.parametrize("checkout", [True, False])
def test_only_a_checkout_needs_what_builds_and_tests_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, checkout: bool
) -> None:
    if not checkout:
        monkeypatch.setattr(folders, "FOLDER", tmp_path)
    looked_for = {check.what.split(":")[0] for check in preflight.checks()}
    assert ("cargo" in looked_for) is checkout
    assert "chromium" in looked_for


@pytest.mark.parametrize("checkout", [True, False])
@pytest.mark.parametrize(("release", "asked"), [("12", True), ("13", False)])
def test_set_up_asks_for_what_the_release_has(
    tmp_path: Path, release: str, *, asked: bool, checkout: bool
) -> None:
    """The script itself, on a machine without a single package of the list, up to its first refusal."""
    (tmp_path / "configs").mkdir()
    if checkout:
        (tmp_path / "Makefile").touch()
    (tmp_path / "os-release").write_text(f'ID=debian\nVERSION_ID="{release}"\n')
    script = (ROOT / "configs" / "debian-setup.sh").read_text()
    assert script.count("/etc/os-release") == 1
    (tmp_path / "configs" / "setup.sh").write_text(
        script.replace("/etc/os-release", str(tmp_path / "os-release"))
    )
    lines = (ROOT / "configs" / "debian-packages.txt").read_text().splitlines()
    nowhere = [
        " ".join([line.split()[0], "/nowhere", "x"]) if line[:1] not in ("#", "") else line for line in lines
    ]
    (tmp_path / "configs" / "debian-packages.txt").write_text("\n".join([*nowhere, ""]))
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    done = subprocess.run(
        ["/bin/sh", str(tmp_path / "configs" / "setup.sh")],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "this is not a Debian system" in done.stderr
    assert (f" {QTWEBKIT}" in done.stderr) is asked
    assert (" cargo " in done.stderr) is checkout
    assert "[" not in done.stderr.partition("apt-get install")[2]
    assert " chromium " in done.stderr


@pytest.mark.parametrize(("engine", "wanted"), [("firefox", "firefox-esr"), ("webkit", "weston")])
def test_set_up_of_an_engine_asks_for_its_packages_alone(tmp_path: Path, engine: str, wanted: str) -> None:
    packages = ROOT / "configs" / "debian-packages.txt"
    (tmp_path / "debian-packages.txt").write_text(
        "\n".join(
            " ".join([line.split()[0], "/nowhere"])
            for line in packages.read_text().splitlines()
            if line[:1] != "#"
        )
        + "\n"
    )
    script = tmp_path / "debian-setup.sh"
    script.write_text((ROOT / "configs" / "debian-setup.sh").read_text())
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")

    def missing(*words: str) -> str:
        done = subprocess.run(
            ["/bin/sh", str(script), *words],
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3
        return done.stderr.partition("missing:")[2]

    asked = {each.name for each in preflight.debian_packages() if each.engine == engine}
    assert wanted in asked
    assert set(missing(engine).split()) == asked
    assert asked.isdisjoint(missing().split())


def test_an_engine_that_is_optional_is_mended_by_its_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight.DebianPackage, "is_there", lambda _: False)
    found = {check.what.partition(":")[0]: check for check in preflight.checks()}
    assert found["firefox-esr"].optional
    assert found["firefox-esr"].remedy == "coldload setup firefox"
    assert found["weston"].remedy == "coldload setup webkit"


# Compiled in seconds.
UNOPTIMISED = '[build]\ntarget = "%s"\n[profile.release]\nlto = false\nopt-level = 0\ncodegen-units = 16\n'


@pytest.mark.thorough
def test_the_emulator_is_found_where_cargo_puts_it_and_is_the_one_of_these_sources(tmp_path: Path) -> None:
    """Here below a target triple, a setting of cargo, beside an earlier one that runs. Variables have no say."""
    crate = tmp_path / "linkem"
    shutil.copytree(LINKEM, crate, ignore=shutil.ignore_patterns("target", "bin", "__pycache__"))
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    triple = dict(line.split(": ", 1) for line in told.splitlines()[1:])["host"]
    (crate / ".cargo").mkdir()
    (crate / ".cargo/config.toml").write_text(UNOPTIMISED % triple)
    earlier = crate / "target/release/linkem"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("#!/bin/sh\necho 'linkem 0.2.0 (sources 000000000000)'\n")
    earlier.chmod(0o755)
    settings = {"CARGO_TARGET_DIR": str(tmp_path / "elsewhere"), "CARGO_BUILD_TARGET": "no-such-target"}
    done = subprocess.run(
        [sys.executable, crate / "build.py", "build"],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    program = crate / "target" / triple / "release/linkem"
    assert done.stdout == f"{program}\n"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.endswith(f"(sources {sources()})\n")


@pytest.mark.parametrize(
    ("script", "is_good"),
    [
        ("echo 'linkem 0.2.0 (sources %s)'", True),
        ("echo 'linkem 0.2.0 (sources 000000000000)'", False),
        ("echo 'linkem 0.2.0 (sources unknown)'", False),
        ("exit 1", False),
        (None, False),
    ],
)
def test_an_emulator_of_other_sources_is_none(tmp_path: Path, script: str | None, *, is_good: bool) -> None:
    program = tmp_path / "linkem"
    program.write_text("" if script is None else f"#!/bin/sh\n{script.replace('%s', sources())}\n")
    program.chmod(0o755)
    assert runs(program) is is_good
