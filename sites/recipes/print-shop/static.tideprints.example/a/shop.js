// The shop: takes over the list that the server has drawn, so that it can be filtered and bought from.
(function (Vue) {
  "use strict";
  var h = Vue.h;
  var state = JSON.parse(document.getElementById("state").textContent);
  var Print = {
    props: ["print"],
    emits: ["add"],
    setup: function (props, context) {
      return function () {
        var print = props.print;
        var picture = { src: print.image, alt: print.name, width: 560, height: 560 };
        if (print.number >= 16) picture.loading = "lazy";
        return h("li", { class: "print" }, [
          h("a", { href: "/print/" + print.number + "/" }, [h("img", picture)]),
          h("h3", print.name),
          h("p", { class: "about" }, print.about),
          h("p", { class: "price" }, "€ " + print.price),
          h("p", { class: "stars" }, "★".repeat(print.stars)),
          h("button", { class: "add", onClick: function () { context.emit("add", print); } }, "Add to cart"),
        ]);
      };
    },
  };
  var app = Vue.createSSRApp({
    setup: function () {
      var kind = Vue.ref("All");
      var cart = Vue.reactive([]);
      var shown = Vue.computed(function () {
        return state.prints.filter(function (print) { return kind.value === "All" || print.kind === kind.value; });
      });
      Vue.onMounted(function () {
        fetch("https://api.tideprints.example/v1/cart.json")
          .then(function (answer) { return answer.json(); })
          .then(function (found) { cart.push.apply(cart, found.prints); });
      });
      return function () {
        return h("div", { class: "shop" }, [
          h("div", { class: "filters" }, ["All"].concat(state.kinds).map(function (name) {
            return h("button", { class: name === kind.value ? "on" : "", onClick: function () { kind.value = name; } }, name);
          })),
          h("p", { class: "count" }, shown.value.length + " prints"),
          h("ul", { class: "grid" }, shown.value.map(function (print) {
            return h(Print, { key: print.number, print: print, onAdd: function (added) { cart.push(added); } });
          })),
        ]);
      };
    },
  });
  app.mount("#shop");
  new Swiper(".rooms", { slidesPerView: innerWidth < 800 ? 1.2 : 3, spaceBetween: 12 });
  new PhotoSwipeLightbox({ gallery: ".rooms", children: "figure", pswpModule: PhotoSwipe }).init();
  fetch("https://api.tideprints.example/v1/worth.json").then(function (answer) { return answer.json(); }).then(function (found) {
    new Chart(document.getElementById("worth"), {
      type: "bar",
      data: { labels: found.years, datasets: [{ label: "€", data: found.worth, backgroundColor: "#1d6b52" }] },
      options: { animation: false, responsive: false, plugins: { legend: { display: false } } },
    });
  });
})(window.Vue);
