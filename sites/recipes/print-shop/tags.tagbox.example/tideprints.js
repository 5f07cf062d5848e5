// The container of Tide Prints: visits and recordings at once, what sells once the page is there.
(function () {
  "use strict";
  function put(url) {
    var script = document.createElement("script");
    script.async = true;
    script.src = url;
    document.head.appendChild(script);
  }
  put("https://metrics.tallyhouse.example/tally.js");
  put("https://replay.lookback.example/record.js");
  function whenParsed() {
    put("https://pay.coinpurse.example/button.js");
    put("https://reviews.starred.example/widget.js");
    put("https://tiles.mapwright.example/map.js");
    put("https://widgets.related.example/v1/related.js");
    put("https://chat.helpdesk.example/w/chat.js");
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", whenParsed);
  else whenParsed();
})();
