(function () {
  // When the navigation began, in ms since 1970, and how long it took to the end of its load event.
  const navigation = performance.getEntriesByType('navigation')[0];
  return { began: performance.timeOrigin, took: navigation.loadEventEnd };
})();
