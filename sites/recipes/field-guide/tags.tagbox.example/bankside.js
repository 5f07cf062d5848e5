// The container of Bankside.
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
    put("https://reviews.starred.example/widget.js");
    put("https://tiles.mapwright.example/map.js");
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", whenParsed);
  else whenParsed();
})();
