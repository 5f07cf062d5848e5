// Why a page failed, by the kinds of harness/capacity/k6/page/failure.go.
'use strict'

/** A failure of a `kind`: timeout, connect, tls, dns, reset, closed, status or protocol. */
class Failure extends Error {
  constructor (kind, why) {
    super(why)
    this.kind = kind
  }
}

const WAS_RESET = new Set(['ECONNRESET', 'EPIPE'])

/** An error of a socket that was connected. Node gives an end where none should be the name of a reset, but no call. */
function failureOfSocket (error, otherwise) {
  if (error instanceof Failure) return error
  if (WAS_RESET.has(error.code)) return new Failure(error.syscall ? 'reset' : 'closed', error.message)
  return new Failure(error.code === 'ETIMEDOUT' ? 'timeout' : otherwise, error.message)
}

module.exports = { Failure, failureOfSocket }
