// The container of ABOUT.
(function () {
  "use strict";
  function put(url) {
    var script = document.createElement("script");
    script.async = true;
    script.src = url;
    document.head.appendChild(script);
  }
  "AT ONCE";
  function whenParsed() {
    "WHEN PARSED";
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", whenParsed);
  else whenParsed();
})();
