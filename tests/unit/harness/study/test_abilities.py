"""Which hosts an engine reaches."""

from __future__ import annotations

import pytest

from harness.errors import StudyError
from harness.model.engine import Engine
from harness.study.abilities import refuse_unless_reached


def test_a_page_from_an_ipv6_address_is_refused_for_qtwebkit_with_the_ways_out() -> None:
    hosts = ("localhost", "127.0.0.1", "::1")
    refuse_unless_reached(Engine.CHROMIUM, "dev", hosts)
    refuse_unless_reached(Engine.QTWEBKIT, "dev", hosts[:2])
    with pytest.raises(StudyError, match=r"page dev: qtwebkit .* \[::1\]; leave the page out"):
        refuse_unless_reached(Engine.QTWEBKIT, "dev", hosts)
