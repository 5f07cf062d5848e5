// The plan of a crowd: read, refused where it makes no sense, and prepared once for all users. The keys are those of
// harness/capacity/k6/page/plan.go.
'use strict'

const fs = require('node:fs')
const http = require('node:http')
const tls = require('node:tls')

const DOCUMENT = -1 // as the number of an object
const SPDY = 'spdy/3'
const PROTOCOLS = {
  http1: { wire: 'http/1.1', scheme: 'http', encrypted: false },
  https1: { wire: 'http/1.1', scheme: 'https', encrypted: true },
  spdy: { wire: SPDY, scheme: 'https', encrypted: true },
  'spdy-plain': { wire: SPDY, scheme: 'https', encrypted: false }
}
const PORTS = { http: 80, https: 443 }
const TLS_VERSIONS = ['1.2', '1.3']
const CURVES = 'X25519:P-256'
const URL_PARTS = /^(https?):\/\/(\[[^\]]*\]|[^:/?#]+)(?::(\d+))?([^#]*)/ // the path as it is: no parser writes it anew

/** The plan of a file. An error of one line ends the program. */
function read (file) {
  return prepared(JSON.parse(fs.readFileSync(file, 'utf8')))
}

function prepared (plan) {
  const protocol = PROTOCOLS[plan.protocol]
  refuse(!protocol, `protocol: unknown ${JSON.stringify(plan.protocol)}`)
  refuse(!plan.addresses?.length, 'addresses: there is none')
  refuse(!(plan.timeout_ms > 0), 'timeout_ms: it must be above 0')
  refuse(protocol.encrypted && !TLS_VERSIONS.includes(plan.tls), `tls: unknown ${JSON.stringify(plan.tls)}`)
  refuse(!(lengthMs(plan.users) > 0), 'users: neither a ramp nor steps')
  const { document: url, headers, status } = plan
  const items = [{ url, headers, status }, ...plan.objects].map((each) => itemOf(each, protocol))
  plan.objects.forEach((each, number) => {
    const after = new Set([DOCUMENT, ...(each.after || [])])
    for (const other of after) {
      refuse(!(other >= DOCUMENT && other < number), `objects[${number}]: it must wait for earlier objects, not for ${other}`)
      items[other + 1].followers.push(number + 1)
    }
    items[number + 1].waitsFor = after.size
  })
  return {
    ...plan,
    protocol,
    items, // the document first
    hosts: plan.hosts || {},
    epochNs: BigInt(plan.epoch_ns),
    security: protocol.encrypted ? securityOf(plan) : null
  }
}

/** An item in the form in which all users ask for it. `waitsFor` counts items, `followers` wait for this one. */
function itemOf (asked, protocol) {
  const [, scheme, host, port, rest] = URL_PARTS.exec(asked.url) || []
  refuse(scheme !== protocol.scheme, `${asked.url}: it needs a URL with ${protocol.scheme}://`)
  const target = { host: host.replace(/^\[|\]$/g, ''), port: +(port || PORTS[scheme]) }
  const headers = asked.headers || {}
  for (const [name, value] of Object.entries(headers)) {
    http.validateHeaderName(name)
    http.validateHeaderValue(name, value)
  }
  const path = rest.startsWith('/') ? rest : `/${rest}`
  refuse(/[^\x21-\xff]/.test(path), `${asked.url}: it cannot be asked for`)
  return {
    url: asked.url,
    target,
    origin: `${target.host}:${target.port}`,
    authority: port ? `${host}:${port}` : host,
    method: asked.method || 'GET',
    path,
    headers,
    status: asked.status || 0,
    waitsFor: 0,
    followers: []
  }
}

/** One version of TLS, one authority that is trusted, and curves whose ClientHello fits into a packet. */
function securityOf (plan) {
  const version = `TLSv${plan.tls}`
  const ca = fs.readFileSync(plan.ca)
  return tls.createSecureContext({ ca, minVersion: version, maxVersion: version, ecdhCurve: CURVES })
}

/** How long the crowd is there. */
function lengthMs (users) {
  return 1000 * (users.steps ? users.step_s * users.steps.length : users.over_s || 0)
}

/** When users come, in ms since the beginning: along the ramp, or with the step that first has so many. */
function arrivals (users) {
  const { steps, step_s: stepS, from, to, over_s: overS } = users
  const most = steps ? Math.max(...steps) : to
  return Array.from({ length: most }, (_, number) => {
    if (steps) return 1000 * stepS * steps.findIndex((there) => there > number)
    return number < from ? 0 : 1000 * overS * (number + 1 - from) / (to - from)
  })
}

function refuse (wrong, why) {
  if (wrong) throw new Error(why)
}

module.exports = { SPDY, arrivals, lengthMs, prepared, read }
