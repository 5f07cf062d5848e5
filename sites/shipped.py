"""The names of the pages that ship, without what makes them: an archive that is not there may be one of these."""

from __future__ import annotations

from collections.abc import Mapping

# Each with the module of sites.recipes that makes it.
SHIPPED: Mapping[str, str] = {
    "dummy-2012": "study2012",
    "agency": "templates",
    "mobile-news-2012": "study2012",
    "icons-2013": "uniform",
    **{f"noise-{size}": "uniform" for size in ("200", "1k", "10k", "100k")},
    **{f"text-{size}k": "uniform" for size in (10, 25, 50, 75, 100)},
    **{f"objects-{count}": "uniform" for count in (5, 20, 100)},
    **dict.fromkeys(("framework7", "clean-blog", "article", "resume", "freelancer"), "templates"),
    **dict.fromkeys(("landing", "creative", "paper-kit", "dashboard", "datatable"), "templates"),
    "gazetteer": "gazetteer",
    "dummy-nocache": "study2012",
    "mobile-news-one-host": "study2012",
    **dict.fromkeys(("news-front", "news-front-phone", "print-shop", "print-shop-phone"), "today"),
    **dict.fromkeys(("magazine", "magazine-phone", "field-guide", "field-guide-phone"), "today"),
}
