package page

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// What Chromium tells a server as it connects. It opens a window again once more than half of it is used; x/net's client
// does after 4 kB, which is a packet for every third that comes.
const (
	tableOfHeaders   = 64 << 10
	mostHeaders      = 256 << 10
	streamWindow     = 6 << 20
	connectionWindow = 15 << 20
)

const (
	windowAtFirst  = 1<<16 - 1 // of a connection, by RFC 9113
	longestFrame   = 1 << 14   // that may be sent without asking
	streamsAtFirst = 100       // until the server has told how many it takes; what Chromium begins with
	mostStreams    = 256       // of Chromium, whatever the server tells
)

// A streamedConn is a connection of HTTP/2. Its origin's mutex guards all but the reading.
type streamedConn struct {
	net.Conn
	origin *streamed
	framer *http2.Framer
	reason error // why it ends, once that is known
	heard  bool  // whether a frame has come; only who reads asks

	out     bytes.Buffer // frames that are not sent yet
	block   bytes.Buffer // the headers of one request
	encoder *hpack.Encoder

	streams []stream // by their numbers, which are 1, 3, 5 ...
	open    int      // how many of these have not ended
	most    int      // how many the server takes at a time
	taken   int      // bytes since the window was opened last

	reader  *bufio.Reader
	decoder *hpack.Decoder
	head    head
}

// A head is a block of headers under way.
type head struct {
	id             uint32 // of its stream
	ends           bool   // the answer with it
	status, length int    // as in a stream
}

func newStreamedConn(origin *streamed, opened net.Conn) *streamedConn {
	made := &streamedConn{Conn: opened, origin: origin, most: streamsAtFirst, reader: bufio.NewReader(opened)}
	made.streams = make([]stream, 0, len(origin.visit.plan.items))
	made.framer = http2.NewFramer(&made.out, made.reader)
	made.framer.SetMaxReadFrameSize(longestFrame)
	made.encoder = hpack.NewEncoder(&made.block)
	made.decoder = hpack.NewDecoder(tableOfHeaders, made.field)
	made.decoder.SetMaxStringLength(mostHeaders)
	return made
}

// Writing: frames are put together in memory, which cannot fail, and sent by one write. The mutex is held.

func (c *streamedConn) greet() {
	c.out.WriteString(http2.ClientPreface)
	_ = c.framer.WriteSettings(
		http2.Setting{ID: http2.SettingHeaderTableSize, Val: tableOfHeaders},
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: mostHeaders},
	)
	_ = c.framer.WriteWindowUpdate(0, connectionWindow-windowAtFirst)
	c.flush()
}

func (c *streamedConn) takesMore() bool { return c.open < c.most }

func (c *streamedConn) send(number int) {
	id := uint32(2*len(c.streams) + 1)
	c.streams = append(c.streams, stream{item: number, length: -1})
	c.open++
	c.block.Reset()
	for _, field := range c.origin.visit.plan.items[number].fields {
		_ = c.encoder.WriteField(field)
	}
	part := c.block.Next(longestFrame)
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: part, EndStream: true, EndHeaders: c.block.Len() == 0,
	})
	for c.block.Len() > 0 {
		part = c.block.Next(longestFrame)
		_ = c.framer.WriteContinuation(id, c.block.Len() == 0, part)
	}
	c.flush()
}

// flush sends the frames. The reader meets the failure of a write, too, as the connection is closed then.
func (c *streamedConn) flush() {
	if _, err := c.Write(c.out.Bytes()); err != nil {
		if c.reason == nil {
			c.reason = err
		}
		_ = c.Close()
	}
	c.out.Reset()
}

// end ends a stream and gives back what has come by it; an item of none when it was over already.
func (c *streamedConn) end(id uint32) stream {
	open := c.stream(id)
	if open == nil {
		return stream{item: none}
	}
	came := *open
	open.item = none
	c.open--
	return came
}

// endAfter ends the streams above a number and gives back what has come by them.
func (c *streamedConn) endAfter(last uint32) []stream {
	var ended []stream
	for place := range c.streams {
		if id := uint32(2*place + 1); id > last {
			if came := c.end(id); came.item != none {
				ended = append(ended, came)
			}
		}
	}
	return ended
}

// stream is one that is open, or nil.
func (c *streamedConn) stream(id uint32) *stream {
	place := int(id / 2)
	if id%2 == 0 || place >= len(c.streams) || c.streams[place].item == none {
		return nil
	}
	return &c.streams[place]
}

// Reading, by one goroutine and without the mutex.

var errNoSettings = errors.New("the server did not begin with settings")

// read takes frames until the connection ends, and says why it did.
func (c *streamedConn) read() error {
	for {
		header, err := c.framer.ReadFrameHeader()
		switch {
		case err != nil:
			return err
		case !c.heard && header.Type != http2.FrameSettings:
			return errNoSettings
		case header.Type == http2.FrameData:
			err = c.data(header)
		default:
			err = c.frame(header)
		}
		if err != nil {
			return err
		}
		c.heard = true
	}
}

// data counts what comes of a body; nobody looks at it.
func (c *streamedConn) data(header http2.FrameHeader) error {
	size, length := int(header.Length), int(header.Length)
	if header.StreamID == 0 {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if header.Flags.Has(http2.FlagDataPadded) {
		read, err := c.framer.ReadFrameForHeader(header)
		if err != nil {
			return err
		}
		length = len(read.(*http2.DataFrame).Data())
	} else if _, err := c.reader.Discard(size); err != nil {
		return err
	}
	ends := header.Flags.Has(http2.FlagDataEndStream)
	c.origin.mutex.Lock()
	c.taken += size
	c.reopen(0, &c.taken, connectionWindow)
	if open := c.stream(header.StreamID); open != nil {
		open.came += length
		open.taken += size
		if !ends {
			c.reopen(header.StreamID, &open.taken, streamWindow)
		}
	}
	c.origin.mutex.Unlock()
	if ends {
		c.origin.answered(c, header.StreamID, nil)
	}
	return nil
}

// reopen opens the window of a stream, or of the connection, when more than half of it is used. The mutex is held.
func (c *streamedConn) reopen(id uint32, taken *int, window int) {
	if *taken > window/2 {
		_ = c.framer.WriteWindowUpdate(id, uint32(*taken))
		*taken = 0
		c.flush()
	}
}

// frame takes one that brings nothing of a body. What it does not know counts for nothing (RFC 9113, 5.5). One that is
// wrong ends the connection, also where ending its stream would do (5.4): no server sends such.
func (c *streamedConn) frame(header http2.FrameHeader) error {
	read, err := c.framer.ReadFrameForHeader(header)
	if is[http2.StreamError](err) {
		return &failure{badProtocol, err} // it would count as one that the server reset
	}
	if err != nil {
		return err
	}
	switch frame := read.(type) {
	case *http2.HeadersFrame:
		c.head = head{id: frame.StreamID, ends: frame.StreamEnded(), length: -1}
		return c.headers(frame.HeaderBlockFragment(), frame.HeadersEnded())
	case *http2.ContinuationFrame:
		return c.headers(frame.HeaderBlockFragment(), frame.HeadersEnded())
	case *http2.SettingsFrame:
		c.settings(frame)
	case *http2.PingFrame:
		c.pong(frame)
	case *http2.RSTStreamFrame:
		c.origin.answered(c, frame.StreamID, http2.StreamError{StreamID: frame.StreamID, Code: frame.ErrCode})
	case *http2.GoAwayFrame:
		c.origin.left(c, frame)
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol) // we told that we take none
	}
	return nil
}

// headers are part of a block: of an answer, of one that only informs, or of what follows a body.
func (c *streamedConn) headers(part []byte, ended bool) error {
	if _, err := c.decoder.Write(part); err != nil || !ended {
		return err
	}
	if err := c.decoder.Close(); err != nil {
		return err
	}
	informs := c.head.status/100 == 1
	c.origin.mutex.Lock()
	if open := c.stream(c.head.id); open != nil && open.status == 0 && !informs {
		open.status, open.length = c.head.status, c.head.length
	}
	c.origin.mutex.Unlock()
	if c.head.ends {
		c.origin.answered(c, c.head.id, nil)
	}
	return nil
}

func (c *streamedConn) field(field hpack.HeaderField) {
	switch field.Name {
	case ":status":
		c.head.status = wholeNumber(field.Value, 0)
	case "content-length":
		c.head.length = wholeNumber(field.Value, -1)
	}
}

func wholeNumber(text string, otherwise int) int {
	if value, err := strconv.Atoi(text); err == nil {
		return value
	}
	return otherwise
}

func (c *streamedConn) settings(frame *http2.SettingsFrame) {
	if frame.IsAck() {
		return
	}
	c.origin.mutex.Lock()
	defer c.origin.mutex.Unlock()
	if told, ok := frame.Value(http2.SettingMaxConcurrentStreams); ok {
		c.most = int(min(told, mostStreams))
	}
	if told, ok := frame.Value(http2.SettingHeaderTableSize); ok {
		c.encoder.SetMaxDynamicTableSize(told)
	}
	_ = c.framer.WriteSettingsAck()
	c.flush()
	c.origin.goOn()
}

func (c *streamedConn) pong(frame *http2.PingFrame) {
	if frame.IsAck() {
		return
	}
	c.origin.mutex.Lock()
	defer c.origin.mutex.Unlock()
	_ = c.framer.WritePing(true, frame.Data)
	c.flush()
}
