new Swiper(".gallery .swiper", { slidesPerView: 1.2, spaceBetween: 12, pagination: { el: ".swiper-pagination" }, breakpoints: { 800: { slidesPerView: 3 } } });
