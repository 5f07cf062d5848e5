// Shows one screenful of the page (0 is the top), and waits at most 2 s for the pictures in it; whether there is more below.
async (screenful) => {
  const LIMIT_MS = 2000, STEP_MS = 50, SETTLE_MS = 150;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const shown = (image) => {
    const box = image.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight && box.width > 0;
  };
  scrollTo({ top: screenful * innerHeight, behavior: "instant" });
  const end = performance.now() + LIMIT_MS;
  do await pause(STEP_MS);
  while (performance.now() < end && [...document.images].some((image) => !image.complete && shown(image)));
  await pause(SETTLE_MS);
  const page = document.scrollingElement ?? document.documentElement;
  return page.scrollTop + innerHeight < page.scrollHeight - 1;
}
