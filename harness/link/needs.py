"""What an emulated link needs of the machine: the emulator, and a device it may open. Quick to import."""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import EnvironmentLacks

LINKEM_FOLDER = Path(__file__).parents[1] / "linkem"
IN_A_ROOT = Path("/coldload/linkem/target/release/linkem")  # built for the system there
TUN_DEVICE = Path("/dev/net/tun")
STALL_VARIABLE = "LINKEM_STALL"  # makes an emulator late on purpose; for tests and benchmarks alone


def linkem_program() -> Path:
    """The emulator that the package's build made."""
    for place in (
        IN_A_ROOT,
        LINKEM_FOLDER / "bin" / "linkem",
        LINKEM_FOLDER / "target" / "release" / "linkem",
    ):
        if place.is_file():
            return place
    raise EnvironmentLacks(f"the link emulator is not built (looked in {LINKEM_FOLDER}); run `make setup`")


def refuse_without_tun() -> None:
    """Raise EnvironmentLacks when TUN devices may not be opened here."""
    try:
        os.close(os.open(TUN_DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        raise EnvironmentLacks(
            f"cannot open {TUN_DEVICE} ({error.strerror}); run as root, or use the backend veth"
        ) from error
