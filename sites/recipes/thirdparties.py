"""Third parties of our own making, which pages of today ask: consent, visits, advertisements, widgets.

What they do is modelled on the real ones, their names are made up, and the libraries are those that such scripts are
built with. The order is that of the web: a banner asks, advertisements are sold by auction, the winner's picture and
its counters follow, and a hidden frame introduces the bidders to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from sites.recipes.composition import Library, PageHosts
from sites.recipes.recipe import PINNED

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
LICENCE = (
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
