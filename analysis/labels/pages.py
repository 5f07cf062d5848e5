"""The templates of the pages that a browser shows: the report, advice, comparisons, and those of `coldload show`."""

from __future__ import annotations

import jinja2

from harness.input.shown import in_page


def templates(package: str, folder: str = "") -> jinja2.Environment:
    """The templates of a package. All text is escaped; what a template names and nobody gave is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, folder),
        autoescape=True,
        finalize=in_page,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
