// Asks a visitor what may be measured, and tells the page's other scripts: event "agreeable:ready" on the document.
(function (asks) {
  "use strict";
  var here = "https://consent.agreeable.example/v3/";
  var sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = here + "banner.css";
  document.head.appendChild(sheet);
  asks
    .run({
      mode: "opt-out",
      hideFromBots: false,
      guiOptions: { consentModal: { layout: "bar inline", position: "bottom" } },
      categories: { necessary: { enabled: true, readOnly: true }, analytics: {}, ads: {} },
      language: { default: "en", translations: { en: here + "texts/en.json" } },
    })
    .then(function () {
      window.agreeable = { analytics: asks.acceptedCategory("analytics"), ads: asks.acceptedCategory("ads") };
      document.dispatchEvent(new Event("agreeable:ready"));
    });
})(window.CookieConsent);
