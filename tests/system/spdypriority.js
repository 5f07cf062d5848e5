// A SPDY/3 client for test_spdy_gateway.py that asks for a style sheet while a picture is on its way.
//
//     node spdypriority.js ADDRESS PORT HOST PICTURE STYLE
//
// It reads nothing for a while once it has asked for both. It tells how many frames of the picture came between the first
// and the last of the style sheet, and how many of the style sheet.
'use strict'

const net = require('node:net')
const transport = require('spdy-transport')

const [address, port, host, picture, style] = process.argv.slice(2)
const UNREAD_MS = 500

const socket = net.connect(+port, address, () => {
  const connection = transport.connection.create(socket, { protocol: 'spdy', isServer: false })
  connection.start(3)
  const ask = (path) => {
    const stream = connection.request({ method: 'GET', host, path, headers: {} })
    stream.resume()
    return stream
  }
  const first = ask(picture)
  let second
  const frames = { between: 0, style: 0 }
  connection.on('frame', ({ type, id, fin }) => {
    if (type !== 'DATA') return
    if (!second) {
      second = ask(style)
      socket.pause()
      setTimeout(() => socket.resume(), UNREAD_MS)
    } else if (id === second.id) {
      frames.style++
      if (fin) process.stdout.write(JSON.stringify(frames), () => socket.destroy())
    } else if (id === first.id && frames.style > 0) frames.between++
  })
})
