// A host by SPDY/3: one connection that has all requests, and a new one only when the server takes no more of them there.
'use strict'

const transport = require('spdy-transport')
const { Failure, failureOfSocket } = require('./failure')
const { connect } = require('./network')

const VERSION = 3
const MOST_STREAMS = 100 // at a time, until the server says how many it takes: what Chrome took

class SpdyOrigin {
  constructor (visit, target) {
    this.visit = visit
    this.target = target
    this.waiting = []
    this.session = null
    this.isConnecting = false
  }

  ask (number) {
    this.waiting.push(number)
    this.next()
  }

  next () {
    if (this.isConnecting || !this.waiting.length) return
    if (!this.session || this.session.isSpent) {
      if (this.session) this.visit.takesNoMore(this.session.socket)
      return this.open()
    }
    while (this.waiting.length && this.session.takesMore) this.fetch(this.session, this.waiting.shift())
  }

  fetch (session, number) {
    session.fetch(this.visit.plan.items[number], (failure, status) => {
      if (failure) this.visit.failed(number, failure)
      else this.visit.answered(number, status)
      this.next()
    })
  }

  /** All that wait for a connection that cannot be made fail with it. */
  async open () {
    this.isConnecting = true
    let failure = null
    try {
      this.session = new Session(await connect(this.visit, this.target))
    } catch (error) {
      failure = error
    }
    this.isConnecting = false
    if (!failure) return this.next()
    for (const number of this.waiting.splice(0)) this.visit.failed(number, failure)
  }

  end () {
    this.session?.end()
  }
}

/** A connection of SPDY. */
class Session {
  constructor (socket) {
    this.socket = socket
    this.underWay = 0
    this.most = MOST_STREAMS
    this.isSpent = false
    this.failure = null // why it ended
    socket.on('error', (error) => this.ended(failureOfSocket(error, 'closed'))) // before the library, which tells it as its own
    socket.on('end', () => this.ended(new Failure('closed', 'the server closed the connection')))
    this.connection = transport.connection.create(socket, { protocol: 'spdy', isServer: false, headerCompression: true })
    this.connection.on('frame', (frame) => this.seen(frame))
    this.connection.on('error', (error) => { // what came is not SPDY, or the socket has gone
      this.ended(new Failure('protocol', error.message))
      socket.destroy()
    })
    this.connection.start(VERSION)
  }

  get takesMore () {
    return !this.isSpent && this.underWay < this.most
  }

  /** What of the connection itself the library leaves to us. */
  seen (frame) {
    if (frame.type === 'SETTINGS') this.most = frame.settings.max_concurrent_streams ?? this.most
    if (frame.type === 'GOAWAY') this.ended(new Failure('closed', 'the server took leave (GOAWAY)'))
  }

  ended (failure) {
    this.isSpent = true
    this.failure ??= failure
  }

  /** `then(failure, status)` is called once, with one of both. */
  fetch (item, then) {
    const { method, authority: host, path, headers } = item
    const stream = this.connection.request({ method, host, path, headers })
    let status = 0
    let failure = null
    this.underWay++
    stream.on('response', (code) => { status = code })
    stream.on('error', (error) => { failure ??= this.failure ?? new Failure('reset', error.message) }) // 'close' follows
    stream.on('data', () => {})
    stream.once('close', (error) => {
      this.underWay--
      if (error) failure ??= this.failure ?? new Failure(this.socket.destroyed ? 'closed' : 'reset', error.message)
      else if (!status) failure ??= new Failure('protocol', `${item.url} was answered without a status`)
      then(failure, status)
    })
    if (method !== 'GET') stream.end() // a request with nothing but its head
  }

  end () {
    this.isSpent = true
  }
}

module.exports = { SpdyOrigin }
