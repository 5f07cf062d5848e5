"""Pages of the sets `@mobile` and `@desktop`: templates that others published, from npm packages.

All are of 2016 to 2018, with Bootstrap 3 and 4 and jQuery, so that the historical engine can show them. Each is served
as published, and the packages hold all that it asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from sites.recipes.agency import MONTSERRAT
from sites.recipes.packages import Package
from sites.recipes.recipe import Recipe
from sites.recipes.template import Face, FontSheet, Template, faces

CREATIVE = Package(
    "startbootstrap-creative",
    "4.0.0",
    "Z5Fu5vkKIqruMwSgMEwU0Bz9l8loJmSVcFOIXs5h1MUW3p3fzteQRRmJylI4R/2dFU+eT1SkOdRceRx5s9dZ8g==",
)
LANDING = Package(
    "startbootstrap-landing-page",
    "3.3.7",
    "32xi1g3PI5oYVpWHyH9cAHb/UD7ClIQDOXPekbFtbmDN8q2wehxNANnDu4okEgWT1UNw4ytAVO97NUdNrtu/uw==",
)
ADMIN = Package(
    "startbootstrap-sb-admin-2",
    "3.3.7",
    "HtfR1hgwPiK6NEB9U2wQg/LUGx6g9aRkuBxT2lKBXLPkbYu3ygqCzA9dLUXUMK/+wjGiGvyTfpjyuNPIUpFH6w==",
)
PAPER = Package(
    "paper-kit-2",
    "2.1.0",
    "IRlEBivZes8PhGWWYQDSn5Z20xIXC+20q5JLkKLG9N40ZmHsKgDBJ8dq7P7SEw+dBAVKQ6GrRvXnDYJiT5YBNQ==",
)
CLEAN_BLOG = Package(
    "startbootstrap-clean-blog",
    "1.0.0",
    "Hf4KfriQeKKTj5aqBAhC4ZKq5OSsk7KKdgFZ7qucwxcuFw1xyJyBJT4RPUAQ2fP60jDZ+jMPwuCG6o7LdqowvA==",
)
RESUME = Package(
    "startbootstrap-resume",
    "4.0.0",
    "qxu4OqggGwZjPXwjKMb8PZ8+wTPq/VWTUMI+dUA4TcAnMmtqBSnlE9CFt952JhBNgy+AwqTKofq8aYDyotSsHA==",
)
FREELANCER = Package(
    "startbootstrap-freelancer",
    "4.1.1",
    "EPlEcMjBS/FWog4trYZhL0ad+36SzNuOOWnsr50SdaNirroT1xa/dL+xq9l9m3ZIKnZ4mK8XdMCKvDU7EwCcng==",
)
FRAMEWORK7 = Package(
    "framework7",
    "1.7.1",
    "Az85Cnb9UOYztQW9XSeLsGxKB/4Z8+dZCZTZjnsnBLG7p+2KF75QBkgq/npe6tvTHyQDTnG5Up0cNwxiLSwx1g==",
)
FLAGS = Package(
    "famfamfam-flags",
    "1.0.0",
    "l7F0/L1I1eozNN9oLoXgqHzBCFjrhuuDwwZkuo9fOHPrreS61bV3Qft+IMyYAqjibnGjTU9/2WovGccSvNYahQ==",
)
FONT_AWESOME_4 = Package(
    "font-awesome",
    "4.7.0",
    "U6kGnykA/6bFmg1M/oT9EkFeIYv7JlX3bozwQJWiiLz6L0w3F5vBVPxHlwyX/vtNq1ckcpRKOB9f2Qal/VtFpg==",
)
LATO = Package(
    "@fontsource/lato",
    "4.5.10",
    "2hYR6r661Cq9B8zugtu6yxuOKqrVhAgfOSaPSq8XoxbC4ebsl0KOTy/vPoP+9U7JuQVLfrmikirW4a9Z0nDUug==",
)
LORA = Package(
    "@fontsource/lora",
    "4.5.13",
    "SV8z2btHCVpjfyLpuqHNyKH56YuzJdv0tjqbi/Mb7hkXGWgz44RuGYSNAoYCes9y2fzJ2zpYUwfCrvcAEjDqMQ==",
)
MERRIWEATHER = Package(
    "@fontsource/merriweather",
    "4.5.14",
    "kDMIAokOvE9bYf+CDmEWzV3xtR8cRJlw/BipjhxqD9MIRZfU348cZ8xhHhmPXmxRiEjZLor4xxHXqps7eCvGQg==",
)
OPEN_SANS = Package(
    "@fontsource/open-sans",
    "4.5.14",
    "mBXIIETBlW8q/ocuUN0hyGow2iuf75hQEHQt8R/RJ/HcphVbLg8KB7pHYGbFGDqs75W+SWvTC7JkVeAjT65BuQ==",
)
SAIRA = Package(
    "@fontsource/saira-extra-condensed",
    "4.5.10",
    "IaLJXaFiYt5ft9HzvXDx0bPF6jlHIoGaNv1cQ8PKJ7HXpsIJcCymovo9WDeNchxT+gNT4iqJNX8nJ6J6FYB5nQ==",
)

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
            FontSheet(OPEN_SANS_ITALIC_FIRST, both(OPEN_SANS, "Open Sans", (300, 400, 600, 700, 800))),
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
                FontSheet(OPEN_SANS_ITALIC_FIRST, both(OPEN_SANS, "Open Sans", (300, 400, 600, 700, 800))),
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
                    both(OPEN_SANS, "Open Sans", (300, 400, 600, 700, 800)),
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
