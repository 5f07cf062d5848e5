"""What is in the way of Debian's packages is told in one line, with exit code 3; the same command goes on afterwards.

apt-get and dpkg are the machine's own. They work on a database and a cache of the test, in namespaces without a
network.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.facts import tells

ROOT = Path(__file__).resolve().parents[2]
# What the script calls, then what apt-get and dpkg call: sudo is not among it.
TOOLS = (
    "apt-get",
    "dpkg",
    "dpkg-query",
    "sh",
    "env",
    "dirname",
    "grep",
    "head",
    "sed",
    "tee",
    "chmod",
    "rm",
    "id",
    "ls",
    "true",
)
CALLED = ("tar", "diff", "dpkg-deb", "dpkg-split")
OF_ROOT = ("ldconfig", "start-stop-daemon")  # apt-get starts dpkg with a search path of its own
SETTINGS = """Dir::State::lists "{0}/lists";
Dir::State::extended_states "{0}/extended_states";
Dir::State::status "{0}/dpkg/status";
Dir::Cache "{0}/cache";
Dir::Etc "{0}/etc";
Dir::Log "{0}/log";
APT::Sandbox::User "root";
APT::Architecture "amd64";
Acquire::Retries "0";
"""
PACKAGE = """Package: {name}
Version: 1
Architecture: all
Maintainer: Nobody <nobody@example.org>
Description: of the test
"""
AS_USER = ("/usr/bin/unshare", "--user", "--map-user=1000")
GUARD = "usr/sbin/policy-rc.d"  # forbids services to start while packages are installed
pytestmark = pytest.mark.side_by_side


@dataclass(frozen=True)
class Machine:
    """A Debian whose packages are those of its folder."""

    folder: Path

    def begun(self, name: str, state: str, field: str) -> None:
        """A package that dpkg knows in this state."""
        rows = [*PACKAGE.format(name=name).splitlines(), f"Status: install {state}", *[field] * bool(field)]
        (self.folder / "dpkg/status").write_text("\n".join([*rows, "", ""]))
        (self.folder / f"dpkg/info/{name}.list").touch()

    def states(self) -> dict[str, str]:
        """Each package that dpkg knows, with its state."""
        words = ["dpkg-query", "--admindir", str(self.folder / "dpkg"), "-W", "-f", "${Package}:${Status}\n"]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return dict(line.split(":", 1) for line in told.splitlines())

    def offers(self, *names: str, size: int | None = None, before: str = f"test -x /{GUARD}") -> None:
        """A mirror that can be reached, with packages that hold no files and run this before they are unpacked."""
        place = self.folder / "mirror"
        listed = ""
        for name in names:
            (place / name / "DEBIAN").mkdir(parents=True)
            (place / name / "DEBIAN/control").write_text(PACKAGE.format(name=name))
            (place / name / "DEBIAN/preinst").write_text(f"#!/bin/sh\n{before}\n")
            (place / name / "DEBIAN/preinst").chmod(0o755)
            subprocess.run(["dpkg-deb", "--build", place / name, place], check=True, capture_output=True)
            made = place / f"{name}_1_all.deb"
            listed += (
                f"{PACKAGE.format(name=name)}Filename: ./{made.name}\nSize: {size or made.stat().st_size}\n"
            )
            listed += f"SHA256: {hashlib.sha256(made.read_bytes()).hexdigest()}\n\n"
        (place / "Packages").write_text(listed)
        self.mirror(f"copy:{place} ./")

    def mirror(self, place: str) -> None:
        (self.folder / "etc/sources.list").write_text(f"deb [trusted=yes] {place}\n")

    def sudo(self, text: str) -> None:
        """What `sudo` does here, which is nowhere else."""
        (self.folder / "bin/sudo").write_text(f"#!/bin/sh\n{text}\n")
        (self.folder / "bin/sudo").chmod(0o755)

    def needs(self, *lines: str) -> None:
        (self.folder / "debian-packages.txt").write_text("".join(f"{line}\n" for line in lines))

    def set_up(self, *entering: str, before: str = "true") -> subprocess.CompletedProcess[str]:
        """The script; /usr/sbin, where it writes for a while, is a folder of the test."""
        place = self.folder
        entry = f"{before} && mount --bind {place}/log /var/log && mount --bind {place}/usr/sbin /usr/sbin"
        entry += f' && PATH={place}/bin:/usr/sbin && exec "$@"'
        words = ["unshare", "-r", "-m", "-n", "sh", "-c", entry, "sh"]
        return subprocess.run(
            [*words, *entering, "/bin/sh", str(self.folder / "debian-setup.sh")],
            env={
                "PATH": os.environ["PATH"],
                "APT_CONFIG": str(self.folder / "apt.conf"),
                "DPKG_ADMINDIR": str(self.folder / "dpkg"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def refusal(self, *entering: str, before: str = "true") -> str:
        """The one line in which it refuses; nothing of it is left on the machine then."""
        done = self.set_up(*entering, before=before)
        assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
        assert not (self.folder / GUARD).exists()
        assert done.stderr.startswith("setup: ")
        return done.stderr.removeprefix("setup: ").rstrip("\n")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """One that lacks two packages, whose mirror is out of reach."""
    for name in (
        "lists/partial",
        "cache/archives/partial",
        "dpkg/info",
        "dpkg/updates",
        "etc/apt.conf.d",
        "bin",
        "usr/sbin",
        "log",
    ):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "etc/preferences.d").mkdir()
    (tmp_path / "dpkg/status").touch()
    (tmp_path / "apt.conf").write_text(SETTINGS.format(tmp_path))
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
    for name in (*TOOLS, *CALLED, *OF_ROOT):
        folder = "usr/sbin" if name in OF_ROOT else "bin"
        shutil.copy2(str(shutil.which(name, path=path)), tmp_path / folder)
    (tmp_path / "debian-setup.sh").symlink_to(ROOT / "configs/debian-setup.sh")
    made = Machine(tmp_path)
    made.mirror("http://mirror.invalid/debian bookworm main")
    made.needs("chromium /nowhere the browser", "nginx /nowhere a server")
    return made


@contextmanager
def held(path: Path) -> Iterator[None]:
    """As another apt-get or dpkg holds it."""
    with path.open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield


def test_a_lock_of_another_program_is_named_and_the_same_command_goes_on(machine: Machine) -> None:
    machine.offers("chromium", "nginx")
    for lock in ("lists/lock", "dpkg/lock-frontend"):
        with held(machine.folder / lock):
            line = machine.refusal()
        assert tells(
            [line],
            "another program",
            f"(Could not get lock {machine.folder}/{lock}. It is held by",
            "wait until",
        )
    done = machine.set_up()
    assert (done.returncode, done.stderr) == (0, "")
    (begun,) = done.stdout.splitlines()
    assert tells([begun], "setup: installing 2 Debian packages", "up to 2 GB", ": chromium nginx")
    assert machine.states() == {"chromium": "install ok installed", "nginx": "install ok installed"}
    assert not (machine.folder / GUARD).exists()


def test_a_full_disk_is_named_where_lists_find_no_room_and_where_packages_find_none(machine: Machine) -> None:
    machine.offers("chromium", "nginx", size=10**13)
    small = f"mount -t tmpfs -o size=8k t {machine.folder}/lists && mkdir {machine.folder}/lists/partial"
    for before in (small, "true"):
        full = machine.refusal(before=before)
        assert tells(
            [full], "the disk is full", "`df /var /usr`", "2 GB are needed here, 4 GB in all", "make room"
        )


def test_without_a_network_it_is_told_what_was_not_found(machine: Machine) -> None:
    reason = "(Temporary failure resolving 'mirror.invalid')"
    assert tells([machine.refusal()], "packages cannot be fetched", reason, "network?")


def test_a_package_that_no_mirror_offers_is_no_matter_of_the_network(machine: Machine) -> None:
    machine.offers("chromium")
    reason = "(Unable to locate package nginx)"
    assert tells([machine.refusal()], "does not offer", reason, "Debian 12 and 13")


def test_who_is_not_root_is_told_what_root_has_to_run(machine: Machine) -> None:
    by_hand = "as root, run `apt-get install --no-install-recommends chromium nginx`"
    assert tells([machine.refusal(*AS_USER)], "not root", "no sudo", by_hand)
    machine.sudo("echo sudo: a password is required >&2; exit 1")
    assert tells([machine.refusal(*AS_USER)], "sudo gives no permission", by_hand)


def test_a_user_with_sudo_goes_on_by_it(machine: Machine) -> None:
    machine.sudo(f'echo "$*" >> {machine.folder}/asked; [ "$1" != -n ] || shift; exec "$@"')
    assert "packages cannot be fetched" in machine.refusal(*AS_USER)
    asked = (machine.folder / "asked").read_text().splitlines()
    assert asked[:2] == ["-n true", "env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -qq update"]
    assert asked[-1] == "rm -f /usr/sbin/policy-rc.d"


@pytest.mark.parametrize(
    ("state", "field"),
    [
        ("ok unpacked", ""),
        ("ok half-configured", ""),
        ("ok triggers-awaited", "Triggers-Awaited: chromium"),
        ("reinstreq half-installed", ""),  # as it was reinstalled
    ],
)
def test_what_dpkg_did_not_finish_is_finished_though_its_files_are_there(
    machine: Machine, state: str, field: str
) -> None:
    machine.needs("nginx sh a server")
    machine.begun("nginx", state, field)
    machine.offers("nginx")
    done = machine.set_up()
    assert (done.returncode, done.stderr) == (0, "")
    (begun,) = done.stdout.splitlines()
    assert tells([begun], "setup: installing 1 Debian package", "up to 2 GB", ": nginx")
    assert machine.states() == {"nginx": "install ok installed"}
    again = machine.set_up()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_a_package_that_dpkg_was_killed_in_is_made_whole(machine: Machine) -> None:
    machine.offers("chromium", "nginx", before="kill -9 $PPID")
    assert tells([machine.refusal()], "apt-get failed", "(Sub-process /usr/bin/dpkg exited unexpectedly)")
    assert "install reinstreq half-installed" in machine.states().values()
    shutil.rmtree(machine.folder / "mirror")
    machine.offers("chromium", "nginx")
    done = machine.set_up()
    assert (done.returncode, done.stderr) == (0, "")
    assert machine.states() == {"chromium": "install ok installed", "nginx": "install ok installed"}


def test_packages_that_do_not_fit_are_named_so(machine: Machine) -> None:
    machine.needs("nginx sh a server")
    machine.begun("nginx", "ok half-configured", "Depends: nowhere-to-be-had")
    machine.offers("chromium")
    assert tells([machine.refusal()], "do not fit", "`apt-get --fix-broken install`")


def test_what_a_package_itself_fails_at_is_one_line(machine: Machine) -> None:
    machine.needs("nginx /nowhere a server")
    machine.offers("nginx", before="exit 1")
    line = machine.refusal()
    assert line.startswith("apt-get failed (")
    assert tells([line], "mend that", "`apt-get install nginx` by hand")


LEFT = "#!/bin/sh\n# by coldload, while it installs packages\nexit 101\n"


@pytest.mark.parametrize("is_refused", [False, True])
def test_what_a_killed_set_up_left_goes_also_where_nothing_is_installed(
    machine: Machine, *, is_refused: bool
) -> None:
    (machine.folder / GUARD).write_text(LEFT)
    if is_refused:
        assert "packages cannot be fetched" in machine.refusal()
        return
    machine.needs("nginx sh a server")
    done = machine.set_up()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (machine.folder / GUARD).exists()


def test_who_may_not_remove_what_a_killed_set_up_left_is_told(machine: Machine) -> None:
    machine.needs("nginx sh a server")
    (machine.folder / GUARD).write_text(LEFT)
    done = machine.set_up(*AS_USER)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert tells(
        [done.stderr], "a set-up that was killed left /usr/sbin/policy-rc.d", "`rm /usr/sbin/policy-rc.d`"
    )


def test_a_guard_of_somebody_else_stays(machine: Machine) -> None:
    (machine.folder / GUARD).write_text("#!/bin/sh\nexit 101\n")
    (machine.folder / GUARD).chmod(0o755)
    machine.offers("chromium", "nginx")
    assert machine.set_up().returncode == 0
    assert (machine.folder / GUARD).read_text() == "#!/bin/sh\nexit 101\n"


def test_a_set_up_that_is_ended_meanwhile_leaves_no_guard(machine: Machine) -> None:
    """The package itself sends the signal, as somebody might while it is unpacked."""
    machine.needs("nginx /nowhere a server")
    machine.offers("nginx", before=f"read script <{machine.folder}/script; kill $script")
    noting = f'echo $$ > {machine.folder}/script; exec "$@"'
    assert machine.set_up("/bin/sh", "-c", noting, "sh").returncode == 130
    assert not (machine.folder / GUARD).exists()
