"""Pages of 2025, each as a desktop and as a phone get it: `news-front`, `print-shop`, `magazine` and `field-guide`.

The pages and their third parties are ours; the libraries are those of packages. A container, a script that marketing
people fill, puts third parties on each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files

from sites.recipes.composition import PHOTOGRAPH_LICENCE, Composition, Library, PageHosts, recipes_of_devices
from sites.recipes.recipe import PINNED
from sites.recipes.template import FontSheet, Template, faces
from sites.recipes.templates import (
    BOOTSTRAP,
    FONT_AWESOME,
    LATO,
    LORA,
    MERRIWEATHER,
    MONTSERRAT,
    OFL,
    OPEN_SANS,
    ROBOTO_SLAB,
    both,
)

OF_2025 = datetime(2025, 7, 1, 12, 0, tzinfo=UTC)
SWIPER, LAZYSIZES, VUE = PINNED["swiper"], PINNED["lazysizes"], PINNED["vue"]
CDN = "cdn.jsdelivr.net/npm"
# Icons of one kind; a browser of today takes the woff2 of the two fonts.
SOLID_ICONS = tuple(
    (f"{CDN}/{FONT_AWESOME}/{path}", FONT_AWESOME, path)
    for path in (
        *("css/fontawesome.min.css", "css/solid.min.css"),
        *("webfonts/fa-solid-900.woff2", "webfonts/fa-solid-900.ttf"),
    )
)

# Third parties. What they do is modelled on the real ones, their names are made up, and the libraries are those that
# such scripts are built with. The order is that of the web: a banner asks, advertisements are sold by auction, the
# winner's picture and its counters follow, and a hidden frame introduces the bidders to each other.
CONSENT, FAULTS = "consent.agreeable.example", "errors.faultline.example"
TALLY, LOOKBACK = "metrics.tallyhouse.example", "replay.lookback.example"
ADS, MEASURE = "ads.brightslot.example", "measure.seenit.example"
ALPHABID, BIDWELL, OAKLANE = "bid.alphabid.example", "rtb.bidwell.example", "prebid.oaklane.example"
RELATED, PLAYER, SOCIAL = "widgets.related.example", "player.streamly.example", "social.chatter.example"
TAGS = "tags.tagbox.example"
CHAT, PAY = "chat.helpdesk.example", "pay.coinpurse.example"
REVIEWS, MAP = "reviews.starred.example", "tiles.mapwright.example"
ADVERTISING = (ADS, ALPHABID, BIDWELL, OAKLANE, MEASURE)
LIBRARIES: Mapping[str, Sequence[Library]] = {
    f"{CONSENT}/v3/loader.js": [(PINNED["vanilla-cookieconsent"], "dist/cookieconsent.umd.js")],
    f"{CONSENT}/v3/banner.css": [(PINNED["vanilla-cookieconsent"], "dist/cookieconsent.css")],
    f"{TALLY}/tally.js": [(PINNED["web-vitals"], "dist/web-vitals.iife.js")],
    f"{ADS}/slots.js": [(PINNED["core-js-bundle"], "minified.js")],
    f"{RELATED}/v1/related.js": [(PINNED["lodash"], "lodash.min.js")],
    f"{PLAYER}/player.css": [(PINNED["video.js"], "dist/video-js.min.css")],
    f"{PLAYER}/player.js": [(PINNED["video.js"], "dist/video.min.js")],
    f"{LOOKBACK}/record.js": [(PINNED["rrweb"], "dist/record/rrweb-record.min.js")],
    f"{PAY}/frame.js": [
        (PINNED["react"], "umd/react.production.min.js"),
        (PINNED["react-dom"], "umd/react-dom.production.min.js"),
    ],
    f"{REVIEWS}/widget.js": [(PINNED["moment"], "min/moment-with-locales.min.js")],
    f"{MAP}/map.js": [(PINNED["leaflet"], "dist/leaflet.js")],
    f"{MAP}/map.css": [(PINNED["leaflet"], "dist/leaflet.css")],
    **{
        f"{MAP}/images/{name}.png": [(PINNED["leaflet"], f"dist/images/{name}.png")]
        for name in ("layers", "layers-2x", "marker-icon")
    },
    f"{CHAT}/w/frame.js": [(PINNED["vue"], "dist/vue.runtime.global.prod.js")],
}
THIRD_PARTIES = PageHosts(
    folder="third-parties",
    libraries=LIBRARIES,
    pixels=(
        *(f"{TALLY}/{name}.gif" for name in ("visit", "read-1s")),
        *(f"{ALPHABID}/v2/won-{slot}.gif" for slot in ("billboard", "rail", "phone")),
        *(f"{BIDWELL}/auction/won-{slot}.gif" for slot in ("billboard", "rail", "inline")),
        *(f"{OAKLANE}/hb/won-{slot}.gif" for slot in ("rail", "inline", "footer")),
        *(f"{ALPHABID}/v2/match.gif", f"{BIDWELL}/auction/match.gif", f"{OAKLANE}/hb/match.gif"),
        f"{MEASURE}/seen.gif",
    ),
    silent=(f"{TALLY}/collect", f"{LOOKBACK}/events", f"{FAULTS}/session"),
    moved={f"{TALLY}/match": f"{ALPHABID}/v2/match.gif"},
)
# Of what every page has of them.
PARTIES_LICENCE = (
    "third parties as coldload itself, in them CookieConsent, core-js and lodash MIT, web-vitals Apache 2.0"
)


def container(name: str, about: str, at_once: Iterable[str], parsed: Iterable[str]) -> dict[str, str]:
    """A page's script that puts others on it, by its address: some at once, some when the document is parsed."""
    script = files("sites.recipes").joinpath("third-parties", "container.js").read_text(encoding="utf-8")
    first, later = (
        [f'put("https://{address}");' for address in addresses] for addresses in (at_once, parsed)
    )
    told = script.replace("ABOUT", about).replace('"AT ONCE";', "\n  ".join(first))
    return {f"{TAGS}/{name}.js": told.replace('"WHEN PARSED";', "\n    ".join(later))}


# `news-front`: the front page of a newspaper, paid by advertisements. Islands of React draw what changes by the minute,
# pictures load as they come near, advertisements are sold by auction once a banner has asked.
NEWS_STATIC = "static.harbourwire.example/a"
NEWS_TEMPLATE = Template(
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
NEWS_OWN = PageHosts(
    folder="news-front",
    texts=container(
        "harbourwire",
        "Harbour Wire: what its marketing people have put on the page",
        (f"{TALLY}/tally.js", f"{ADS}/slots.js"),
        (f"{RELATED}/v1/related.js", f"{SOCIAL}/embed.js"),
    ),
    libraries={
        f"{NEWS_STATIC}/vendor.js": [
            (PINNED["react"], "umd/react.production.min.js"),
            (PINNED["react-dom"], "umd/react-dom.production.min.js"),
        ],
        f"{NEWS_STATIC}/times.js": [(PINNED["moment"], "min/moment-with-locales.min.js")],
        f"{NEWS_STATIC}/water.js": [(PINNED["d3"], "dist/d3.min.js")],
        f"{NEWS_STATIC}/chart.js": [(PINNED["chart.js"], "dist/chart.umd.js")],
    },
)
NEWS_PARTIES = THIRD_PARTIES.of(
    *(CONSENT, FAULTS, TALLY, *ADVERTISING),
    *(RELATED, PLAYER, SOCIAL),
)
NEWS_RECIPES = recipes_of_devices(
    "news-front",
    Composition(NEWS_TEMPLATE, (NEWS_OWN, NEWS_PARTIES)),
    "A newspaper's front page of 2025: islands of React, advertisements by auction, a film, pictures that wait",
    "React, Bootstrap, Swiper, Chart.js, Moment.js and lazysizes MIT; D3 ISC; Video.js Apache 2.0; Font Awesome "
    f"CC BY 4.0, OFL 1.1 and MIT; {PARTIES_LICENCE}; {PHOTOGRAPH_LICENCE}; Open Sans Apache 2.0; {OFL}",
)

# `print-shop`: a shop whose list the server draws and Vue takes over. The state of the list stands in the document, as
# such shops send it. What sells comes once the page is there: a frame to pay in, reviews, a map of tiles, a talk with
# the shop; what a visitor does is recorded.
SHOP_STATIC = "static.tideprints.example/a"
PHOTOSWIPE = PINNED["photoswipe"]
SHOP_TEMPLATE = Template(
    host="www.tideprints.example",
    package=FONT_AWESOME,
    made=OF_2025,
    elsewhere=SOLID_ICONS,
    fonts=(
        FontSheet("css?family=Lato:400,700,400italic", both(LATO, "Lato", (400, 700))),
        FontSheet("css?family=Roboto+Slab:300,400,700", faces(ROBOTO_SLAB, "Roboto Slab", (300, 400, 700))),
    ),
)
SHOP_OWN = PageHosts(
    folder="print-shop",
    texts=container(
        "tideprints",
        "Tide Prints: visits and recordings at once, what sells once the page is there",
        (f"{TALLY}/tally.js", f"{LOOKBACK}/record.js"),
        (
            *(f"{PAY}/button.js", f"{REVIEWS}/widget.js"),
            *(f"{MAP}/map.js", f"{RELATED}/v1/related.js"),
            f"{CHAT}/w/chat.js",
        ),
    ),
    libraries={
        f"{SHOP_STATIC}/vendor.js": [
            (PINNED["core-js-bundle"], "minified.js"),
            (VUE, "dist/vue.runtime.global.prod.js"),
            (SWIPER, "swiper-bundle.min.js"),
            (PHOTOSWIPE, "dist/umd/photoswipe.umd.min.js"),
            (PHOTOSWIPE, "dist/umd/photoswipe-lightbox.umd.min.js"),
            (PINNED["chart.js"], "dist/chart.umd.js"),
        ],
        f"{SHOP_STATIC}/vendor.css": [(SWIPER, "swiper-bundle.min.css"), (PHOTOSWIPE, "dist/photoswipe.css")],
    },
)
SHOP_PARTIES = THIRD_PARTIES.of(
    *(CONSENT, FAULTS, TALLY, LOOKBACK),
    *(PAY, REVIEWS, MAP, RELATED, CHAT),
)
SHOP_RECIPES = recipes_of_devices(
    "print-shop",
    Composition(SHOP_TEMPLATE, (SHOP_OWN, SHOP_PARTIES)),
    "A shop of 2025: a list that Vue takes over from the server, a frame to pay in, reviews, a map, a recording",
    "Vue, React, Swiper, PhotoSwipe, Chart.js, Moment.js and rrweb MIT; Leaflet BSD; Font Awesome CC BY 4.0, OFL 1.1 "
    f"and MIT; {PARTIES_LICENCE}; {PHOTOGRAPH_LICENCE}; Roboto Slab Apache 2.0; {OFL}",
)

# `magazine`: a magazine in the manner of WordPress. WordPress and its themes are under the GPL, which is not
# permissive: the theme is ours, the libraries are those that WordPress and its plugins bring, one file each, from the
# magazine's own host, and scripts block as they do there.
MAGAZINE_HOST = "www.slowriver.example"
SCRIPTS, PLUGINS = f"{MAGAZINE_HOST}/wp-includes/js", f"{MAGAZINE_HOST}/wp-content/plugins"
SLICK, MEDIA, LIGHTBOX = PINNED["slick-carousel"], PINNED["mediaelement"], PINNED["magnific-popup"]
MAGAZINE_FILES: Mapping[str, Library] = {
    f"{MAGAZINE_HOST}/wp-content/themes/slowriver/bootstrap.min.css": (
        BOOTSTRAP,
        "dist/css/bootstrap.min.css",
    ),
    f"{SCRIPTS}/jquery/jquery.min.js": (PINNED["jquery"], "dist/jquery.min.js"),
    f"{SCRIPTS}/jquery/jquery-migrate.min.js": (PINNED["jquery-migrate"], "dist/jquery-migrate.min.js"),
    f"{SCRIPTS}/underscore.min.js": (PINNED["underscore"], "underscore-umd-min.js"),
    f"{SCRIPTS}/backbone.min.js": (PINNED["backbone"], "backbone-min.js"),
    f"{SCRIPTS}/imagesloaded.min.js": (PINNED["imagesloaded"], "imagesloaded.pkgd.min.js"),
    f"{SCRIPTS}/masonry.min.js": (PINNED["masonry-layout"], "dist/masonry.pkgd.min.js"),
    **{
        f"{SCRIPTS}/mediaelement/{name}": (MEDIA, f"build/{name}")
        for name in (
            *("mediaelement-and-player.min.js", "mediaelementplayer-legacy.min.css", "mejs-controls.svg"),
        )
    },
    **{
        f"{PLUGINS}/slides/{name}": (SLICK, f"slick/{name}")
        for name in (
            *("slick.min.js", "slick.css", "slick-theme.css", "ajax-loader.gif"),
            *(f"fonts/slick.{kind}" for kind in ("eot", "svg", "ttf", "woff")),
        )
    },
    **{
        f"{PLUGINS}/lightbox/{name}": (LIGHTBOX, f"dist/{name}")
        for name in ("magnific-popup.css", "jquery.magnific-popup.min.js")
    },
    **{
        f"{PLUGINS}/blocks/{name}": (SWIPER, name)
        for name in ("swiper-bundle.min.css", "swiper-bundle.min.js")
    },
    f"{PLUGINS}/lazy/lazysizes.min.js": (LAZYSIZES, "lazysizes.min.js"),
}
MAGAZINE_TEMPLATE = Template(
    host=MAGAZINE_HOST,
    package=BOOTSTRAP,
    made=OF_2025,
    elsewhere=SOLID_ICONS,
    fonts=(
        FontSheet("css?family=Lora:400,700,400italic", both(LORA, "Lora", (400, 700))),
        FontSheet("css?family=Montserrat:400,600,700", faces(MONTSERRAT, "Montserrat", (400, 600, 700))),
    ),
)
MAGAZINE_OWN = PageHosts(
    folder="magazine",
    libraries={address: [library] for address, library in MAGAZINE_FILES.items()},
    texts=container(
        "slowriver",
        "Slow River",
        (f"{TALLY}/tally.js", f"{ADS}/slots.js"),
        (f"{SOCIAL}/embed.js", f"{RELATED}/v1/related.js"),
    ),
)
MAGAZINE_PARTIES = THIRD_PARTIES.of(
    *(CONSENT, TALLY, *ADVERTISING, RELATED),
    *(PLAYER, SOCIAL),
)
MAGAZINE_RECIPES = recipes_of_devices(
    "magazine",
    Composition(MAGAZINE_TEMPLATE, (MAGAZINE_OWN, MAGAZINE_PARTIES)),
    "A magazine of 2025 in the manner of WordPress: plugins of a file each, scripts that block, advertisements",
    "jQuery, Underscore, Backbone, Masonry, MediaElement, Slick, Magnific Popup, Swiper, lazysizes and Bootstrap MIT"
    "; Video.js Apache 2.0; Font Awesome CC BY 4.0, OFL 1.1 and MIT"
    f"; {PARTIES_LICENCE}; {PHOTOGRAPH_LICENCE}; {OFL}",
)

# `field-guide`: a page of islands, each an ES module that imports others, as Astro and its like build them. The
# document is whole without scripts, and an element brings each island to life at once, when the page is idle, or when
# it is seen. Modules are not bundled, so each import waits for the one before.
NPM = "assets.bankside.example/npm"
PREACT, HTM, LODASH = PINNED["preact"], PINNED["htm"], PINNED["lodash-es"]
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
GUIDE_FILES: Mapping[str, Library] = {
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
GUIDE_TEMPLATE = Template(
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
GUIDE_OWN = PageHosts(
    folder="field-guide",
    libraries={address: [library] for address, library in GUIDE_FILES.items()},
    texts=container(
        "bankside",
        "Bankside",
        (f"{TALLY}/tally.js", f"{LOOKBACK}/record.js"),
        (f"{REVIEWS}/widget.js", f"{MAP}/map.js"),
    ),
)
GUIDE_PARTIES = THIRD_PARTIES.of(
    *(CONSENT, FAULTS, TALLY, LOOKBACK),
    *(REVIEWS, MAP, PLAYER),
)
GUIDE_RECIPES = recipes_of_devices(
    "field-guide",
    Composition(GUIDE_TEMPLATE, (GUIDE_OWN, GUIDE_PARTIES)),
    "A field guide of 2025: islands of ES modules that import one another, pictures by screen, a map, a film",
    "Vue, Preact, lodash, Swiper, Moment.js and rrweb MIT; htm and Video.js Apache 2.0; Leaflet BSD; "
    f"{PARTIES_LICENCE}; {PHOTOGRAPH_LICENCE}; Open Sans and Roboto Slab Apache 2.0; {OFL}",
)

RECIPES = (*NEWS_RECIPES, *SHOP_RECIPES, *MAGAZINE_RECIPES, *GUIDE_RECIPES)
