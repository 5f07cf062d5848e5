// The container of Harbour Wire: what its marketing people have put on the page.
(function () {
  "use strict";
  function put(url) {
    var script = document.createElement("script");
    script.async = true;
    script.src = url;
    document.head.appendChild(script);
  }
  put("https://metrics.tallyhouse.example/tally.js");
  put("https://ads.brightslot.example/slots.js");
  function whenParsed() {
    put("https://widgets.related.example/v1/related.js");
    put("https://social.chatter.example/embed.js");
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", whenParsed);
  else whenParsed();
})();
