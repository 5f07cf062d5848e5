// A button to pay with one touch, in a frame that the shop cannot look into.
(function () {
  "use strict";
  var box = document.querySelector("[data-coinpurse]");
  if (!box) return;
  var frame = document.createElement("iframe");
  frame.title = "Pay with Coinpurse";
  frame.width = "100%";
  frame.height = 120;
  frame.style.border = 0;
  frame.src = "https://pay.coinpurse.example/frame.html";
  box.replaceChildren(frame);
})();
