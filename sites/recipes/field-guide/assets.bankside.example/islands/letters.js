import { html, render } from "htm/preact";
import { useState } from "preact/hooks";

function Letters() {
  const [open, setOpen] = useState(false);
  return html`<h2>Letters</h2><button onClick=${() => setOpen(!open)}>${open ? "Close" : "Write one"}</button>`;
}

export default function letters(island) {
  island.replaceChildren();
  render(html`<${Letters} />`, island);
}
