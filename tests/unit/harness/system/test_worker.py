"""A helper process: what it says when it does not start."""

from __future__ import annotations

import pytest

from harness.errors import EnvironmentLacks
from harness.system.worker import Worker


def test_a_worker_that_does_not_start_is_named() -> None:
    with pytest.raises(EnvironmentLacks, match=r"the helper does not start \(exit code 1, see above\)"):
        Worker("the helper", "harness.no_such_module").ask("anything")
