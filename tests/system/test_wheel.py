"""The built wheel works from another folder, without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.system.conftest import was_too_busy

pytestmark = pytest.mark.side_by_side

CHECKOUT = Path(__file__).parents[2]
DEBIANS = "/usr/bin/python3"
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
STUDY = """
name = "wheel"
kind = "requests"
generator = ["wrk"]
pages = ["noise-200"]
protocols = ["http1"]
server = "nginx"
determinism = false
links = ["none"]
trials = {least = 1, attempts = 1}

[requests]
connections = [2]
depth = [1]
seconds = 1
warm_s = 1
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(CHECKOUT)], check=True)
    (made,) = folder.glob("coldload-*.whl")
    return made


def test_it_holds_what_it_should(wheel: Path) -> None:
    assert wheel.name.startswith("coldload-0.1.0-py3-none-linux_")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"harness", "sites", "analysis", "configs", "dnsredirect", "coldload.py"}
    assert "harness/linkem/bin/linkem" in names
    assert "configs/studies/demo.toml" in names
    pinned = zipfile.ZipFile(wheel).read("configs/constraints.txt")
    assert pinned == (CHECKOUT / "constraints.txt").read_bytes()
    assert {
        f"configs/servers/{server}.template" for server in ("apache", "caddy", "gateway", "nginx")
    } <= set(names)
    scripts = {f"sites/servers/{name}.lua" for name in ("answers", "apache", "asked", "closest")}
    assert scripts <= set(names)
    gateway = {"gateway.js", "spdy.js", "package.json", "package-lock.json"}
    assert {f"sites/servers/gateway/{name}" for name in gateway} <= set(names)
    assert "analysis/report/report.html.j2" in names
    assert {"harness/engines/chromium/timeline.js", "sites/determinism.js"} <= set(names)
    assert not [name for name in names if "/target/" in name or name.startswith("dns/")]


@dataclass(frozen=True)
class Installed:
    """The wheel in an environment that nobody may write to, and a user with a home that is empty at first."""

    folder: Path
    user: tuple[str, ...]

    @property
    def environment(self) -> Path:
        return self.folder / "environment"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def coldload(self, *words: str, code: int = 0, **variables: str) -> str:
        """What coldload prints on both streams, called from a folder in which it may not write."""
        return self._said("coldload", words, code, variables)

    def python(self, *words: str) -> str:
        """The same of Python."""
        return self._said("python", words, 0, {})

    def _said(self, program: str, words: Sequence[str], code: int, variables: Mapping[str, str]) -> str:
        done = subprocess.run(
            [*self.user, str(self.environment / "bin" / program), *words],
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == code or was_too_busy(done.returncode, done.stdout), done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Iterator[Installed]:
    """Its dependencies are those of the environment that runs the tests.

    The user is not root, if anybody else can read these; Debian's Python is there for all.
    """
    with tempfile.TemporaryDirectory(prefix="coldload-wheel-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "home").mkdir()
        dependencies = Path(sysconfig.get_path("purelib"))
        others = os.getuid() == 0 and _is_readable_by_nobody(DEBIANS, dependencies)
        python = DEBIANS if others else sys.executable
        environment = folder / "environment"
        subprocess.run([python, "-m", "venv", "--without-pip", str(environment)], check=True)
        (site,) = environment.glob("lib/python3*/site-packages")
        (site / "dependencies.pth").write_text(f"{dependencies}\n")
        (environment / "bin" / "caddy").symlink_to(Path(sysconfig.get_path("scripts"), "caddy"))
        pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "install"]
        subprocess.run([*pip, "--quiet", "--no-deps", "--no-compile", str(wheel)], check=True)
        if others:
            os.chown(folder / "home", NOBODY, NOBODY)
        subprocess.run(["chmod", "-R", "a-w", str(environment)], check=True)
        yield Installed(folder, AS_NOBODY if others else ())
        subprocess.run(["chmod", "-R", "u+w", str(environment)], check=True)


def _is_readable_by_nobody(python: str, dependencies: Path) -> bool:
    """Whether this Python is of our version, and the dependencies work in it for a user who owns nothing."""
    words = "import sys; print(*sys.version_info[:2]); import msgspec, numpy"
    done = subprocess.run(
        [*AS_NOBODY, python, "-c", words],
        env={"PYTHONPATH": str(dependencies)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0 and done.stdout.split() == list(map(str, sys.version_info[:2]))


def test_it_does_the_main_job_for_another_user_from_another_folder(installed: Installed) -> None:
    kept = installed.home / ".local" / "share" / "coldload"
    (installed.folder / "wheel.toml").write_text(STUDY)
    assert " by h2" in installed.coldload("load", "dummy-2012", "--protocol", "h2")
    assert [path.name for path in (kept / "archives").iterdir()] == ["dummy-2012"]
    assert "dummy-2012" in installed.coldload("pages")
    said = installed.coldload("run", str(installed.folder / "wheel.toml"))
    (run,) = (kept / "runs").iterdir()
    assert f"report: {run}/report.html" in said
    recorded = (run / "records.jsonl").read_text().count("\n")
    for name in ("latest", run.name, str(run)):
        assert installed.coldload("records", name).count("\n") == 1 + recorded
    code = "import coldload; print(len(coldload.read('latest')), coldload.__file__)"
    assert installed.python("-c", code).split()[0] == str(recorded)
    (run / "report.html").unlink()
    installed.coldload("report", "latest")
    assert (run / "report.html").is_file()
    assert f"pack: {run}.zip" in installed.coldload("pack", "latest")


def test_no_message_of_it_names_a_makefile(installed: Installed) -> None:
    assert "make setup" not in installed.coldload("doctor")
    assert "`make" not in installed.coldload("load", "nosuchpage", code=2)
    (linkem,) = installed.environment.glob("lib/python3*/site-packages/harness/linkem/bin/linkem")
    folder = linkem.parent
    folder.chmod(0o755)
    linkem.rename(linkem.with_suffix(".away"))
    try:
        said = installed.coldload("doctor", code=3)
    finally:
        linkem.with_suffix(".away").rename(linkem)
        folder.chmod(0o555)
    assert f"to mend it: {installed.environment}/bin/python" in said
    assert "-m pip install --force-reinstall 'coldload @ file:///" in said
    assert "make setup" not in said


@pytest.mark.parametrize(
    ("home", "said"),
    [
        ("relative", "HOME is 'relative', which is no absolute path"),
        ("/proc/none", "cannot make the folder /proc/none/"),
    ],
)
def test_a_home_that_will_not_do_is_one_line(installed: Installed, home: str, said: str) -> None:
    told = installed.coldload("archive", "--shipped", code=3, HOME=home)
    assert said in told
    assert "Traceback" not in told
    assert told.splitlines()[-1].startswith("coldload archive: ")
