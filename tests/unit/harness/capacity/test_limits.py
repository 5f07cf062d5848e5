"""More users than the machine carries are refused before the start, each want in one line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.capacity.limits import CrowdSize, Machine, refuse_too_many
from harness.errors import EnvironmentLacks, StudyError

MACHINE = Machine(addresses=65_536, descriptors=20_000, memory_bytes=8_000_000_000)
CROWD = CrowdSize(users=1000, connections_at_once=6, connections_per_page=6, pause_s=5.0, user_bytes=750_000)


def test_a_crowd_that_fits() -> None:
    refuse_too_many(CROWD, MACHINE)


@pytest.mark.parametrize(
    ("crowd", "machine", "error", "said"),
    [
        (
            replace(CROWD, users=70_000),
            MACHINE,
            StudyError,
            "has an address of its own, of which there are 65,536",
        ),
        (
            replace(CROWD, users=4000),
            MACHINE,
            EnvironmentLacks,
            r"24,100 file descriptors .* at most 3,316 users",
        ),
        (
            CROWD,
            replace(MACHINE, memory_bytes=900_000_000),
            EnvironmentLacks,
            r"1\.1 GB of memory, and 0\.9 GB are free; ask for at most 800 users",
        ),
        (
            replace(CROWD, pause_s=0.001),
            MACHINE,
            EnvironmentLacks,
            r"a user takes 6 ports .* think for at least 0\.01 s",
        ),
        (replace(CROWD, pause_s=0), MACHINE, EnvironmentLacks, "a user takes 6 ports"),
    ],
)
def test_what_is_too_much_is_one_line(
    crowd: CrowdSize, machine: Machine, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said) as refused:
        refuse_too_many(crowd, machine)
    assert "\n" not in str(refused.value)


def test_a_process_without_a_limit_of_descriptors() -> None:
    refuse_too_many(replace(CROWD, users=10_000), replace(MACHINE, descriptors=-1))


def test_this_machine_carries_one_user() -> None:
    refuse_too_many(replace(CROWD, users=1), Machine.this())
