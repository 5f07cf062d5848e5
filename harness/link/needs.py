"""What an emulated link needs of the machine: the emulator, and a device it may open. Quick to import."""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import EnvironmentLacks
from harness.system.installation import set_up_again

LINKEM_FOLDER = Path(__file__).parents[1] / "linkem"
TUN_DEVICE = Path("/dev/net/tun")
STALL_VARIABLE = "LINKEM_STALL"  # makes an emulator late on purpose; for tests and benchmarks alone


def linkem_program() -> Path:
    """The emulator that the package's build made."""
    for place in (LINKEM_FOLDER / "bin" / "linkem", LINKEM_FOLDER / "target" / "release" / "linkem"):
        if place.is_file():
            return place
    raise EnvironmentLacks(
        f"the link emulator is not built (looked in {LINKEM_FOLDER}); to mend it: {set_up_again()}"
    )


def refuse_without_tun() -> None:
    """Raise EnvironmentLacks when TUN devices may not be opened here."""
    try:
        os.close(os.open(TUN_DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        raise EnvironmentLacks(
            f"cannot open {TUN_DEVICE} ({error.strerror}); run as root, or use the backend veth"
        ) from error
