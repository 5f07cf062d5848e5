"""`gazetteer`: a page with as many objects and hosts as pages had in 2012, put together from npm packages.

Late in 2012 popular pages had 100 objects, and two years before pages had 7 hosts, on average. Few templates come near.
This page is ours, the files are those of packages: 96 flags as small pictures, spread over three hosts as
was usual then, two photographs, Bootstrap, jQuery, Font Awesome and Lato from the hosts that served them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sites.recipes.recipe import Package, Recipe, read_files
from sites.recipes.template import FontSheet, Template
from sites.recipes.templates import FLAGS, LANDING, LATO, OF_2016, OFL, both, icon_font
from sites.response import Response

HOST = "www.gazetteer.example"
SHARDS = 3
COUNTRIES = 96  # the first by their code of two letters
BOOTSTRAP_ROOT = "maxcdn.bootstrapcdn.com/bootstrap/3.3.7"
JQUERY = "ajax.googleapis.com/ajax/libs/jquery/1.11.1/jquery.min.js"
ICONS_ROOT = "maxcdn.bootstrapcdn.com/font-awesome/4.7.0"
FONTS = "css?family=Lato:400,700,400italic"
SITE = Template(
    host=HOST,
    package=LANDING,
    made=OF_2016,
    folder="img/",
    scheme="http",
    elsewhere=(
        (f"{BOOTSTRAP_ROOT}/css/bootstrap.min.css", LANDING, "css/bootstrap.min.css"),
        (f"{BOOTSTRAP_ROOT}/js/bootstrap.min.js", LANDING, "js/bootstrap.min.js"),
        (JQUERY, LANDING, "js/jquery.js"),
        *icon_font(ICONS_ROOT),
    ),
    fonts=(FontSheet(FONTS, both(LATO, "Lato", (400, 700))),),
)
HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Gazetteer: the flags of {COUNTRIES} countries</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="//{BOOTSTRAP_ROOT}/css/bootstrap.min.css">
  <link rel="stylesheet" href="//{ICONS_ROOT}/css/font-awesome.min.css">
  <link rel="stylesheet" href="//fonts.googleapis.com/{FONTS}">
  <style>
    body {{ font-family: Lato, sans-serif; padding-top: 60px; }}
    .flag {{ margin-right: 8px; vertical-align: baseline; }}
    .country {{ height: 76px; overflow: hidden; }}
  </style>
</head>
<body>
  <nav class="navbar navbar-default navbar-fixed-top">
    <div class="container"><a class="navbar-brand" href="/"><i class="fa fa-globe"></i> Gazetteer</a></div>
  </nav>
  <div class="container">
    <h1>Gazetteer</h1>
    <p class="lead">A flag, a code and a line for each country, in the order of their codes.</p>
    <p><img class="img-responsive" src="banner-bg.jpg" width="1140" alt=""></p>
    <div class="row">
"""
TAIL = f"""    </div>
    <p><img class="img-responsive" src="intro-bg.jpg" width="1140" alt=""></p>
    <p class="text-muted">Codes are those of ISO 3166.</p>
  </div>
  <script src="//{JQUERY}"></script>
  <script src="//{BOOTSTRAP_ROOT}/js/bootstrap.min.js"></script>
  <script>$(function () {{ $(".flag").attr("title", function () {{ return this.alt; }}); }});</script>
</body>
</html>
"""


def responses(packages: Path) -> Iterator[Response]:
    """The page, what stands on hosts of its own, then the other hosts'. All packages are in the folder."""
    files = read_files(FLAGS, packages, "dist/png/")
    flags = {path.rpartition("/")[2].removesuffix(".png"): body for path, body in files.items()}
    codes = sorted(code for code in flags if len(code) == 2)[:COUNTRIES]
    yield SITE.response(f"{HOST}/", page(codes).encode())
    for photograph in ("banner-bg.jpg", "intro-bg.jpg"):
        yield SITE.response(
            f"{HOST}/{photograph}", read_files(LANDING, packages, "img/")[f"img/{photograph}"]
        )
    for number, code in enumerate(codes):
        yield SITE.response(flag(number, code), flags[code])
    yield from SITE.others(packages)


def page(codes: Sequence[str]) -> str:
    """The document: a box for each country."""
    boxes = (
        f'      <div class="col-md-3 col-sm-4 country">\n'
        f'        <h4><img class="flag" src="//{flag(number, code)}" width="16" height="11" alt="{code.upper()}">'
        f'<a href="/{code}/">{code.upper()}</a></h4>\n'
        f"        <p>Entry {number + 1} of {COUNTRIES}: land, towns and rivers.</p>\n"
        f"      </div>\n"
        for number, code in enumerate(codes)
    )
    return HEAD + "".join(boxes) + TAIL


def flag(number: int, code: str) -> str:
    """Where a flag is, without the scheme."""
    return f"static{number % SHARDS + 1}.gazetteer.example/flags/{code}.png"


PACKAGES: tuple[Package, ...] = (*SITE.packages, FLAGS)
GAZETTEER = Recipe(
    name="gazetteer",
    start_url=SITE.start_url,
    summary="A page of ours with 96 flags on three hosts of its own, as pages were in 2012: over 100 objects, 8 hosts.",
    licence=f"flags public domain; Bootstrap, jQuery and the photographs MIT; Font Awesome OFL 1.1 and MIT; {OFL}",
    made=responses,
    packages=PACKAGES,
    crawled="desktop",
    spare=True,
)

RECIPES = (GAZETTEER,)
