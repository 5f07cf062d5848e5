// An island comes to life by a module of its own, at once, when the page is idle, or when it is seen.
const idle = window.requestIdleCallback ?? ((run) => setTimeout(run, 200));
const when = {
  load: (island, wake) => wake(),
  idle: (island, wake) => (document.readyState === "complete" ? idle(wake) : addEventListener("load", () => idle(wake))),
  visible: (island, wake) =>
    new IntersectionObserver((entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      wake();
    }).observe(island),
};
customElements.define(
  "island-host",
  class extends HTMLElement {
    connectedCallback() {
      when[this.getAttribute("when")](this, async () => (await import(this.getAttribute("src"))).default(this));
    }
  }
);
