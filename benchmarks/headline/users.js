// The crowd of harness/capacity/k6/crowd.js by k6's own module http: the same plan, a line per page.
import http from 'k6/http';
import { sleep } from 'k6';

const asked = JSON.parse(open(__ENV.PLAN));
const steps = asked.users.steps.flatMap((users) => [
  { duration: '0s', target: users },
  { duration: `${asked.users.step_s}s`, target: users },
]);
const patience = `${asked.users.page_timeout_s + 1}s`; // for a page under way, which has a limit of its own
const timeout = `${asked.timeout_ms}ms`;
// At once: a connection bears one request of HTTP/1.1, and all those of HTTP/2.
const several = asked.protocol === 'h2' ? asked.objects.length : asked.connections_per_host;

export const options = {
  scenarios: {
    crowd: {
      executor: 'ramping-vus',
      startVUs: asked.users.steps[0],
      stages: steps,
      gracefulRampDown: patience,
      gracefulStop: patience,
    },
  },
  hosts: asked.hosts,
  noVUConnectionReuse: true, // a user comes with nothing
  batch: several,
  batchPerHost: several,
  discardResponseBodies: true,
  systemTags: [],
};

export default function () {
  const began = Date.now();
  const answers = [http.get(asked.document, { timeout })];
  if (answers[0].status === 200) {
    answers.push(...http.batch(asked.objects.map((each) => ['GET', each.url, null, { timeout }])));
  }
  const whole = answers.length > asked.objects.length && answers.every((each) => each.status === 200);
  console.log(JSON.stringify({ ms: whole ? Date.now() - began : null, protocol: answers[0].proto }));
  sleep(asked.think_ms / 1000);
}
