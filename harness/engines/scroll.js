// Shows one screenful of the page (0 is the top) as it is at rest; tells whether there is more below.
// Waits at most 2 s for its pictures and fonts; animations are put to their end, endless ones to their beginning.
async (screenful) => {
  const LIMIT_MS = 2000, STEP_MS = 50, SETTLE_MS = 150;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const shown = (image) => {
    const box = image.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight && box.width > 0;
  };
  scrollTo({ top: screenful * innerHeight, behavior: "instant" });
  const end = performance.now() + LIMIT_MS;
  const loading = () => document.fonts.status === "loading" ||
    [...document.images].some((image) => !image.complete && shown(image));
  do await pause(STEP_MS);
  while (performance.now() < end && loading());
  await pause(SETTLE_MS);
  for (const animation of document.getAnimations()) {
    try {
      animation.finish();
    } catch {
      animation.cancel();
    }
  }
  const page = document.scrollingElement ?? document.documentElement;
  return page.scrollTop + innerHeight < page.scrollHeight - 1;
}
