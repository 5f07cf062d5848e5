// What the theme and its plugins do once the page is parsed.
jQuery(function ($) {
  "use strict";
  $(".menu-toggle").on("click", function () { $(".main-navigation ul").toggle(); });
  $(".slides").slick({ autoplay: false, dots: true, arrows: false });
  var posts = $(".posts").masonry({ itemSelector: ".post", transitionDuration: 0 });
  posts.imagesLoaded().progress(function () { posts.masonry("layout"); });
  $(".wp-block-gallery").magnificPopup({ delegate: "a", type: "image", gallery: { enabled: true } });
  $(".mejs-player").mediaelementplayer({ iconSprite: "/wp-includes/js/mediaelement/mejs-controls.svg" });
  new Swiper(".quotes", { loop: false, slidesPerView: 1 });
  var Often = Backbone.Collection.extend({
    url: "/wp-json/slowriver/v1/often.json",
    parse: function (answer) { return answer.posts; },
  });
  var often = new Often();
  var line = _.template('<li><a href="/<%- id %>/"><%- title %></a> <small><%- read %> times</small></li>');
  often.on("sync", function () {
    $("#often-read").html(often.map(function (post) { return line(post.attributes); }).join(""));
  });
  often.fetch();
});
