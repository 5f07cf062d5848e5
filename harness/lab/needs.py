"""What an emulated link needs of the machine: the emulator, and a device it may open. Quick to import."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from harness.errors import EnvironmentLacks
from harness.system.installation import set_up_again

LINKEM_FOLDER = Path(__file__).parents[1] / "linkem"
IN_A_ROOT = Path("/coldload/linkem/target/release/linkem")  # built for the system there
TUN_DEVICE = Path("/dev/net/tun")
TUN_MENDS = {
    errno.ENOENT: f"run `modprobe tun` as root, or start the container with `--device {TUN_DEVICE}`",
    errno.ENODEV: "run `modprobe tun` as root",
    errno.EPERM: f"start the container with `--device {TUN_DEVICE}`",
}  # elsewhere the user may not
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
    raise EnvironmentLacks(
        f"the link emulator is not built (looked in {LINKEM_FOLDER}); to mend it: {set_up_again()}"
    )


def refuse_without_tun() -> None:
    """Raise EnvironmentLacks when TUN devices may not be opened here."""
    try:
        os.close(os.open(TUN_DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        mend = TUN_MENDS.get(error.errno or 0, "run as root")
        raise EnvironmentLacks(
            f"cannot open {TUN_DEVICE} ({error.strerror}); {mend}, or use the backend veth"
        ) from error
