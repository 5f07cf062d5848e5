"""`field-guide`: a page of 2025 of islands, each an ES module that imports others, as a desktop and as a phone get it.

As Astro and its like build them: the document is whole without scripts, and an element brings each island to life at
once, when the page is idle, or when it is seen. Modules are not bundled, so each import waits for the one before.
"""

from __future__ import annotations

from collections.abc import Mapping

from sites.recipes import thirdparties
from sites.recipes.composition import Composition, Library, PageHosts, recipes_of_devices
from sites.recipes.newsfront import OF_2025
from sites.recipes.photographs import LICENCE as OF_PHOTOGRAPHS
from sites.recipes.recipe import PINNED
from sites.recipes.template import FontSheet, Template, faces
from sites.recipes.templates import OFL, OPEN_SANS, ROBOTO_SLAB, both

NPM = "assets.bankside.example/npm"
VUE, PREACT, HTM = PINNED["vue"], PINNED["preact"], PINNED["htm"]
LODASH, SWIPER = PINNED["lodash-es"], PINNED["swiper"]
# `debounce` of lodash with all that it imports, one module a file.
DEBOUNCE = (
    *(
        "debounce",
        "isObject",
        "isObjectLike",
        "isSymbol",
        "now",
        "toNumber",
        "_Symbol",
        "_baseGetTag",
        "_baseTrim",
    ),
    *("_freeGlobal", "_getRawTag", "_objectToString", "_root", "_trimmedEndIndex"),
)
FILES: Mapping[str, Library] = {
    f"{NPM}/vue/vue.esm-browser.prod.js": (VUE, "dist/vue.esm-browser.prod.js"),
    f"{NPM}/preact/preact.module.js": (PREACT, "dist/preact.module.js"),
    f"{NPM}/preact/hooks.module.js": (PREACT, "hooks/dist/hooks.module.js"),
    f"{NPM}/htm/htm.module.js": (HTM, "dist/htm.module.js"),
    f"{NPM}/htm/preact.module.js": (HTM, "preact/index.module.js"),
    **{f"{NPM}/lodash-es/{name}.js": (LODASH, f"{name}.js") for name in DEBOUNCE},
    **{
        f"{NPM}/swiper/{path}": (SWIPER, path)
        for path in (
            *("swiper.min.css", "modules/navigation.min.css", "swiper.mjs", "shared/swiper-core.mjs"),
            *("shared/utils.mjs", "shared/ssr-window.esm.mjs", "shared/create-element-if-not-defined.mjs"),
            *("modules/navigation.mjs", "modules/keyboard.mjs"),
        )
    },
}
TEMPLATE = Template(
    host="www.bankside.example",
    package=VUE,
    made=OF_2025,
    fonts=(
        FontSheet("css?family=Roboto+Slab:400,700", faces(ROBOTO_SLAB, "Roboto Slab", (400, 700))),
        FontSheet(
            "css?family=Open+Sans:400,600,700,400italic", both(OPEN_SANS, "Open Sans", (400, 600, 700))
        ),
    ),
)
OWN = PageHosts(folder="field-guide", libraries={address: [library] for address, library in FILES.items()})
PARTIES = thirdparties.THIRD_PARTIES.of(
    *(thirdparties.CONSENT, thirdparties.FAULTS, thirdparties.TALLY, thirdparties.LOOKBACK),
    *(thirdparties.REVIEWS, thirdparties.MAP, thirdparties.PLAYER),
)

RECIPES = recipes_of_devices(
    "field-guide",
    Composition(TEMPLATE, (OWN, PARTIES)),
    "A field guide of 2025: islands of ES modules that import one another, pictures by screen, a map, a film",
    "Vue, Preact, lodash, Swiper, Moment.js and rrweb MIT; htm and Video.js Apache 2.0; Leaflet BSD; "
    f"{thirdparties.LICENCE}; {OF_PHOTOGRAPHS}; Open Sans and Roboto Slab Apache 2.0; {OFL}",
)
