// A crowd: each user loads the page, thinks, and loads it again. What they load and how many they are is in $PLAN.
import exec from 'k6/execution';
import { plan, visit } from 'k6/x/page';

const asked = plan(__ENV.PLAN);
const ramp = [{ duration: `${asked.over_s}s`, target: asked.to }];
const steps = (asked.steps || []).flatMap((users) => [
  { duration: '0s', target: users },
  { duration: `${asked.step_s}s`, target: users },
]);
const patience = `${asked.timeout_s + 1}s`; // for a page under way, which has a limit of its own

export const options = {
  scenarios: {
    crowd: {
      executor: 'ramping-vus',
      startVUs: steps.length ? asked.steps[0] : asked.from,
      stages: steps.length ? steps : ramp,
      gracefulRampDown: patience,
      gracefulStop: patience,
    },
  },
  noCookiesReset: true, // the users of k6/x/page have no cookies
  noVUConnectionReuse: false,
  systemTags: [],
};

export default function () {
  try {
    visit();
  } catch (error) {
    exec.test.abort(String(error)); // the generator itself: what happens to a page is in its line
  }
}
