"""Templates to pages. Every value becomes text: none is markup, none moves a terminal or turns the writing around."""

from __future__ import annotations

from typing import Any

import jinja2
from werkzeug.wrappers import Response

from harness.input.shown import in_page

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("analysis.show", "templates"),
    autoescape=True,
    finalize=in_page,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def sentence(text: str) -> str:
    """A line as a sentence: its first letter large, a full stop at its end."""
    return f"{text[:1].upper()}{text[1:]}."


ENVIRONMENT.filters["sentence"] = sentence


def rendered(template: str, status: int = 200, **context: Any) -> Response:
    """A page."""
    return Response(ENVIRONMENT.get_template(template).render(context), status, mimetype="text/html")
