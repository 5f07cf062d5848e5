"""Every kind has its lab, and its programs are known by the names of its engines."""

from __future__ import annotations

import pytest

from harness.model.engine import engines_of
from harness.model.kind import Kind
from harness.run.laboratory import KINDS


@pytest.mark.parametrize("kind", Kind)
def test_each_kind_has_a_room_that_runs_its_engines(kind: Kind) -> None:
    assert set(KINDS) == set(Kind)
    assert set(engines_of(kind)) <= set(KINDS[kind].programs())
