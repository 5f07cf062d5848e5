"""`news-front`: the front page of a newspaper of 2025, paid by advertisements, as a desktop and as a phone get it.

The page and its third parties are ours; the libraries are those of packages. Islands of React draw what changes by the
minute, pictures load as they come near, advertisements are sold by auction once a banner has asked.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sites.recipes import thirdparties
from sites.recipes.composition import Composition, PageHosts, recipes_of_devices
from sites.recipes.photographs import LICENCE as OF_PHOTOGRAPHS
from sites.recipes.recipe import PINNED
from sites.recipes.template import FontSheet, Template, faces
from sites.recipes.templates import BOOTSTRAP, FONT_AWESOME, MERRIWEATHER, OFL, OPEN_SANS, both

OF_2025 = datetime(2025, 7, 1, 12, 0, tzinfo=UTC)
STATIC = "static.harbourwire.example/a"
SWIPER, LAZYSIZES = PINNED["swiper"], PINNED["lazysizes"]
CDN = "cdn.jsdelivr.net/npm"
# Icons of one kind; a browser of today takes the woff2 of the two fonts.
SOLID_ICONS = tuple(
    (f"{CDN}/{FONT_AWESOME}/{path}", FONT_AWESOME, path)
    for path in (
        *("css/fontawesome.min.css", "css/solid.min.css"),
        *("webfonts/fa-solid-900.woff2", "webfonts/fa-solid-900.ttf"),
    )
)
TEMPLATE = Template(
    host="www.harbourwire.example",
    package=BOOTSTRAP,
    made=OF_2025,
    elsewhere=(
        (f"{CDN}/{BOOTSTRAP}/dist/css/bootstrap.min.css", BOOTSTRAP, "dist/css/bootstrap.min.css"),
        (f"{CDN}/{SWIPER}/swiper-bundle.min.css", SWIPER, "swiper-bundle.min.css"),
        (f"{CDN}/{SWIPER}/swiper-bundle.min.js", SWIPER, "swiper-bundle.min.js"),
        *SOLID_ICONS,
        (f"{CDN}/{LAZYSIZES}/lazysizes.min.js", LAZYSIZES, "lazysizes.min.js"),
    ),
    fonts=(
        FontSheet(
            "css?family=Merriweather:400,700,900", faces(MERRIWEATHER, "Merriweather", (400, 700, 900))
        ),
        FontSheet(
            "css?family=Open+Sans:400,600,700,400italic", both(OPEN_SANS, "Open Sans", (400, 600, 700))
        ),
    ),
)
OWN = PageHosts(
    folder="news-front",
    libraries={
        f"{STATIC}/vendor.js": [
            (PINNED["react"], "umd/react.production.min.js"),
            (PINNED["react-dom"], "umd/react-dom.production.min.js"),
        ],
        f"{STATIC}/times.js": [(PINNED["moment"], "min/moment-with-locales.min.js")],
        f"{STATIC}/water.js": [(PINNED["d3"], "dist/d3.min.js")],
        f"{STATIC}/chart.js": [(PINNED["chart.js"], "dist/chart.umd.js")],
    },
)
PARTIES = thirdparties.THIRD_PARTIES.of(
    *(thirdparties.CONSENT, thirdparties.FAULTS, thirdparties.TALLY, *thirdparties.ADVERTISING),
    *(thirdparties.RELATED, thirdparties.PLAYER, thirdparties.SOCIAL),
)

RECIPES = recipes_of_devices(
    "news-front",
    Composition(TEMPLATE, (OWN, PARTIES)),
    "A newspaper's front page of 2025: islands of React, advertisements by auction, a film, pictures that wait",
    "React, Bootstrap, Swiper, Chart.js, Moment.js and lazysizes MIT; D3 ISC; Video.js Apache 2.0; Font Awesome "
    f"CC BY 4.0, OFL 1.1 and MIT; {thirdparties.LICENCE}; {OF_PHOTOGRAPHS}; Open Sans Apache 2.0; {OFL}",
)
