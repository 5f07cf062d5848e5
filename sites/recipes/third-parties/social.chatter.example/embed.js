// Shows a message where the page quotes one.
document.querySelectorAll("[data-chatter]").forEach(function (quote) {
  "use strict";
  var frame = document.createElement("iframe");
  frame.loading = "lazy";
  frame.width = "100%";
  frame.height = 240;
  frame.title = "A message on Chatter";
  frame.style.border = 0;
  frame.src = "https://social.chatter.example/embed/" + quote.dataset.chatter + ".html";
  quote.replaceChildren(frame);
});
