// A closed loop on the gateway of the protocols of 2012, by one client for all of them:
//
//     node spdyclient.js SETTINGS        one JSON object: harness/capacity/spdyclient.py
//
// Each connection has `depth` requests under way: streams of SPDY/3, or pipelined requests of HTTP/1.1. It says when its
// warm-up is over, and at its end what came, as one line of JSON.
'use strict'

const net = require('node:net')
const tls = require('node:tls')
const transport = require('spdy-transport')

const settings = JSON.parse(process.argv[2])
const url = new URL(settings.url)
const target = url.pathname + url.search
const open = new Set() // sockets
const told = { requests: 0, errors: {}, bytes: 0, times: {}, protocol: null, tls: null }
let counting = false
let gone = 0 // bytes that came over sockets that are closed

function failed (kind) {
  if (counting) told.errors[kind] = (told.errors[kind] || 0) + 1
}

/** An answer has come in full. What was asked for in the warm-up and answered later counts, as in h2load. */
function answered (status, began) {
  if (!counting) return
  if (!(status >= 200 && status < 400)) return failed('status')
  const us = Math.round((performance.now() - began) * 1000)
  told.requests++
  told.times[us] = (told.times[us] || 0) + 1
}

// --- SPDY/3 --------------------------------------------------------------------------------------------------------
function loopOfSpdy (socket) {
  const connection = transport.connection.create(socket, { protocol: 'spdy', isServer: false, headerCompression: true })
  connection.on('error', () => socket.destroy())
  connection.start(3)
  const asked = { method: 'GET', host: url.host, path: target, headers: { 'accept-encoding': settings.accepted } }
  const ask = () => {
    const began = performance.now()
    const stream = connection.request(asked)
    let status = 0
    stream.on('response', (code) => { status = code })
    stream.on('error', () => {}) // 'close' follows
    stream.on('data', () => {})
    stream.once('close', (error) => {
      if (error || !status) failed('reset')
      else answered(status, began)
      if (!socket.destroyed) ask()
    })
  }
  for (let number = 0; number < settings.depth; number++) ask()
}

// --- HTTP/1.1 ------------------------------------------------------------------------------------------------------
const REQUEST = `GET ${target} HTTP/1.1\r\nHost: ${url.host}\r\nAccept-Encoding: ${settings.accepted}\r\n\r\n`
const END_OF_HEAD = '\r\n\r\n'

/** How many bytes the first answer has, and its status; null when it has not come in full. */
function firstAnswer (data) {
  const end = data.indexOf(END_OF_HEAD)
  if (end < 0) return null
  const head = data.toString('latin1', 0, end)
  const status = +head.slice(9, 12)
  const start = end + END_OF_HEAD.length
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  if (length) return data.length < start + +length[1] ? null : { status, bytes: start + +length[1] }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) throw new Error(`an answer without a length: ${head}`)
  return ofChunks(data, start, status)
}

function ofChunks (data, at, status) {
  for (;;) {
    const end = data.indexOf('\r\n', at)
    if (end < 0) return null
    const size = parseInt(data.toString('latin1', at, end), 16)
    const next = end + 2 + size + 2
    if (data.length < next) return null
    if (size === 0) return { status, bytes: next }
    at = next
  }
}

function loopOfHttp1 (socket) {
  const began = []
  let rest = Buffer.alloc(0)
  const ask = (count) => {
    for (let number = 0; number < count; number++) began.push(performance.now())
    socket.write(REQUEST.repeat(count))
  }
  socket.on('data', (data) => {
    rest = rest.length ? Buffer.concat([rest, data]) : data
    let count = 0
    for (let found = firstAnswer(rest); found; found = firstAnswer(rest)) {
      answered(found.status, began.shift())
      rest = rest.subarray(found.bytes)
      count++
    }
    if (count) ask(count) // as many as have been answered, in one packet
  })
  ask(settings.depth)
}

// --- connections ---------------------------------------------------------------------------------------------------
function connect () {
  const port = url.port || (settings.encrypted || url.protocol === 'https:' ? 443 : 80)
  const where = { host: url.hostname, port, noDelay: true }
  const secure = { servername: url.hostname, ALPNProtocols: [settings.wire], rejectUnauthorized: false }
  let ready = false
  const begin = () => {
    ready = true
    if (socket.encrypted) [told.protocol, told.tls] = [socket.alpnProtocol || 'none', socket.getProtocol()]
    const loop = settings.wire === 'spdy/3' ? loopOfSpdy : loopOfHttp1
    loop(socket)
  }
  const socket = settings.encrypted ? tls.connect({ ...where, ...secure }, begin) : net.connect(where, begin)
  open.add(socket)
  socket.on('error', () => {}) // 'close' follows
  socket.on('close', () => {
    open.delete(socket)
    gone += socket.bytesRead
    failed(ready ? 'closed' : 'connect')
    setTimeout(connect, settings.again_ms)
  })
}

const received = () => [...open].reduce((sum, socket) => sum + socket.bytesRead, gone)

for (let number = 0; number < settings.connections; number++) connect()
setTimeout(() => {
  const before = received()
  const began = performance.now()
  counting = true
  console.log(settings.counts_from)
  setTimeout(() => {
    counting = false
    const seconds = (performance.now() - began) / 1000
    console.log(JSON.stringify({ ...told, seconds, bytes: received() - before }))
    process.exit(0)
  }, settings.seconds * 1000)
}, settings.warm_s * 1000)
