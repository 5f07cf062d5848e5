// A crowd of users by the protocols of 2012. Each loads the page, thinks, and loads it again, cold every time:
//
//     node users.js PLAN         the plan that k6 gets (harness/capacity/k6/page/plan.go), in a file
//
// A line of JSON for each page goes to the plan's `lines`, written whole when the page has ended.
'use strict'

const fs = require('node:fs')
const { arrivals, lengthMs, read } = require('./plan')
const { Visit } = require('./visit')

const LEAST_PAUSE_MS = 100 // after a page that failed, so that nobody fails without end in no time
const OVERTIME_MS = 10_000 // after which a crowd that should have gone is ended
const MOST_WHYS = 20 // of the failures told in words

const plan = read(process.argv[2])
const lines = fs.openSync(plan.lines, 'a')
const until = performance.now() + lengthMs(plan.users)
let active = 0
let whys = 0

/** Seconds since the plan's zero, which is one of the kernel's monotonic clock. */
const now = () => Number(process.hrtime.bigint() - plan.epochNs) / 1e9
const isThere = () => performance.now() < until
/** Waits, but no longer than the crowd is there. */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, until - performance.now())))

async function user (number) {
  active++
  const first = (plan.first_pauses_ms || [])[number]
  if (first) await pause(first)
  while (isThere()) {
    const at = { t_s: now(), user: number, users: active }
    const visit = new Visit(plan, number)
    const { why, ...came } = await visit.load()
    fs.writeSync(lines, JSON.stringify({ ...at, ...came }) + '\n')
    if (why && ++whys <= MOST_WHYS) console.error(`user ${number}: ${came.error}: ${why}`)
    await pause(Math.max(plan.think_ms, came.error ? LEAST_PAUSE_MS : 0))
    visit.end()
  }
  active--
}

const crowd = arrivals(plan.users).map((ms, number) => new Promise((resolve, reject) => {
  setTimeout(() => user(number).then(resolve, reject), ms)
}))
setTimeout(() => {
  console.error('the crowd did not go when its time was over')
  process.exit(1)
}, lengthMs(plan.users) + plan.timeout_ms + OVERTIME_MS)
Promise.all(crowd).then(() => process.exit(0))
