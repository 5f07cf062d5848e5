import debounce from "lodash-es/debounce.js";

export default function search(island) {
  const plants = [...document.querySelectorAll(".plant")];
  const words = (plant) => plant.textContent.toLowerCase();
  const look = debounce((typed) => {
    for (const plant of plants) plant.hidden = !words(plant).includes(typed.toLowerCase());
  }, 150);
  island.querySelector("input").addEventListener("input", (event) => look(event.target.value));
}
