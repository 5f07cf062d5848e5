"""The causes of a refusal that only other machines have. Those of this one: tests/system/test_refused_enclosures.py."""

from __future__ import annotations

import errno
import os
from dataclasses import replace

import pytest

from harness.system.refusals import CLONING, RESTRICTING, Privileges, Refusal, privileges, told, why_not

USER = Privileges(
    is_root=False,
    lacking=("SYS_ADMIN", "NET_ADMIN", "NET_RAW"),
    is_filtered=False,
    is_profiled=False,
    root_is_mounted=True,
    switches={},
)
ROOT = replace(USER, is_root=True, lacking=())


def refused(number: int, call: str) -> Refusal:
    return Refusal.of(told(OSError(number, f"{call}: {os.strerror(number)}")))


@pytest.mark.parametrize(
    ("refusal", "found", "cause", "mend"),
    [
        (
            refused(errno.EPERM, "unshare"),
            replace(USER, switches={RESTRICTING: 1, CLONING: 1}),
            "AppArmor restricts the user namespaces",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            Refusal.of(told(PermissionError(errno.EPERM, "Operation not permitted", "/proc/self/uid_map"))),
            replace(USER, switches={RESTRICTING: 1}),
            "/proc/self/uid_map: Operation not permitted): AppArmor restricts",
            "or run coldload as root",
        ),
        (
            refused(errno.EPERM, "unshare"),
            replace(USER, switches={CLONING: 0}),
            "ordinary users may make no user namespaces",
            "sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        (refused(errno.EINVAL, "unshare"), ROOT, "this kernel has none", "use a kernel with user"),
        (refused(errno.ENOSYS, "unshare"), USER, "this kernel has none", "use a kernel with user"),
        (
            refused(errno.EACCES, "mount /"),
            replace(ROOT, is_profiled=True, is_filtered=True),
            "AppArmor confines this process",
            "apparmor=unconfined",
        ),
        (refused(errno.ENOSPC, "unshare"), ROOT, "too many namespaces", "user.max_*_namespaces"),
        (refused(errno.EPERM, "unshare"), ROOT, "nothing known forbids it but a chroot", "pivot_root"),
    ],
)
def test_the_cause_and_its_mend_are_told(refusal: Refusal, found: Privileges, cause: str, mend: str) -> None:
    line = why_not(refusal, found)
    assert cause in line
    assert mend in line


def test_switches_that_do_not_forbid_are_not_blamed() -> None:
    found = replace(USER, is_filtered=True, switches={RESTRICTING: 0, CLONING: 1})
    assert "seccomp filters" in why_not(refused(errno.EPERM, "unshare"), found)


def test_this_process_is_described() -> None:
    found = privileges()
    assert found.is_root == (os.geteuid() == 0)
    assert found.root_is_mounted
    assert found.switches["user/max_user_namespaces"] > 0
