"""Where the kernel refuses an enclosure, the command and `coldload doctor` name the cause and its mend.

Each case is made for real, in a user namespace whose root may take things away from itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.facts import tells
from tests.system.conftest import OWN_RIGHTS, without

pytestmark = pytest.mark.side_by_side

FILTER = """
import ctypes, os, platform, struct, sys
unshare = {"x86_64": 272, "aarch64": 97}[platform.machine()]
load, same, answer, refuse, allow = 0x20, 0x15, 0x06, 0x00050001, 0x7FFF0000
steps = [(load, 0, 0, 0), (same, 0, 1, unshare), (answer, 0, 0, refuse), (answer, 0, 0, allow)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""


def after(script: str) -> tuple[str, ...]:
    return (*OWN_RIGHTS, "sh", "-c", f'set -e; {script}; exec "$@"', "sh")


CHROOT = """here=$PWD; mount -t tmpfs t /mnt; mkdir /mnt/tree
for path in /*; do
  if [ -L $path ]; then cp -P $path /mnt/tree/
  elif [ -d $path ] && [ $path != /mnt ]; then mkdir /mnt/tree$path; mount --rbind $path /mnt/tree$path; fi
done; set -- /usr/sbin/chroot /mnt/tree env -C "$here" "$@\""""
CASES = {
    "no CAP_SYS_ADMIN": (without("sys_admin"), "lacks CAP_SYS_ADMIN", "--cap-add SYS_ADMIN"),
    "no CAP_NET_ADMIN": (without("net_admin"), "lacks CAP_NET_ADMIN", "--cap-add NET_ADMIN"),
    "no CAP_NET_RAW": (without("net_raw"), "lacks CAP_NET_RAW", "--cap-add NET_RAW"),
    "seccomp": ((sys.executable, "-c", FILTER), "seccomp filters", "seccomp=unconfined"),
    "no user namespaces": (
        after("echo 0 > /proc/sys/user/max_user_namespaces"),
        "user.max_user_namespaces is 0",
        "sysctl -w",
    ),
    "no networks": (
        after("echo 0 > /proc/sys/user/max_net_namespaces"),
        "user.max_net_namespaces is 0",
        "sysctl -w",
    ),
    "covered /proc": (
        (*after("mount --bind /dev/null /proc/keys"), *OWN_RIGHTS),
        "parts of /proc are covered",
        "systempaths=unconfined",
    ),
    "chroot": (after(CHROOT), 'a chroot, whose "/" is no mount point', "pivot_root"),
    "no /dev/shm": (
        after(
            "mount --rbind /dev /mnt; mount -t tmpfs t /dev; touch /dev/null; mount --bind /mnt/null /dev/null"
        ),
        "mount /dev/shm: No such file",
        "mkdir",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cause_and_its_mend_are_named(case: str) -> None:
    entering, cause, mend = CASES[case]
    coldload = (*entering, sys.executable, "-m", "harness.cli")
    refused = subprocess.run(
        [*coldload, "shell", "--rtt-ms", "10", "--", "true"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 3, refused.stderr
    (line,) = refused.stderr.splitlines()
    assert cause in line
    assert mend in line
    doctor = subprocess.run([*coldload, "doctor"], capture_output=True, text=True, check=False)
    assert doctor.returncode == 3, doctor.stdout
    at = doctor.stdout.index("MISSING  private namespaces")
    told, remedy = doctor.stdout[at:].splitlines()[:2]
    assert cause in told
    assert mend in remedy


def test_a_root_is_refused_to_an_ordinary_user_without_user_namespaces(tmp_path: Path) -> None:
    """Before anything is begun: mmdebstrap tells it late, and in words of its own."""
    forbidding = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    entering = ("unshare", "--user", "--map-user=1000", "--keep-caps", "sh", "-c", forbidding, "sh")
    refused = subprocess.run(
        [*entering, sys.executable, "-m", "harness.cli", "root", "make", "historical"],
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 3, refused.stderr
    (line,) = refused.stderr.splitlines()
    assert tells([line], "user.max_user_namespaces is 0", "as root", "10000", "`sysctl -w`")
    assert not list(tmp_path.iterdir())
