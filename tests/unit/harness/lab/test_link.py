"""What the kernel of a host is told."""

from __future__ import annotations

from pathlib import Path

from harness.lab.link import kernel_settings
from harness.model.settings import TcpSettings


def test_a_kernel_without_ipv6_is_told_nothing_of_it(tmp_path: Path) -> None:
    there = kernel_settings(TcpSettings(), tmp_path)
    silent = {"ipv6.conf.all.disable_ipv6": 1, "ipv6.conf.default.disable_ipv6": 1}
    assert {name: value for name, value in there.items() if "ipv6" in name} == silent
    without = kernel_settings(TcpSettings(), tmp_path / "conf")
    assert {**without, **silent} == there
    assert not without.keys() & silent.keys()
