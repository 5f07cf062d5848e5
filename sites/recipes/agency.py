"""`agency`: a real multi-host page under permissive licences, put together from npm packages.

The page is Start Bootstrap's Agency as published, with what it refers to on four other hosts: Bootstrap's
scripts (cdn.jsdelivr.net), Font Awesome (use.fontawesome.com), style sheets and fonts of Google Fonts. One object is
not to be had (cdn.startbootstrap.com/sb-forms-latest.js) and remains a miss: 33 requests, 32 of them answered by 5
hosts.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sites.recipes.packages import Package
from sites.recipes.recipe import Recipe
from sites.recipes.template import FontSheet, Template, faces

PAGE = Package(
    "startbootstrap-agency",
    "7.0.12",
    "VpdOVgqYq+Yomt72/gZueBuB99wWyqL1rvqaGaqRwHtDMJlXSf9eGfisyQXPx7//z3dnlGHIMzIk2I8CCmtXOQ==",
)
BOOTSTRAP = Package(
    "bootstrap",
    "5.2.3",
    "cEKPM+fwb3cT8NzQZYEu4HilJ3anCrWqh3CHAok1p9jXqMPsPTBhU25fBckEJHJ/p+tTxTFTsFQGM+gaHpi3QQ==",
)
FONT_AWESOME = Package(
    "@fortawesome/fontawesome-free",
    "6.3.0",
    "qVtd5i1Cc7cdrqnTWqTObKQHjPWAiRwjUPaXObaeNPcy7+WKxJumGBx66rfSFgK6LNpIasVKkEgW8oyf0tmPLA==",
)
MONTSERRAT = Package(
    "@fontsource/montserrat",
    "4.5.14",
    "fTvrteVzuFUePhr4QYBGoK8G/YHLJ3IhF1HhKg0AxcFvZajJT7rM7ULdmKLSd2PkX44R3aaFZq1zDbmjbGGI+w==",
)
ROBOTO_SLAB = Package(
    "@fontsource/roboto-slab",
    "4.5.11",
    "0HXK8WNvZZg4vglhUY4ySBmlh+wnO1JsGcPfCaxDhY24gtRf2POmmeNpSxKFjjQTDV8BiYDXF2H9p15d/6c/YA==",
)
BOOTSTRAP_SCRIPT = (
    f"cdn.jsdelivr.net/npm/{BOOTSTRAP}/dist/js/bootstrap.bundle.min.js",
    BOOTSTRAP,
    "dist/js/bootstrap.bundle.min.js",
)
ICONS_SCRIPT = (f"use.fontawesome.com/releases/v{FONT_AWESOME.version}/js/all.js", FONT_AWESOME, "js/all.js")

TEMPLATE = Template(
    host="agency.example",
    package=PAGE,
    made=datetime(2023, 3, 1, 12, 0, tzinfo=UTC),
    folder="dist/",
    elsewhere=(BOOTSTRAP_SCRIPT, ICONS_SCRIPT),
    fonts=(
        FontSheet("css?family=Montserrat:400,700", faces(MONTSERRAT, "Montserrat", (400, 700))),
        FontSheet(
            "css?family=Roboto+Slab:400,100,300,700", faces(ROBOTO_SLAB, "Roboto Slab", (100, 300, 400, 700))
        ),
    ),
)

AGENCY = Recipe(
    name="agency",
    start_url=TEMPLATE.start_url,
    summary="Start Bootstrap's Agency with Bootstrap, Font Awesome and Google Fonts: 33 requests, 5 hosts.",
    licence="page, Bootstrap, Font Awesome's code MIT; its icons CC BY 4.0; Montserrat OFL 1.1; "
    "Roboto Slab Apache 2.0",
    made=TEMPLATE.responses,
    packages=TEMPLATE.packages,
    crawled="desktop",
)
