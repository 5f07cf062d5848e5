// The container of Slow River.
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
    put("https://social.chatter.example/embed.js");
    put("https://widgets.related.example/v1/related.js");
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", whenParsed);
  else whenParsed();
})();
