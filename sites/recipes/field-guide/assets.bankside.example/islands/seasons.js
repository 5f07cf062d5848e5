import Swiper from "swiper";
import Navigation from "swiper/modules/navigation.mjs";
import Keyboard from "swiper/modules/keyboard.mjs";

export default function seasons(island) {
  new Swiper(island.querySelector(".swiper"), {
    modules: [Navigation, Keyboard],
    keyboard: true,
    navigation: { nextEl: ".swiper-button-next" },
    slidesPerView: innerWidth < 800 ? 1.1 : 2.5,
    spaceBetween: 12,
  });
}
