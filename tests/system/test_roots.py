"""The lab in a root of Debian loads by every protocol, in 13 in every engine.

`make test` makes a root of 13 and loads by all that the engines of today speak in it. The protocols of QtWebKit are
left to `make test-lengthy`, and on Debian 12 all of a root of 12. `make test-releases` goes the whole way of a stranger
in bare trees.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.lab.preflight import debian_release
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from harness.system.processtree import family
from harness.system.roots import SUITES, Purpose, unused
from tests.facts import tells
from tests.system.conftest import NO_ICON, ended_well, small_site

pytestmark = pytest.mark.side_by_side

HERE = [Engine.CHROMIUM, Engine.QTWEBKIT]  # in every root, or in one made for it
# What the root of a release is made with.
OPTIONAL: dict[str, list[Engine]] = {"12": [], "13": [Engine.FIREFOX, Engine.WEBKIT]}
# A trial of every protocol, by each engine that speaks it.
STUDY = """
name = "all"
pages = ["small"]
engines = %s
protocols = %s
trials = {least = 1, attempts = 1}
aa = false
portraits = false
[[links]]
down_mbps = 50
rtt_ms = 10
"""


def coldload(*words: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command as a user of another home would give it."""
    return subprocess.run(
        [sys.executable, "-m", "harness.cli", *words],
        env={
            **os.environ,
            "XDG_DATA_HOME": str(home),
            "COLDLOAD_ARCHIVES": str(home / "archives"),
            **environment,
        },
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


# Where the tests run on Debian 12, a root of 12 holds what they use anyway.
RELEASES = [
    pytest.param(release, marks=[pytest.mark.lengthy] if (release, debian_release()) == ("12", "12") else [])
    for release in SUITES
]


@pytest.fixture(scope="module", params=RELEASES)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """A user's home with a root of the lab of one release."""
    release, folder = request.param, tmp_path_factory.mktemp("home")
    small_site(folder / "archives", head=NO_ICON)
    optional = [word for engine in OPTIONAL[release] for word in ("--engine", engine)]
    made = coldload("root", "make", "lab", "--release", release, *optional, home=folder)
    assert made.returncode == 0, made.stderr
    assert "the root is made (" in made.stderr
    assert ("packages, with firefox, with webkit, in " in made.stderr) is bool(optional)
    yield release, folder
    subprocess.run(["rm", "--recursive", "--force", folder], check=True)


def _cut_off(home: Path) -> None:
    """Kill the making of a root with nothing left to tidy up: no process of it goes on, and no root is there."""
    words = [sys.executable, "-m", "harness.cli", "root", "make", Purpose.HISTORICAL]
    making = subprocess.Popen(
        words, env={**os.environ, "XDG_DATA_HOME": str(home)}, stderr=subprocess.PIPE, text=True
    )
    assert making.stderr is not None
    while "installing" not in making.stderr.readline():
        assert making.poll() is None
    working = family(making.pid)[1:]
    assert len(working) > 2
    making.kill()
    making.communicate()
    while any(Path("/proc", str(pid)).exists() for pid in working):
        time.sleep(0.1)
    assert f"{Purpose.HISTORICAL}: none" in coldload("root", "list", home=home).stdout


def test_without_a_network_no_root_is_made(tmp_path: Path) -> None:
    refused = subprocess.run(
        ["unshare", "-r", "-n", sys.executable, "-m", "harness.cli", "root", "make", "historical"],
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 3, refused.stderr
    _, line = refused.stderr.splitlines()
    reason = "(Temporary failure resolving 'deb.debian.org')"
    assert line.startswith("coldload root: ")
    assert tells([line], "packages for the tree cannot be fetched", reason, "network?", "More is in ")
    assert not [path for path in (tmp_path / "coldload/roots").iterdir() if path.is_dir()]


def test_the_lab_loads_in_a_root_of_each_release(home: tuple[str, Path]) -> None:
    release, folder = home
    told = coldload("doctor", home=folder)
    assert told.returncode == 0, told.stdout
    assert f"root of the lab: Debian {release}, made " in told.stdout
    loaded = coldload("load", "small", "--protocol", "h2", "--driver", "selenium", home=folder)
    assert loaded.returncode == 0, loaded.stderr
    assert "small plain h2 " in loaded.stdout
    assert " 11 requests (11 by h2" in loaded.stdout


def test_each_engine_of_today_is_in_the_root_that_was_made_with_it(
    home: tuple[str, Path], tmp_path: Path
) -> None:
    """It loads by each of its protocols there. Where an optional one is not, it is told how to make a root with it."""
    release, folder = home
    told = coldload("setup", "firefox", "webkit", home=folder)
    doctor = coldload("doctor", home=folder).stdout
    if OPTIONAL[release]:
        assert told.returncode == 0, told.stderr
        assert "engine Firefox: installed" in doctor
        environment = _all_is_proved(folder, tmp_path / "run", [Engine.CHROMIUM, *OPTIONAL[release]])
        assert set(environment["debian"]["packages"]) >= {"firefox-esr", "gir1.2-webkit2-4.1", "weston"}
        return
    assert (told.returncode, told.stderr.count("\n")) == (3, 1)
    assert told.stderr.startswith("coldload setup: the root of the lab is without firefox and webkit")
    assert told.stderr.endswith(": coldload root make lab --engine firefox --engine webkit\n")
    assert ": coldload root make lab --engine webkit\n" in doctor
    loaded = coldload("load", "small", "--engine", "firefox", home=folder)
    assert (loaded.returncode, loaded.stderr.count("\n")) == (3, 1)
    assert "`coldload root make lab --engine firefox`" in loaded.stderr


@pytest.mark.lengthy  # it makes a second root, twice
def test_every_protocol_is_in_the_root_or_in_one_made_for_it(home: tuple[str, Path]) -> None:
    """Debian 13 has no QtWebKit: the first load that needs it makes the root that has, also where that was cut off.

    An ordinary user makes it beforehand.
    """
    release, folder = home
    if release == "13":
        _cut_off(folder)
        if os.geteuid() != 0:  # who has no other user's files in the root of the lab
            refused = coldload("load", "small", "--protocol", "spdy", home=folder)
            assert ": coldload root make historical" in refused.stderr
            assert coldload("root", "make", "historical", home=folder).returncode == 0
    loaded = coldload("load", "small", "--protocol", "spdy", home=folder)
    assert loaded.returncode == 0, loaded.stderr
    assert "small plain spdy " in loaded.stdout
    assert " 11 requests (11 by " in loaded.stdout
    made = coldload("root", "list", home=folder).stdout
    assert (f"{Purpose.HISTORICAL}: none" in made) is (release == "12")
    environment = _all_is_proved(folder, folder / "run", HERE)
    assert environment["machine"]["system"].startswith(f"Debian GNU/Linux {release} ")
    assert environment["debian"]["release"] == release
    assert environment["debian"]["packages"]["chromium"]
    used = environment["debian"]["roots"]
    assert used["lab"]["release"] == release
    if release == "13":
        entry = [sys.executable, "-m", "harness.system.roots", str(folder / "coldload/roots/historical/tree")]
        (folder / "coldload/roots/historical/tree/home/keeper").mkdir(exist_ok=True)
        for place in ("/usr/bin/made", "/etc/passwd", "/var/cache/made", "/home/keeper/made"):
            assert subprocess.run([*entry, "--", "touch", place], check=False).returncode == 1, place
        assert used["historical"]["release"] == "12"
        assert used["historical"]["packages"]["python3-pyqt5.qtwebkit"]


def _all_is_proved(home: Path, out: Path, engines: list[Engine]) -> dict[str, Any]:
    """The environment of a run in which each trial came to its end, and all it asked for travelled by its protocol."""
    protocols = [
        protocol for protocol in Protocol if any(protocol in each.traits.protocols for each in engines)
    ]
    (home / "study.toml").write_text(STUDY % (json.dumps(engines), json.dumps(protocols)))
    ran = coldload("run", "study.toml", "--out", str(out), home=home)
    assert ended_well(ran.returncode, ran.stderr), ran.stderr
    made = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    assert {(each["condition"]["engine"], each["condition"]["protocol"]) for each in made} == {
        (engine, protocol) for engine in engines for protocol in engine.traits.protocols
    }
    for each in made:
        protocol = Protocol(each["condition"]["protocol"])
        assert (protocol, each["outcome"], each["reason"]) == (protocol, "ok", None)
        assert set(each["protocols"]) == {protocol.wire}
        # The icon is asked for about when the load ends.
        assert each["requests"] in (11, 12), protocol
    environment: dict[str, Any] = json.loads((out / "environment.json").read_text())
    return environment


def test_a_root_of_another_version_is_not_used_and_the_mend_is_named(home: tuple[str, Path]) -> None:
    _, folder = home
    stored = folder / "coldload" / "roots" / "lab" / "root.json"
    whole = stored.read_text()
    try:
        for text, why in (
            ("{", "is damaged"),
            (whole.replace('"made_for": "', '"made_for": "x'), "another version"),
        ):
            stored.write_text(text)
            told = coldload("doctor", home=folder)
            assert (told.returncode, told.stderr.count("\n")) == (3, 1)
            assert why in told.stderr
            assert ": coldload root make lab" in told.stderr
    finally:
        stored.write_text(whole)


def test_a_root_stays_as_long_as_somebody_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "coldload/roots/lab"
    (folder / "tree/mnt").mkdir(parents=True)
    (folder / "root.json").write_text("{}")
    shown = [place for place in ("/usr", "/bin", "/lib", "/lib64") if Path(place).exists()]
    entering = [sys.executable, "-m", "harness.system.roots", str(folder / "tree"), *shown, "--", "cat"]
    with subprocess.Popen(entering, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as inside:
        assert inside.stdin is not None
        assert inside.stdout is not None
        inside.stdin.write("I am in\n")
        inside.stdin.flush()
        assert inside.stdout.readline() == "I am in\n"
        for what in ("remove", "make"):
            refused = coldload("root", what, "lab", home=tmp_path)
            assert (refused.returncode, refused.stderr.count("\n")) == (3, 1)
            assert tells(refused.stderr, "in use", f"(process {inside.pid})", "wait")
        assert (folder / "tree/mnt").is_dir()
        inside.kill()
    with unused(folder):
        late = subprocess.run(entering, input="", capture_output=True, text=True, check=False)
    assert late.returncode == 1
    assert tells(late.stderr, "being made anew or removed", "wait until")
    assert coldload("root", "remove", "lab", home=tmp_path).stdout == "removed lab\n"
    assert not folder.exists()


def test_a_root_is_left_out_when_that_is_asked_for_and_removed_when_it_is_named(
    home: tuple[str, Path],
) -> None:
    _, folder = home
    outside = coldload("doctor", home=folder, COLDLOAD_ROOT="none")
    assert "root of the lab" not in outside.stdout
    assert coldload("root", "remove", home=folder).returncode == 2
    assert coldload("root", "remove", "historical", home=folder).returncode == 0
    assert "historical: none" in coldload("root", "list", home=folder).stdout
