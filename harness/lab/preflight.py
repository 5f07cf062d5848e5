"""What is ready and what is missing on this machine, each with the command that mends it."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from harness.errors import ColdloadError, EnvironmentLacks
from harness.lab.emulated import linkem_program, refuse_stale_emulator, refuse_without_tun
from harness.model.engine import OPTIONAL_ENGINES
from harness.system import roots
from harness.system.enclosure import enclosed, resolv_conf
from harness.system.folders import is_checkout, set_up_again, set_up_engines
from harness.system.program import find_program
from harness.system.refusals import (
    refuse_without_capabilities,
    refuse_without_user_namespaces,
    user_namespace_error,
)
from sites.servers.nodepackages import NEEDED, GatewayLacks, refuse_unless_loadable

MODULES = (
    "selenium",
    "playwright",
    "warcio",
    "cryptography",
    "pandas",
    "scipy",
    "matplotlib",
    "jinja2",
    "rich",
)


CHECKOUT = "checkout"  # the mark of what only a checkout needs
TESTS = "tests"  # and of what its tests alone need


@dataclass(frozen=True)
class Check:
    """One thing coldload needs. `remedy` is the command that mends it; a failed `optional` one only limits."""

    what: str
    ok: bool
    found: str
    remedy: str = ""
    optional: bool = False


@dataclass(frozen=True)
class DebianPackage:
    """A line of configs/debian-packages.txt; `release` is the only one of Debian that has it, "" for every one.

    `of_checkout`: it is needed to build or test coldload, not to use it. `engine` is the optional engine that alone
    needs it, "" where more does.
    """

    name: str
    sign: str
    purpose: str
    release: str = ""
    of_checkout: bool = False
    engine: str = ""

    @property
    def is_offered(self) -> bool:
        """Whether the release of this machine has the package."""
        return self.release in ("", debian_release())

    def is_there(self) -> bool:
        if self.sign.startswith("/"):
            return any(Path("/").glob(self.sign.removeprefix("/")))
        if self.sign.startswith("python:"):
            return importlib.util.find_spec(self.sign.removeprefix("python:")) is not None
        try:
            find_program(self.sign)
        except EnvironmentLacks:
            return False
        return True


def debian_packages() -> list[DebianPackage]:
    """The one list of Debian packages, but for those that the tests alone need."""
    text = resources.files("configs").joinpath("debian-packages.txt").read_text(encoding="utf-8")
    rows = (line.split(None, 2) for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [
        DebianPackage(
            name,
            sign,
            purpose,
            release=mark if mark.isdigit() else "",
            of_checkout=mark == CHECKOUT,
            engine=mark if mark in OPTIONAL_ENGINES else "",
        )
        for marked, sign, purpose in rows
        for name, _, mark in [marked.removesuffix("]").partition("[")]
        if mark != TESTS
    ]


def debian_release() -> str:
    """The release of Debian that this is, as "12"; "" where that is not known."""
    try:
        return platform.freedesktop_os_release().get("VERSION_ID", "")
    except OSError:
        return ""


def checks() -> list[Check]:
    """Everything, in the order in which it should be mended."""
    return [
        *_root_check(),
        *_package_checks(),
        *_module_checks(),
        _linkem_check(),
        _gateway_check(),
        *_kernel_checks(),
    ]


def missing(found: list[Check]) -> list[Check]:
    """The checks that keep coldload from working."""
    return [check for check in found if not check.ok and not check.optional]


def _package_checks() -> Iterator[Check]:
    for package in debian_packages():
        if package.of_checkout and not is_checkout():
            continue
        what = f"{package.name}: {package.purpose}"
        if package.is_there():
            yield Check(what, True, "installed")
        elif package.engine:
            yield Check(what, False, "missing", set_up_engines(package.engine), optional=True)
        elif package.is_offered:
            yield Check(what, False, "missing", f"apt-get install {package.name}")
        else:
            yield _check_of_root(what)


def _check_of_root(what: str) -> Check:
    """Of a package that this release lacks: a root may have it."""
    lack = f"not in Debian {debian_release() or '?'}"
    made = roots.find(roots.Purpose.HISTORICAL)
    if made is None:
        return Check(what, False, lack, "coldload root make (some minutes, once)", optional=True)
    return Check(what, True, f"{lack}, but in a root ({made})", optional=True)


def _root_check() -> Iterator[Check]:
    """Where all of this is looked for, if not on the machine itself."""
    inside = roots.around()
    if inside is not None:
        yield Check("root of the lab", True, str(inside), optional=True)


def _module_checks() -> Iterator[Check]:
    absent = [name for name in MODULES if importlib.util.find_spec(name) is None]
    yield Check(
        "Python packages",
        not absent,
        f"missing: {', '.join(absent)}" if absent else "installed",
        set_up_again(),
    )


def _linkem_check() -> Check:
    what = "link emulator"
    try:
        program = linkem_program()
    except ColdloadError:
        return Check(what, False, "not built", set_up_again())
    try:
        refuse_stale_emulator()
    except EnvironmentLacks as lack:
        return Check(what, False, str(lack).partition("; ")[0], set_up_again())
    return Check(what, True, f"built ({program.name})")


def _gateway_check() -> Check:
    what = "spdy-gateway: the server of the protocols of 2012"
    try:
        return Check(what, True, f"Node {refuse_unless_loadable()} and {NEEDED}", optional=True)
    except GatewayLacks as lack:
        return Check(what, False, lack.found, lack.remedy, optional=True)


def _kernel_checks() -> Iterator[Check]:
    yield _namespaces_check()
    yield _resolver_check()
    yield _device_check()
    real_time = _may_be_real_time()
    yield Check(
        "real-time scheduling of the link",
        real_time,
        "permitted" if real_time else "not permitted: deliveries are less punctual, the calibration decides",
        "run as root, in a container with `--cap-add SYS_NICE`",
        optional=True,
    )


def _may_be_real_time() -> bool:
    """Tries it: the emulator asks for no more."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, parameters)
    return True


def _device_check() -> Check:
    what = "link device"
    try:
        refuse_without_tun()
    except EnvironmentLacks as lack:
        cause, _, remedy = str(lack).partition("; ")
        used = "veth with packet sockets is used, where the kernel stamps arrivals, too"
        return Check(what, False, f"{cause}: {used}", remedy, optional=True)
    return Check(what, True, "TUN, where the kernel stamps arrivals")


def _namespaces_check() -> Check:
    """Makes an enclosure, and a user namespace in it, as every measurement does."""
    what = "private namespaces"
    try:
        refuse_without_capabilities()
        refuse_without_user_namespaces(enclosed(user_namespace_error))
    except EnvironmentLacks as lack:
        cause, _, remedy = str(lack).partition("; ")
        return Check(what, False, cause, remedy)
    return Check(what, True, "made and left")


def _resolver_check() -> Check:
    what = "settings of the name server"
    try:
        return Check(what, True, str(resolv_conf()))
    except EnvironmentLacks as lack:
        cause, _, remedy = str(lack).partition("; ")
        return Check(what, False, cause, remedy)
