"""The metrics of each kind, by which its claims and its report go."""

from __future__ import annotations

import pytest

from harness.errors import StudyError
from harness.model.kind import Kind
from harness.model.metrics import main_metric, metric_named, metrics_of, numeric_metric


def test_a_claim_is_about_a_number_of_its_kind() -> None:
    assert numeric_metric("plt_ms") == "plt_ms"
    assert numeric_metric("page_p95_ms", Kind.USERS) == "page_p95_ms"
    with pytest.raises(StudyError, match="unknown 'plt_ms'"):
        numeric_metric("plt_ms", Kind.REQUESTS)
    with pytest.raises(StudyError, match="limited_by is no number"):
        numeric_metric("limited_by", Kind.USERS)


@pytest.mark.parametrize("kind", Kind)
def test_main_metrics_are_named_first_in_their_meaning(kind: Kind) -> None:
    assert "default metric" in metrics_of(kind)[main_metric(kind)].meaning


def test_kinds_that_share_a_name_count_it_alike() -> None:
    for name in {key for kind in Kind for key in metrics_of(kind)}:
        units = {metrics_of(kind)[name].unit for kind in Kind if name in metrics_of(kind)}
        assert len(units) == 1, name
        found = metric_named(name)
        assert found is not None
        assert {found.unit} == units
    assert metric_named("nothing") is None
