"""`print-shop`: a shop of 2025, whose list the server draws and Vue takes over, as a desktop and as a phone get it.

The state of the list stands in the document, as such shops send it. What sells comes once the page is there: a frame to
pay in, reviews, a map of tiles, a talk with the shop; what a visitor does is recorded.
"""

from __future__ import annotations

from sites.recipes import thirdparties
from sites.recipes.composition import Composition, PageHosts, recipes_of_devices
from sites.recipes.newsfront import OF_2025, SOLID_ICONS
from sites.recipes.photographs import LICENCE as OF_PHOTOGRAPHS
from sites.recipes.recipe import PINNED
from sites.recipes.template import FontSheet, Template, faces
from sites.recipes.templates import FONT_AWESOME, LATO, OFL, ROBOTO_SLAB, both

STATIC = "static.tideprints.example/a"
SWIPER, PHOTOSWIPE = PINNED["swiper"], PINNED["photoswipe"]
TEMPLATE = Template(
    host="www.tideprints.example",
    package=FONT_AWESOME,
    made=OF_2025,
    elsewhere=SOLID_ICONS,
    fonts=(
        FontSheet("css?family=Lato:400,700,400italic", both(LATO, "Lato", (400, 700))),
        FontSheet("css?family=Roboto+Slab:300,400,700", faces(ROBOTO_SLAB, "Roboto Slab", (300, 400, 700))),
    ),
)
OWN = PageHosts(
    folder="print-shop",
    libraries={
        f"{STATIC}/vendor.js": [
            (PINNED["core-js-bundle"], "minified.js"),
            (PINNED["vue"], "dist/vue.runtime.global.prod.js"),
            (SWIPER, "swiper-bundle.min.js"),
            (PHOTOSWIPE, "dist/umd/photoswipe.umd.min.js"),
            (PHOTOSWIPE, "dist/umd/photoswipe-lightbox.umd.min.js"),
            (PINNED["chart.js"], "dist/chart.umd.js"),
        ],
        f"{STATIC}/vendor.css": [(SWIPER, "swiper-bundle.min.css"), (PHOTOSWIPE, "dist/photoswipe.css")],
    },
)
PARTIES = thirdparties.THIRD_PARTIES.of(
    *(thirdparties.CONSENT, thirdparties.FAULTS, thirdparties.TALLY, thirdparties.LOOKBACK),
    *(thirdparties.PAY, thirdparties.REVIEWS, thirdparties.MAP, thirdparties.RELATED, thirdparties.CHAT),
)

RECIPES = recipes_of_devices(
    "print-shop",
    Composition(TEMPLATE, (OWN, PARTIES)),
    "A shop of 2025: a list that Vue takes over from the server, a frame to pay in, reviews, a map, a recording",
    "Vue, React, Swiper, PhotoSwipe, Chart.js, Moment.js and rrweb MIT; Leaflet BSD; Font Awesome CC BY 4.0, OFL 1.1 "
    f"and MIT; {thirdparties.LICENCE}; {OF_PHOTOGRAPHS}; Roboto Slab Apache 2.0; {OFL}",
)
