"""How much of well-known style sheets `rewrite_css` saves, beside other minifiers, and whether pages stay the same.

    .venv/bin/python -m benchmarks.stylesheets [--into DIR]

Six sheets, built from npm packages: Tailwind, Bootstrap, Bulma, Open Props, animate.css, and a Vite build with nesting,
container queries and scopes. Each is put, as it is and minified, into a page with the usual elements and two elements
for each of its classes (600 classes at most); the computed styles of every element and of its `::before` are compared
in Chromium at two widths. Ends with 1 when it saves less than 97 % of what esbuild does of a sheet, or a style differs.
npm fetches the packages into a cache of this benchmark, in the versions below.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator, Mapping

from playwright.sync_api import Page, sync_playwright

from benchmarks import common, quoted
from harness.system.folders import cache_folder
from harness.system.program import Command, find_program, run
from sites.optimise.cssminify import minified

VERSIONS = {
    "tailwindcss": "4.3.5",
    "@tailwindcss/cli": "4.3.5",
    "bootstrap": "5.3.9",
    "bulma": "1.0.4",
    "open-props": "1.7.23",
    "animate.css": "4.1.1",
    "vite": "8.3.8",
    "esbuild": "0.28.2",
    "lightningcss": "1.33.0",
}
CACHE = cache_folder() / "benchmark-stylesheets"
SECONDS = 600
SHARE = 0.97
WIDTHS = (1280, 400)
MOST_CLASSES = 600
ELEMENTS = """<header><nav><a href=#>a</a></nav></header><main><article><h1>A</h1><h2>B</h2><p>c <b>d</b></p>
<ul><li>f<li>g</ul><ol><li>h</ol><table><thead><tr><th>i<tbody><tr><td>j<tr><td>k</table><figure><img alt=l></figure>
<form><label>m <input><input type=checkbox><select><option>n</select><textarea></textarea></label><button>o</button>
</form><details open><summary>p</summary>q</details><blockquote>r</blockquote><pre>s</pre><hr><progress></progress>
</article></main><footer>t</footer>"""
TAILWIND = """dark:bg-slate-900 antialiased @container mx-auto grid max-w-5xl grid-cols-[2fr_1fr] gap-8 px-6 py-1.5
sm:grid-cols-2 space-y-4 backdrop-blur hover:text-sky-600 before:content-['x'] text-4xl/tight focus:ring-2 h-1/2
first-letter:text-2xl @md:flex-row group shadow-lg shadow-sky-500/30 bg-gradient-to-r from-sky-500 -translate-y-0.5
odd:bg-white motion-safe:animate-pulse h-[calc(100%-2rem)] supports-[display:grid]:grid divide-y line-clamp-3
w-[clamp(10rem,50%,20rem)] bg-[#1da1f2] group-hover:opacity-100 print:hidden *:underline rounded-2xl border-t"""
COMPONENTS = """@import "bootstrap/dist/css/bootstrap-utilities.css" layer(utilities);
@import "open-props/src/props.sizes.css"; @import "open-props/src/extra/buttons.css";
@layer base, components;
@property --angle { syntax: "<angle>"; inherits: false; initial-value: 0deg; }
@layer components {
  .cards { container: cards / inline-size; gap: calc( var( --size-3 , 1rem ) + 0.5rem ); display: grid;
    grid-template-columns: repeat( auto-fill , minmax( 0 , 1fr ) ); --empty: ; }
  .card { padding: 0.50rem 1.0rem; background: #FFFFFF; transform: translate( -50% , 0px );
    & > p, & + & { color: RGB( 10 20 30 / 50% ); &:is( :hover , :focus-visible ) { color: red; } }
    @media ( min-width: 40em ) { padding: 0.75rem; }
    @container cards ( width > 30em ) { flex-direction: row; & p { inline-size: 50%; } } }
  @scope ( .card ) to ( .slot ) { p { border: 1px solid #000000; } :scope { color: red; } }
}
@container style( --responsive: true ) { .card { color: blue; } }
@supports ( selector( :has( a ) ) ) and ( not ( display: none-such ) ) { .card:has( > p ) { margin: 0; } }
@starting-style { .card { opacity: 0; } }
@keyframes turn { from { --angle: 0deg; } to { --angle: 360deg; } }"""
LIGHTNING = """const [, library, source, made] = process.argv, fs = require("fs");
const done = require(library).transform({ filename: source, code: fs.readFileSync(source), minify: true });
fs.writeFileSync(made, done.code)"""
CLASS = re.compile(r"\.((?:[A-Za-z_-]|\\[^0-9a-f])(?:[\w-]|\\[^0-9a-f])*)")
# The computed styles of every element, one line each.
STYLES = """() => {
  document.getAnimations().forEach((animation) => { animation.pause(); animation.currentTime = 0; });
  return [...document.body.querySelectorAll("*")].map((element) => [null, "::before"].map((pseudo) => {
    const style = getComputedStyle(element, pseudo);
    return [...style].map((name) => name + ":" + style.getPropertyValue(name).replace(/\\s+/g, " ")).join(";");
  }).join("|")).join("\\n");
}"""


def sheets() -> dict[str, str]:
    """The style sheets by what they are called, as their tools write them for people to read."""
    modules = common.npm_modules("stylesheets", *(f"{name}@{version}" for name, version in VERSIONS.items()))
    (CACHE / "page.html").write_text(TAILWIND, encoding="utf-8")
    tailwind = f'@import "{modules}/tailwindcss" source(none); @source "./page.html";'
    (CACHE / "tailwind.in.css").write_text(tailwind, encoding="utf-8")
    _tool("@tailwindcss/cli/dist/index.mjs", "-i", CACHE / "tailwind.in.css", "-o", CACHE / "tailwind.css")
    props = "".join(f'@import "open-props/src/{name}";' for name in ("index.css", "extra/normalize.src.css"))
    (CACHE / "props.in.css").write_text(props, encoding="utf-8")
    _tool("esbuild/bin/esbuild", CACHE / "props.in.css", "--bundle", f"--outfile={CACHE / 'props.css'}")
    (CACHE / "main.css").write_text(COMPONENTS, encoding="utf-8")
    (CACHE / "index.html").write_text("<link rel=stylesheet href=./main.css>", encoding="utf-8")
    plain = "export default { build: { minify: false, cssMinify: false, emptyOutDir: true } }"
    (CACHE / "vite.config.mjs").write_text(plain, encoding="utf-8")
    _tool("vite/bin/vite.js", "build", CACHE, "--config", CACHE / "vite.config.mjs", "--logLevel", "error")
    files = {
        f"Tailwind {VERSIONS['tailwindcss']}": CACHE / "tailwind.css",
        f"Bootstrap {VERSIONS['bootstrap']}": modules / "bootstrap/dist/css/bootstrap.css",
        f"Bulma {VERSIONS['bulma']}": modules / "bulma/css/bulma.css",
        f"Open Props {VERSIONS['open-props']} with normalize": CACHE / "props.css",
        f"animate.css {VERSIONS['animate.css']}": modules / "animate.css/animate.css",
        f"components built by Vite {VERSIONS['vite']}": next((CACHE / "dist/assets").glob("*.css")),
    }
    return {name: file.read_text(encoding="utf-8") for name, file in files.items()}


def _tool(script: str, *words: object) -> None:
    run(Command.of(common.NODE, CACHE / "node_modules" / script, *map(str, words)), timeout_s=SECONDS)


def by_others(css: str) -> Iterator[int]:
    """The bytes that esbuild and Lightning CSS leave."""
    source, made = CACHE / "in.css", CACHE / "out.css"
    source.write_text(css, encoding="utf-8")
    _tool(
        "esbuild/bin/esbuild",
        source,
        "--minify",
        f"--outfile={made}",
        "--allow-overwrite",
        "--log-level=error",
    )
    yield made.stat().st_size
    run(
        Command.of(common.NODE, "-e", LIGHTNING, CACHE / "node_modules/lightningcss", source, made),
        timeout_s=SECONDS,
    )
    yield made.stat().st_size


def styles(page: Page, css: str, classes: list[str]) -> list[str]:
    """The computed styles at each width, of every element one line."""
    shown = "".join(
        f'<div class="{name}"><p class="card {name}">x</p></div>' for name in map(html.escape, classes)
    )
    page.set_content(f"<!doctype html><style>{css}</style><body>{ELEMENTS}<div class=cards>{shown}</div>")
    lines: list[str] = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        lines += str(page.evaluate(STYLES)).split("\n")
    return lines


def measured(page: Page, name: str, css: str) -> tuple[Mapping[str, str], bool]:
    """What minifiers leave of a style sheet and how many computed styles ours changes; and if an aim is missed."""
    short = minified(css)
    assert short is not None
    before, ours = len(css.encode()), len(short.encode())
    esbuild, lightning = by_others(css)
    class_names = sorted({re.sub(r"\\(.)", r"\1", class_name) for class_name in CLASS.findall(css)})
    classes = class_names[:: max(1, len(class_names) // MOST_CLASSES)]
    pairs = list(zip(styles(page, css, classes), styles(page, short, classes), strict=True))
    differ = sum(one != two for one, two in pairs)
    share = (before - ours) / (before - esbuild)
    row = {
        "style_sheet": name,
        "bytes": f"{before:,}",
        "rewrite_css": f"{ours:,}",
        "esbuild": f"{esbuild:,}",
        "lightning_css": f"{lightning:,}",
        "share_of_esbuilds_saving": f"{share:.1%}",
        "share_of_lightnings_saving": f"{(before - ours) / (before - lightning):.1%}",
        "styles_that_differ": f"{differ:,} of {len(pairs):,}",
    }
    return row, share < SHARE or differ > 0


def main() -> int:
    parser = common.parser(__doc__)
    quoted.add_into(parser)
    given = parser.parse_args()
    print(common.machine())
    part = quoted.Part("stylesheets", "sheets", design=quoted.VARIANTS)
    rows, missed = list[Mapping[str, str]](), False
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_program("chromium"), args=["--no-sandbox"], timeout=0
        )
        page = browser.new_page(reduced_motion="reduce")
        page.set_default_timeout(0)
        page.route("**/*", lambda route: route.abort())
        for name, css in sheets().items():
            row, misses = measured(page, name, css)
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            rows.append(row)
            missed = missed or misses
        browser.close()
    if given.into:
        part.keep(given.into, rows, ["style_sheet"])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
