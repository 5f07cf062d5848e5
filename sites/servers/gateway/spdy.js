// SPDY/3 on a socket, by spdy-transport used directly: npm's `spdy`, which lies above it, loses answers that are streamed
// on a lossy link.
'use strict'

const transport = require('spdy-transport')

const WITHOUT_LIMIT = 2 ** 30 // more than any answer; with a browser's updates still less than the library takes
const VERSION = 3 // 3.1 differs by a window for the whole connection, which QtWebKit's SPDY does not know

/** Serve a connection. `begin({ method, target, host, upgrade })` starts an exchange. */
function serveSpdy (socket, begin, settings) {
  sendTogether(socket)
  const connection = transport.connection.create(socket, {
    protocol: 'spdy',
    isServer: true,
    maxStreams: settings.spdy_streams,
    maxChunk: settings.spdy_chunk_bytes,
    headerCompression: true // the library's default is zlib's level 0, which servers of the time did not have
  })
  holdBack(connection._spdyState.framer)
  ignoreLateWindows(connection)
  if (!settings.spdy_flow_control) ignoreWindows(connection)
  connection.on('error', () => socket.destroy()) // what comes is not SPDY, or the socket has gone
  if (settings.spdy_priorities) byPriority(connection._spdyState.framer)
  connection.on('stream', (stream) => serveStream(stream, begin, settings))
  connection.start(VERSION)
}

/**
 * What is written in one turn of the event loop leaves in one piece, as Node's HTTP/1.1 sends head and body. The library by
 * itself sends each frame in packets of its own: small ones then fill an initial window that one answer would have fitted.
 */
function sendTogether (socket) {
  const write = socket.write
  socket.write = (...words) => {
    if (!socket.writableCorked) {
      socket.cork()
      setImmediate(() => socket.uncork())
    }
    return write.apply(socket, words)
  }
}

/**
 * Frames wait in the library's queue, where streams take turns, until the socket has room. The library by itself moves
 * them on at once into a buffer without limit and without order. Priorities change next to nothing: the library means to
 * let streams of a higher one go first, but compares with an object (`framer.window`) in place of a number. That does no
 * harm here: QtWebKit and the users of crowds ask for everything with the same priority. `byPriority` is for studies that
 * want it otherwise.
 */
function holdBack (framer) {
  const tick = framer.tick
  framer.tick = () => {
    const { length, highWaterMark } = framer._readableState
    return length < highWaterMark && tick.call(framer) // when there is room again, the stream asks again
  }
}

/**
 * Of the frames that wait, those of the highest priority go first, as mod_spdy's did; streams of one priority take turns.
 * In place of the library's own turns, which let all streams go. A frame at a time: a stream may bring its next one.
 */
function byPriority (framer) {
  let latest = 0
  framer.tickAsync = () => {
    const { list } = framer
    if (list.length === 0) return true
    const first = list.filter((item) => item.priority === list[0].priority)
    const item = first.find(({ stream }) => stream > latest) || first[0]
    const { chunks, callback } = item.shift()
    latest = item.stream
    if (item.isEmpty()) list.splice(list.indexOf(item), 1)
    framer.count -= chunks.length
    const room = chunks.map((chunk) => framer.push(chunk)).every(Boolean)
    if (callback) callback(null)
    if (room) framer._read() // in the same turn of the event loop
    return room
  }
}

/**
 * The priority that Chromium of 2012 gave to what is asked for, by the kind of its answer, as QtWebKit asks for everything
 * with the same one (DetermineRequestPriority in its resource_dispatcher_host_impl.cc). The library's larger ones go first.
 */
function priorityOf (type) {
  if (/^text\/html/i.test(type)) return 4 // HIGHEST
  if (/^text\/css|javascript|font/i.test(type)) return 3 // MEDIUM
  return /^image\//i.test(type) ? 1 : 2 // LOWEST, LOW
}

/**
 * A window for a stream that has been answered in full says nothing any more. The library answers it with RST_STREAM, which
 * overtakes the stream's last frames where those still wait for room: the browser then loses the end of the answer.
 */
function ignoreLateWindows (connection) {
  const handle = connection._handleFrame
  connection._handleFrame = (frame) => {
    const late = frame.type === 'WINDOW_UPDATE' && frame.id !== 0 && !connection._spdyState.stream.map[frame.id]
    if (!late) handle.call(connection, frame)
  }
}

/** As SPDY/2 was, which had no windows: what the browser says of them is not taken for a limit. */
function ignoreWindows (connection) {
  connection._spdyState.streamWindow.send.setMax(WITHOUT_LIMIT)
  connection._setDefaultWindow = () => {}
}

function serveStream (stream, begin, settings) {
  const headers = []
  for (const [name, value] of Object.entries(stream.headers)) {
    if (!name.startsWith(':')) headers.push(name, value)
  }
  const host = stream.headers[':host'] || stream.host || ''
  headers.push('host', host)
  const exchange = begin({ method: stream.method, target: stream.path, host, upgrade: '' })
  stream.pipe(exchange.forward(headers, (answer, raw) => {
    if (settings.spdy_priorities) {
      const priority = priorityOf(answer.headers['content-type'] || '')
      stream._spdyState.priority.getPriority = () => priority
    }
    stream.respond(answer.statusCode, byName(raw))
    answer.on('error', () => stream.abort())
    answer.pipe(stream)
  }, () => {
    if (exchange.bodyBytes > 0) return stream.abort()
    stream.respond(502, { 'content-length': '0' })
    stream.end()
  }))
  stream.on('error', () => {}) // RST_STREAM; 'close' follows
  stream.on('close', () => setImmediate(() => exchange.end())) // its last frame has then been written, too
}

/** Headers as the library takes them; it leaves out those of a connection and joins repeated ones by a zero byte. */
function byName (raw) {
  const found = {}
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at].toLowerCase()
    found[name] = name in found ? [].concat(found[name], raw[at + 1]) : raw[at + 1]
  }
  return found
}

module.exports = { serveSpdy }
