"""Templates that others published, from npm packages: `agency`, and the pages of the sets `@mobile` and `@desktop`.

Each is served as published, and but for one object the packages hold all that it asks for. Those of the sets are of
2016 to 2018, with Bootstrap 3 and 4 and jQuery, so that the historical engine can show them.

`agency` is a real multi-host page under permissive licences: Start Bootstrap's Agency of 2023, with what it refers to
on four other hosts: Bootstrap's scripts (cdn.jsdelivr.net), Font Awesome (use.fontawesome.com), style sheets and fonts
of Google Fonts. One object is not to be had (cdn.startbootstrap.com/sb-forms-latest.js): of 33 requests 32 are
answered, by 5 hosts, and HTTrack archives the 404 of the other one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from sites.recipes.recipe import PINNED, Package, Recipe
from sites.recipes.template import Face, FontSheet, Template, faces

AGENCY_PACKAGE = PINNED["startbootstrap-agency"]
CREATIVE = PINNED["startbootstrap-creative"]
BOOTSTRAP = PINNED["bootstrap"]
FONT_AWESOME = PINNED["@fortawesome/fontawesome-free"]
MONTSERRAT = PINNED["@fontsource/montserrat"]
ROBOTO_SLAB = PINNED["@fontsource/roboto-slab"]
LANDING = PINNED["startbootstrap-landing-page"]
ADMIN = PINNED["startbootstrap-sb-admin-2"]
PAPER = PINNED["paper-kit-2"]
CLEAN_BLOG = PINNED["startbootstrap-clean-blog"]
RESUME = PINNED["startbootstrap-resume"]
FREELANCER = PINNED["startbootstrap-freelancer"]
FRAMEWORK7 = PINNED["framework7"]
FLAGS = PINNED["famfamfam-flags"]
FONT_AWESOME_4 = PINNED["font-awesome"]
LATO = PINNED["@fontsource/lato"]
LORA = PINNED["@fontsource/lora"]
MERRIWEATHER = PINNED["@fontsource/merriweather"]
OPEN_SANS = PINNED["@fontsource/open-sans"]
SAIRA = PINNED["@fontsource/saira-extra-condensed"]
UPRIGHT_AND_ITALIC = ("normal", "italic")
ICON_FONT = "maxcdn.bootstrapcdn.com/font-awesome/latest"
ICON_FONT_FILES = (
    "css/font-awesome.min.css",
    *(f"fonts/fontawesome-webfont.{kind}" for kind in ("eot", "svg", "ttf", "woff", "woff2")),
)
OF_2016 = datetime(2016, 10, 1, 12, 0, tzinfo=UTC)
OF_2017 = datetime(2017, 12, 1, 12, 0, tzinfo=UTC)
OPEN_SANS_ITALIC_FIRST = (
    "css?family=Open+Sans:300italic,400italic,600italic,700italic,800italic,400,300,600,700,800"
)
OFL = "fonts OFL 1.1"
CLEAN_BLOG_LICENCE = (
    "page, Bootstrap, jQuery and Tether MIT; Font Awesome OFL 1.1 and MIT; Lora OFL 1.1; Open Sans Apache 2.0"
)


def both(package: Package, family: str, weights: tuple[int, ...]) -> tuple[Face, ...]:
    """The fonts of a family in these weights, upright and italic."""
    return faces(package, family, weights, UPRIGHT_AND_ITALIC)


OPEN_SANS_FACES = both(OPEN_SANS, "Open Sans", (300, 400, 600, 700, 800))


def icon_font(root: str = ICON_FONT) -> tuple[tuple[str, Package, str], ...]:
    """Font Awesome 4 as its host has it below `root`."""
    return tuple((f"{root}/{path}", FONT_AWESOME_4, path) for path in ICON_FONT_FILES)


def clean_blog(page: str, host: str) -> Template:
    """One of the pages of Clean Blog."""
    return Template(
        host=host,
        package=CLEAN_BLOG,
        made=OF_2017,
        page=page,
        fonts=(
            FontSheet("css?family=Lora:400,700,400italic,700italic", both(LORA, "Lora", (400, 700))),
            FontSheet(OPEN_SANS_ITALIC_FIRST, OPEN_SANS_FACES),
        ),
    )


def admin(page: str, host: str) -> Template:
    """One of the pages of SB Admin 2."""
    return Template(host=host, package=ADMIN, made=OF_2016, page=page, scheme="http")


DESKTOP: tuple[tuple[str, Template, str, str], ...] = (
    (
        "landing",
        Template(
            host="landing.example",
            package=LANDING,
            made=OF_2016,
            fonts=(
                FontSheet(
                    "css?family=Lato:300,400,700,300italic,400italic,700italic",
                    both(LATO, "Lato", (300, 400, 700)),
                ),
            ),
        ),
        "Start Bootstrap's Landing Page of 2016: large pictures, 3 hosts.",
        f"page, Bootstrap and jQuery MIT; Font Awesome OFL 1.1 and MIT; {OFL}",
    ),
    (
        "creative",
        Template(
            host="creative.example",
            package=CREATIVE,
            made=OF_2017,
            fonts=(
                FontSheet(OPEN_SANS_ITALIC_FIRST, OPEN_SANS_FACES),
                FontSheet(
                    "css?family=Merriweather:400,300,300italic,400italic,700,700italic,900,900italic",
                    both(MERRIWEATHER, "Merriweather", (300, 400, 700, 900)),
                ),
            ),
        ),
        "Start Bootstrap's Creative of 2017: pictures of a portfolio, 3 hosts.",
        "page, Bootstrap, jQuery and scripts MIT; Font Awesome OFL 1.1 and MIT; Merriweather OFL 1.1; "
        "Open Sans Apache 2.0",
    ),
    (
        "paper-kit",
        Template(
            host="paper.example",
            package=PAPER,
            made=OF_2017,
            scheme="http",  # as it writes of other hosts
            elsewhere=icon_font(),
            fonts=(
                FontSheet(
                    "css?family=Montserrat:400,300,700", faces(MONTSERRAT, "Montserrat", (300, 400, 700))
                ),
            ),
        ),
        "Creative Tim's Paper Kit 2: many large pictures and scripts, 4 hosts.",
        f"page and scripts MIT; Font Awesome OFL 1.1 and MIT; {OFL}",
    ),
    (
        "dashboard",
        admin("pages/flot.html", "admin.example"),
        "Charts of Start Bootstrap's SB Admin 2 of 2016: scripts and no pictures, one host.",
        "page and scripts MIT; Font Awesome OFL 1.1 and MIT",
    ),
    (
        "datatable",
        admin("pages/tables.html", "reports.example"),
        "A table of Start Bootstrap's SB Admin 2 of 2016: much HTML and scripts, one host.",
        "page and scripts MIT; Font Awesome OFL 1.1 and MIT",
    ),
)
MOBILE: tuple[tuple[str, Template, str, str], ...] = (
    (
        "framework7",
        Template(host="m.app.example", package=FRAMEWORK7, made=OF_2017, folder="dist/", scheme="http"),
        "The start page of Framework7 1 for phones: five files, one host.",
        "MIT",
    ),
    (
        "clean-blog",
        clean_blog("index.html", "blog.example"),
        "Start Bootstrap's Clean Blog of 2017: one large picture, two families of fonts, 3 hosts.",
        CLEAN_BLOG_LICENCE,
    ),
    (
        "article",
        clean_blog("post.html", "news.example"),
        "An article of Start Bootstrap's Clean Blog of 2017: text and two large pictures, 3 hosts.",
        CLEAN_BLOG_LICENCE,
    ),
    (
        "resume",
        Template(
            host="resume.example",
            package=RESUME,
            made=OF_2017,
            fonts=(
                FontSheet(
                    "css?family=Saira+Extra+Condensed:100,200,300,400,500,600,700,800,900",
                    faces(SAIRA, "Saira Extra Condensed", tuple(range(100, 1000, 100))),
                ),
                FontSheet(
                    "css?family=Open+Sans:300,300i,400,400i,600,600i,700,700i,800,800i",
                    OPEN_SANS_FACES,
                ),
            ),
        ),
        "Start Bootstrap's Resume of 2017: one picture, four families of fonts, 3 hosts.",
        "page, Bootstrap and jQuery MIT; fonts of icons MIT and OFL 1.1; Saira OFL 1.1; Open Sans Apache 2.0",
    ),
    (
        "freelancer",
        Template(
            host="freelancer.example",
            package=FREELANCER,
            made=OF_2017,
            fonts=(
                FontSheet("css?family=Montserrat:400,700", faces(MONTSERRAT, "Montserrat", (400, 700))),
                FontSheet("css?family=Lato:400,700,400italic,700italic", both(LATO, "Lato", (400, 700))),
            ),
        ),
        "Start Bootstrap's Freelancer of 2018: small pictures, 3 hosts.",
        f"page, Bootstrap and jQuery MIT; Font Awesome CC BY 4.0, OFL 1.1 and MIT; {OFL}",
    ),
)


def recipes_of(pages: Iterable[tuple[str, Template, str, str]], user_agent: str) -> tuple[Recipe, ...]:
    """The recipes of pages (name, template, summary, licence), archived with that user agent."""
    return tuple(
        Recipe(
            name=name,
            start_url=template.start_url,
            summary=summary,
            licence=licence,
            made=template.responses,
            packages=template.packages,
            crawled=user_agent,
            spare=True,
        )
        for name, template, summary, licence in pages
    )


TEMPLATES = (*recipes_of(MOBILE, "mobile"), *recipes_of(DESKTOP, "desktop"))
BOOTSTRAP_SCRIPT = (
    f"cdn.jsdelivr.net/npm/{BOOTSTRAP}/dist/js/bootstrap.bundle.min.js",
    BOOTSTRAP,
    "dist/js/bootstrap.bundle.min.js",
)
ICONS_SCRIPT = (f"use.fontawesome.com/releases/v{FONT_AWESOME.version}/js/all.js", FONT_AWESOME, "js/all.js")
AGENCY_TEMPLATE = Template(
    host="agency.example",
    package=AGENCY_PACKAGE,
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
    start_url=AGENCY_TEMPLATE.start_url,
    summary="Start Bootstrap's Agency with Bootstrap, Font Awesome and Google Fonts: 33 requests, 5 hosts.",
    licence="page, Bootstrap, Font Awesome's code MIT; its icons CC BY 4.0; Montserrat OFL 1.1; "
    "Roboto Slab Apache 2.0",
    made=AGENCY_TEMPLATE.responses,
    packages=AGENCY_TEMPLATE.packages,
    crawled="desktop",
)

RECIPES = (AGENCY, *TEMPLATES)
