"""A page whose paints are known: ten boxes of one size, 100 ms apart, and when each was painted by Element Timing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

BOXES = 10
FOR_S = 2.5  # after its load event it has painted all, and told its console of them
KNOWN = f"""<style>img {{ position: absolute; width: 100px; height: 100px }}</style><script>
const canvas = document.createElement("canvas"), painted = [];
canvas.width = canvas.height = 100;
const context = canvas.getContext("2d"); context.fillStyle = "#204080"; context.fillRect(0, 0, 100, 100);
const address = canvas.toDataURL();
new PerformanceObserver((list) => {{
  for (const each of list.getEntries()) painted.push(each.renderTime);
  if (painted.length === {BOXES}) console.error(JSON.stringify(painted));
}}).observe({{type: "element", buffered: true}});
function box(number) {{
  const made = new Image(); made.src = address; made.setAttribute("elementtiming", `box ${{number}}`);
  made.style.left = `${{number % 5 * 200 + 50}}px`; made.style.top = number < 5 ? "50px" : "300px";
  document.body.append(made);
  if (number + 1 < {BOXES}) setTimeout(box, 100, number + 1);
}}
addEventListener("load", () => setTimeout(box, 50, 0));
</script>"""


def painted_ms(console: Iterable[str]) -> Sequence[float]:
    """When each box was painted, from what the page told its console. Their mean is the Speed Index."""
    told = next(found[0] for text in console if (found := re.search(r"\[[\d.,]+\]", text)))
    times: list[float] = json.loads(told)
    assert len(times) == BOXES
    return times
