// Sells the places for advertisements of a page: asks every bidder once, shows the highest bid, counts what was shown.
(function () {
  "use strict";
  var bidders = [
    "https://bid.alphabid.example/v2/bids.json",
    "https://rtb.bidwell.example/auction/bids.json",
    "https://prebid.oaklane.example/hb/bids.json",
  ];
  function asked(url) {
    return fetch(url).then(function (answer) { return answer.json(); }).catch(function () { return {}; });
  }
  function best(slot, answers) {
    return answers
      .map(function (answer) { return answer[slot]; })
      .filter(Boolean)
      .sort(function (one, other) { return other.cpm - one.cpm; })[0];
  }
  function show(box, bid) {
    var frame = document.createElement("iframe");
    frame.width = bid.width;
    frame.height = bid.height;
    frame.title = "Advertisement";
    frame.style.border = 0;
    frame.srcdoc =
      '<body style="margin:0;overflow:hidden"><a href="https://' + bid.advertiser + '/"><img style="display:block" width="' + bid.width + '" height="' + bid.height +
      '" src="' + bid.image + '" alt=""></a><script async src="https://measure.seenit.example/seen.js"><\/script>';
    frame.onload = function () { new Image().src = bid.won; };
    box.replaceChildren(frame);
  }
  function sell() {
    Promise.all(bidders.map(asked)).then(function (answers) {
      document.querySelectorAll("[data-slot]").forEach(function (box) {
        var bid = best(box.dataset.slot, answers);
        if (bid) show(box, bid);
      });
      var sync = document.createElement("iframe");
      sync.hidden = true;
      sync.src = "https://bid.alphabid.example/sync.html";
      document.body.appendChild(sync);
    });
  }
  if (window.agreeable) sell();
  else document.addEventListener("agreeable:ready", sell);
})();
