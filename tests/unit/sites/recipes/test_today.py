"""Third parties: who bids, and that each slot has one winner."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files

from sites.recipes.today import ALPHABID, BIDWELL, OAKLANE, THIRD_PARTIES

BIDS = (f"{ALPHABID}/v2/bids.json", f"{BIDWELL}/auction/bids.json", f"{OAKLANE}/hb/bids.json")


def test_every_bid_can_win_and_be_counted_once() -> None:
    folder = files("sites.recipes").joinpath(THIRD_PARTIES.folder)
    answers = [json.loads(folder.joinpath(address).read_text()) for address in BIDS]
    prices = Counter((slot, bid["cpm"]) for answer in answers for slot, bid in answer.items())
    assert set(prices.values()) == {1}  # no two bids for a place are alike
    won = Counter(bid["won"].removeprefix("https://") for answer in answers for bid in answer.values())
    assert set(won) <= set(THIRD_PARTIES.pixels)
    assert set(won.values()) == {1}
