"""The limits that filters keep to (`harness.model.filtersettings`)."""

from __future__ import annotations

from harness.model.filtersettings import DEFAULTS, FilterSettings

__all__ = ["DEFAULTS", "FilterSettings"]
