// Tests of the users in Node (harness/capacity/node), against servers in the same process; test_spdyusers.py runs them.
'use strict'

const assert = require('node:assert/strict')
const http = require('node:http')
const net = require('node:net')
const path = require('node:path')
const { test } = require('node:test')
const transport = require('spdy-transport')

const NODE = path.join(__dirname, '../../../../harness/capacity/node')
const { arrivals, prepared } = require(path.join(NODE, 'plan'))
const { Visit } = require(path.join(NODE, 'visit'))

const BODY = Buffer.alloc(2000)

/** What a server saw. `answer(path, stream)` may answer in a way of its own. */
class Seen {
  constructor (answer = () => false) {
    this.answer = answer
    this.paths = []
    this.headers = []
    this.connections = 0
    this.open = 0
    this.most = 0
  }

  asked (path, headers) {
    this.paths.push(path)
    this.headers.push(headers)
    this.most = Math.max(this.most, ++this.open)
  }
}

function spdyServer (seen, maxStreams = 100) {
  return net.createServer({ noDelay: true }, (socket) => {
    seen.connections++
    socket.on('error', () => {})
    const connection = transport.connection.create(socket, { protocol: 'spdy', isServer: true, maxStreams })
    connection.on('error', () => socket.destroy())
    connection.on('stream', (stream) => {
      seen.asked(stream.path, stream.headers)
      stream.on('error', () => {})
      stream.on('close', () => seen.open--)
      if (seen.answer(stream.path, stream, socket, connection)) return
      stream.respond(200, { 'content-type': 'text/plain' })
      stream.end(BODY)
    })
    connection.start(3)
  })
}

function http1Server (seen) {
  const server = http.createServer((request, response) => {
    seen.asked(request.url, request.headers)
    response.on('close', () => seen.open--)
    if (!seen.answer(request.url, response, request.socket)) response.end(BODY)
  })
  return server.on('connection', () => seen.connections++)
}

const SCHEMES = { 'spdy-plain': 'https', http1: 'http' }

/** A page of these objects, by their paths, or as items. */
function planFor (server, protocol, objects, more = {}) {
  const root = `${SCHEMES[protocol]}://site.example:${server.address().port}`
  const items = objects.map((each) => typeof each === 'string' ? { path: each } : each)
  return {
    document: `${root}/`,
    headers: { 'user-agent': 'test' },
    status: 200,
    objects: items.map(({ path, ...item }) => ({ url: `${root}${path}`, method: 'GET', headers: {}, status: 200, after: [-1], ...item })),
    hosts: { 'site.example': '127.0.0.1' },
    resolver: '127.0.0.1',
    protocol,
    connections_per_host: protocol === 'http1' ? 6 : 1,
    timeout_ms: 10_000,
    tls: '1.2',
    addresses: ['127.0.0.2', '127.0.0.3'],
    think_ms: 0,
    users: { steps: [1], step_s: 1 },
    epoch_ns: 0,
    ...more
  }
}

async function listening (server, then) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    return await then()
  } finally {
    server.close()
  }
}

/** What became of a page at a server. */
function load (server, protocol, objects, more = {}, user = 0) {
  return listening(server, async () => {
    const visit = new Visit(prepared(planFor(server, protocol, objects, more)), user)
    const came = await visit.load()
    visit.end()
    return came
  })
}

const many = (count) => Array.from({ length: count }, (_, number) => `/${number}`)

test('a page by SPDY is loaded over one connection', async () => {
  const seen = new Seen()
  const came = await load(spdyServer(seen), 'spdy-plain', many(50))
  assert.deepEqual([came.error, came.requests, came.failed, came.connections], [null, 51, 0, 1])
  assert.deepEqual([came.protocol, came.tls, seen.connections], ['spdy/3', null, 1])
  assert.ok(came.bytes > 51 * BODY.length)
  assert.ok(came.document_ms > 0 && came.document_ms < came.ms)
  assert.deepEqual([came.ended_ms, came.broke_ms], [came.ms, null])
  assert.deepEqual(seen.paths, ['/', ...many(50)])
  assert.equal(seen.headers[0]['user-agent'], 'test')
})

test('a server has no more streams at a time than it takes', async () => {
  const seen = new Seen()
  const came = await load(spdyServer(seen, 5), 'spdy-plain', many(30))
  assert.equal(came.error, null)
  assert.ok(seen.most <= 5, `${seen.most}`)
})

test('an IP address in a URL is where the plan says it is', async () => {
  for (const [host, written] of [['203.0.113.7', '203.0.113.7'], ['2001:db8::1', '[2001:db8::1]'], ['localhost', 'localhost']]) {
    const server = spdyServer(new Seen())
    const came = await listening(server, async () => {
      const plan = planFor(server, 'spdy-plain', [])
      plan.document = plan.document.replace('site.example', written)
      const visit = new Visit(prepared({ ...plan, hosts: { [host]: '127.0.0.1' } }), 0)
      const told = await visit.load()
      visit.end()
      return told
    })
    assert.deepEqual([came.error, came.requests], [null, 1], host)
  }
})

test('a page by HTTP/1.1 takes the connections of a browser', async () => {
  const seen = new Seen()
  const came = await load(http1Server(seen), 'http1', many(30))
  assert.deepEqual([came.error, came.requests, came.connections, seen.connections], [null, 31, 6, 6])
  assert.deepEqual([came.protocol, came.tls, came.connections_at_once], ['http/1.1', null, 6])
  assert.ok(seen.most <= 6)
})

test('users come from addresses of their own, in turn', async () => {
  const from = []
  for (const user of [0, 1, 2]) {
    const seen = new Seen((_path, _response, socket) => { from.push(socket.remoteAddress) })
    await load(http1Server(seen), 'http1', [], {}, user)
  }
  assert.deepEqual(from, ['127.0.0.2', '127.0.0.3', '127.0.0.2'])
})

for (const protocol of ['spdy-plain', 'http1']) {
  const server = (seen) => protocol === 'http1' ? http1Server(seen) : spdyServer(seen)

  test(`${protocol}: an object is asked for once what it waits for has come`, async () => {
    const seen = new Seen()
    const objects = ['/style', { path: '/font', after: [0] }, '/picture', { path: '/last', after: [1, 2] }]
    const came = await load(server(seen), protocol, objects)
    assert.equal(came.error, null)
    assert.ok(seen.paths.indexOf('/font') > seen.paths.indexOf('/style'))
    assert.equal(seen.paths.at(-1), '/last')
  })

  test(`${protocol}: what waits for something that failed is not asked for`, async () => {
    const answer = (path, answered, socket) => path === '/style' && (socket.destroy(), true)
    const seen = new Seen(answer)
    const came = await load(server(seen), protocol, ['/style', { path: '/font', after: [0] }])
    assert.equal(came.ms, null)
    assert.match(came.error, /^(closed|reset)$/)
    assert.ok(!seen.paths.includes('/font'))
  })

  test(`${protocol}: a page that does not come fails at its limit`, async () => {
    const came = await load(server(new Seen(() => true)), protocol, ['/never'], { timeout_ms: 100 })
    assert.deepEqual([came.error, came.requests, came.failed, came.ms], ['timeout', 1, 1, null])
    assert.ok(came.broke_ms >= 99 && came.ended_ms >= came.broke_ms)
  })

  test(`${protocol}: a page that is given up tells what failed first`, async () => {
    const seen = new Seen((path) => path === '/never')
    const objects = [{ path: '/wrong', status: 404 }, { path: '/never', after: [-1] }]
    const came = await load(server(seen), protocol, objects, { timeout_ms: 300 })
    assert.deepEqual([came.error, came.requests, came.failed, came.ms], ['status', 3, 2, null])
    assert.ok(came.broke_ms < 299 && came.ended_ms >= 299)
  })

  test(`${protocol}: an answer of another status is a failure, and the browser's own is none`, async () => {
    const objects = (status) => [{ path: '/', status }]
    assert.equal((await load(server(new Seen()), protocol, objects(404))).error, 'status')
    const missing = (path, answered) => {
      if (path !== '/missing') return false
      if (protocol === 'http1') answered.writeHead(404)
      else answered.respond(404, {})
      answered.end()
      return true
    }
    assert.equal((await load(server(new Seen(missing)), protocol, [{ path: '/missing', status: 404 }])).error, null)
  })

  test(`${protocol}: nobody listens`, async () => {
    const unused = server(new Seen())
    const plan = await listening(unused, () => planFor(unused, protocol, []))
    const visit = new Visit(prepared(plan), 0)
    const came = await visit.load()
    visit.end()
    assert.deepEqual([came.error, came.connections, came.protocol], ['connect', 0, null])
  })
}

test('a stream that the server resets is one failure of a page', async () => {
  const seen = new Seen((path, stream) => path === '/gone' && (stream.abort(), true))
  const came = await load(spdyServer(seen), 'spdy-plain', ['/gone', '/there'])
  assert.deepEqual([came.error, came.failed, came.requests], ['reset', 1, 3])
})

test('a server that takes leave gets what is left over another connection', async () => {
  const seen = new Seen((path, stream, _socket, connection) => {
    if (path !== '/') return false
    connection._spdyState.framer.goawayFrame({ lastId: stream.id, code: 'OK' }) // `end` would cut the answer off
    connection.ping(() => { // the user has read that
      stream.respond(200, {})
      stream.end(BODY)
    })
    return true
  })
  const came = await load(spdyServer(seen), 'spdy-plain', ['/one', '/two'])
  assert.deepEqual([came.error, came.connections, came.connections_at_once], [null, 2, 1])
})

test('what speaks something else is told', async () => {
  const server = net.createServer((socket) => socket.on('error', () => {}).end('SSH-2.0-none\r\n'))
  assert.equal((await load(server, 'http1', [])).error, 'protocol')
})

test('a request on a connection that the server closed is made again', async () => {
  const seen = new Seen((path, response, socket) => {
    if (path === '/' || seen.closed) return false
    seen.closed = true
    return (socket.destroy(), true)
  })
  const came = await load(http1Server(seen), 'http1', ['/one'])
  assert.deepEqual([came.error, came.connections], [null, 2])
})

test('plans that make no sense are refused with the reason', async () => {
  const server = http1Server(new Seen())
  await listening(server, () => {
    const wrong = [
      [{ protocol: 'h2' }, /unknown "h2"/],
      [{ addresses: [] }, /addresses/],
      [{ timeout_ms: 0 }, /timeout_ms/],
      [{ users: {} }, /neither a ramp nor steps/],
      [{ document: 'https://site.example/' }, /it needs a URL with http:/],
      [{ document: 'http://site.example/\u2028' }, /cannot be asked for/],
      [{ headers: { 'a b': 'c' } }, /Header name/],
      [{ headers: { a: 'b\r\nc: d' } }, /Invalid character/]
    ]
    for (const [more, said] of wrong) assert.throws(() => prepared(planFor(server, 'http1', [], more)), said)
    assert.throws(() => prepared(planFor(server, 'http1', [{ path: '/x', after: [0] }])), /objects\[0\]/)
  })
})

test('users come along the ramp, or with the step that first has so many', () => {
  assert.deepEqual(arrivals({ from: 1, to: 5, over_s: 8 }), [0, 2000, 4000, 6000, 8000])
  assert.deepEqual(arrivals({ from: 3, to: 3, over_s: 8 }), [0, 0, 0])
  assert.deepEqual(arrivals({ steps: [1, 3, 4], step_s: 10 }), [0, 10000, 10000, 20000])
})
