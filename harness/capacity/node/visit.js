// One page of one user: the document, and what the page asks for afterwards, in the order and by the dependencies that
// the plan tells.
'use strict'

const { Failure } = require('./failure')
const { Http1Origin } = require('./http1')
const { Names } = require('./network')
const { SPDY } = require('./plan')
const { SpdyOrigin } = require('./spdy')

class Visit {
  constructor (plan, user) {
    this.plan = plan
    this.source = plan.addresses[user % plan.addresses.length]
    this.names = new Names(plan, this.source)
    this.origins = new Map() // by host and port
    this.sockets = []
    this.waitsFor = plan.items.map((each) => each.waitsFor)
    this.underWay = 0
    this.requests = 0
    this.failures = 0
    this.first = null // Failure
    this.brokeMs = null // until that
    this.documentMs = null
    this.opened = 0 // connections
    this.taking = new Set() // sockets of those that take requests
    this.atOnce = 0
    this.wire = null
    this.tls = null
    this.isOver = false // the page has come, or failed
    this.isClosed = false // there are no connections any more
  }

  /** What came of the page; its connections stay open, as a browser keeps them, until `end`. */
  load () {
    this.started = performance.now()
    return new Promise((resolve) => {
      this.finished = resolve
      this.limit = setTimeout(() => this.giveUp(), this.plan.timeout_ms)
      this.begin([0])
    })
  }

  begin (numbers) {
    this.underWay += numbers.length
    this.requests += numbers.length
    for (const number of numbers) this.originOf(this.plan.items[number]).ask(number)
  }

  originOf (item) {
    if (!this.origins.has(item.origin)) {
      const Origin = this.plan.protocol.wire === SPDY ? SpdyOrigin : Http1Origin
      this.origins.set(item.origin, new Origin(this, item.target))
    }
    return this.origins.get(item.origin)
  }

  /** An item was answered with a status, in full. Asks for what waited for nothing else. */
  answered (number, status) {
    const item = this.plan.items[number]
    const isRight = item.status ? status === item.status : status < 400
    if (!isRight) return this.failed(number, new Failure('status', `${item.url} was answered with ${status}`))
    if (this.isOver) return
    if (number === 0) this.documentMs = this.sinceStart()
    const next = item.followers.filter((follower) => --this.waitsFor[follower] === 0)
    this.went(next)
  }

  /** An item was not answered. What waited for it is not asked for. */
  failed (number, failure) {
    if (this.isOver) return
    this.failures++
    this.broke(failure)
    this.went([])
  }

  broke (failure) {
    this.brokeMs ??= this.sinceStart()
    this.first ??= failure
  }

  went (next) {
    this.underWay--
    if (next.length) this.begin(next)
    else if (this.underWay === 0) this.close()
  }

  /** What a user does whose page does not come. */
  giveUp () {
    this.failures += this.underWay
    this.broke(new Failure('timeout', `${this.underWay} requests were unanswered after ${this.plan.timeout_ms / 1000} s`))
    this.close()
    this.end()
  }

  close () {
    this.isOver = true
    clearTimeout(this.limit)
    const endedMs = this.sinceStart()
    this.finished({
      ms: this.first ? null : endedMs,
      ended_ms: endedMs,
      broke_ms: this.brokeMs,
      document_ms: this.documentMs,
      requests: this.requests,
      failed: this.failures,
      error: this.first ? this.first.kind : null,
      connections: this.opened,
      connections_at_once: this.atOnce,
      bytes: this.received(),
      protocol: this.wire,
      tls: this.tls,
      why: this.first?.message
    })
  }

  sinceStart () {
    return Math.round(1000 * (performance.now() - this.started)) / 1000
  }

  /** A socket that is closed with the visit; at once where that has ended. */
  keep (socket) {
    this.sockets.push(socket)
    if (this.isClosed) socket.destroy()
  }

  /** Notes a connection that is ready for requests, and what it speaks. */
  connected (socket, wire, tls) {
    this.opened++
    this.taking.add(socket)
    this.atOnce = Math.max(this.atOnce, this.taking.size)
    socket.once('close', () => this.takesNoMore(socket))
    if (this.wire === null || wire !== this.plan.protocol.wire) [this.wire, this.tls] = [wire, tls]
  }

  takesNoMore (socket) {
    this.taking.delete(socket)
  }

  /** Bytes from the network; TLS is read through the plain socket below it. */
  received () {
    return this.sockets.reduce((sum, each) => sum + (each.encrypted ? 0 : each.bytesRead), 0)
  }

  end () {
    this.isClosed = true
    this.names.end()
    for (const each of this.sockets) each.destroy()
    for (const each of this.origins.values()) each.end()
  }
}

module.exports = { Visit }
