"""How long resources may be kept."""

from __future__ import annotations

from harness.model.filtersettings import FilterSettings
from sites.optimise.document import Notes
from sites.optimise.page import Page, Resource


def extend_cache(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images, style sheets and scripts get a year; what must not be stored, or not be shared, stays."""
    value = f"max-age={settings.cache_seconds}"
    changed = [
        each.with_header("Cache-Control", value)
        for each in page.resources.values()
        if may_be_kept(each) and each.header("Cache-Control") != value
    ]
    return page.with_resources(changed), ()


def may_be_kept(resource: Resource) -> bool:
    """Whether it is a part of the page that its server lets caches store and share."""
    control = (resource.header("Cache-Control") or "").lower()
    fit = resource.is_style or resource.is_script or (resource.usable and resource.mime.startswith("image/"))
    return fit and not any(word in control for word in ("no-store", "private"))
