"""`magazine`: a magazine of 2025 in the manner of WordPress, as a desktop and as a phone get it.

WordPress and its themes are under the GPL, which is not permissive: the theme is ours, the libraries are those that
WordPress and its plugins bring, one file each, from the magazine's own host, and scripts block as they do there.
"""

from __future__ import annotations

from collections.abc import Mapping

from sites.recipes import thirdparties
from sites.recipes.composition import Composition, Library, PageHosts, recipes_of_devices
from sites.recipes.newsfront import OF_2025, SOLID_ICONS
from sites.recipes.photographs import LICENCE as OF_PHOTOGRAPHS
from sites.recipes.recipe import PINNED
from sites.recipes.template import FontSheet, Template, faces
from sites.recipes.templates import BOOTSTRAP, LORA, MONTSERRAT, OFL, both

HOST = "www.slowriver.example"
SCRIPTS, PLUGINS = f"{HOST}/wp-includes/js", f"{HOST}/wp-content/plugins"
SLICK, MEDIA = PINNED["slick-carousel"], PINNED["mediaelement"]
LIGHTBOX, SWIPER = PINNED["magnific-popup"], PINNED["swiper"]
FILES: Mapping[str, Library] = {
    f"{HOST}/wp-content/themes/slowriver/bootstrap.min.css": (BOOTSTRAP, "dist/css/bootstrap.min.css"),
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
    f"{PLUGINS}/lazy/lazysizes.min.js": (PINNED["lazysizes"], "lazysizes.min.js"),
}
TEMPLATE = Template(
    host=HOST,
    package=BOOTSTRAP,
    made=OF_2025,
    elsewhere=SOLID_ICONS,
    fonts=(
        FontSheet("css?family=Lora:400,700,400italic", both(LORA, "Lora", (400, 700))),
        FontSheet("css?family=Montserrat:400,600,700", faces(MONTSERRAT, "Montserrat", (400, 600, 700))),
    ),
)
OWN = PageHosts(folder="magazine", libraries={address: [library] for address, library in FILES.items()})
PARTIES = thirdparties.THIRD_PARTIES.of(
    *(thirdparties.CONSENT, thirdparties.TALLY, *thirdparties.ADVERTISING, thirdparties.RELATED),
    *(thirdparties.PLAYER, thirdparties.SOCIAL),
)

RECIPES = recipes_of_devices(
    "magazine",
    Composition(TEMPLATE, (OWN, PARTIES)),
    "A magazine of 2025 in the manner of WordPress: plugins of a file each, scripts that block, advertisements",
    "jQuery, Underscore, Backbone, Masonry, MediaElement, Slick, Magnific Popup, Swiper, lazysizes and Bootstrap MIT"
    f"; Video.js Apache 2.0; Font Awesome CC BY 4.0, OFL 1.1 and MIT; {thirdparties.LICENCE}; {OF_PHOTOGRAPHS}; {OFL}",
)
