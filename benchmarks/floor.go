// The floor of what a user of HTTP/2 costs who loads a page as those of coldload do: the same connections, TLS and
// requests, and of what comes the frames are counted and nothing else is looked at. There is no k6, no name server, no
// answer that is judged. It takes the plan of a crowd that has one step, and writes a line per page; benchmarks/crowd.py
// builds and measures it.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/url"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"coldload/k6/page"
)

const (
	leastPause       = 100 * time.Millisecond // after a page that failed
	connectionWindow = 15<<20 - 65535         // more than a page brings: it is never opened again
	streamWindow     = 6 << 20
)

// As long as those of the users, about: from the second request on all but the path is one byte each.
var headers = [][2]string{
	{"user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"},
	{"accept", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"},
	{"accept-encoding", "gzip, deflate, br, zstd"}, {"accept-language", "en-US,en;q=0.9"},
	{"sec-ch-ua", `"Chromium";v="156", "Not_A Brand";v="24"`}, {"sec-ch-ua-mobile", "?0"}, {"sec-ch-ua-platform", `"Linux"`},
	{"sec-fetch-dest", "image"}, {"sec-fetch-mode", "no-cors"}, {"sec-fetch-site", "same-origin"}, {"priority", "i"},
}

// A crowd is what all users have in common: what they send is put together once.
type crowd struct {
	plan     *page.Plan
	server   string
	tls      *tls.Config
	opening  []byte
	requests [][]byte // the document's first
	accepted []byte   // the answer to the server's settings
	until    time.Time
	lines    *os.File
}

func main() {
	crowd, err := read(os.Getenv("PLAN"))
	if err != nil {
		log.Fatal(err)
	}
	var users sync.WaitGroup
	for number := range crowd.plan.Users.Steps[0] {
		users.Go(func() { crowd.stay(number) })
	}
	users.Wait()
}

func read(file string) (*crowd, error) {
	plan, err := page.Read(file)
	if err != nil {
		return nil, err
	}
	if len(plan.Users.Steps) != 1 {
		return nil, errors.New("users: there must be one step")
	}
	where, err := url.Parse(plan.Document)
	if err != nil {
		return nil, err
	}
	port := where.Port()
	if port == "" {
		port = "443"
	}
	pem, err := os.ReadFile(plan.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s", plan.CA)
	}
	made := &crowd{
		plan:   plan,
		server: net.JoinHostPort(plan.Resolver, port), // the site is where its name server is
		tls:    &tls.Config{RootCAs: roots, ServerName: where.Hostname(), NextProtos: []string{"h2"}},
		until:  time.Now().Add(plan.Users.Length()),
	}
	if err := made.prepare(); err != nil {
		return nil, err
	}
	made.lines, err = os.OpenFile(plan.Lines, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return made, err
}

// prepare puts together what each connection sends.
func (c *crowd) prepare() error {
	var out, block bytes.Buffer
	framer, encoder := http2.NewFramer(&out, nil), hpack.NewEncoder(&block)
	out.WriteString(http2.ClientPreface)
	err := errors.Join(
		framer.WriteSettings(
			http2.Setting{ID: http2.SettingEnablePush, Val: 0},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
		),
		framer.WriteWindowUpdate(0, connectionWindow),
	)
	c.opening = taken(&out)
	urls := []string{c.plan.Document}
	for _, object := range c.plan.Objects {
		urls = append(urls, object.URL)
	}
	for number, text := range urls {
		where, wrong := url.Parse(text)
		if wrong != nil {
			return wrong
		}
		fields := append([][2]string{
			{":method", "GET"}, {":authority", where.Host}, {":scheme", "https"}, {":path", where.RequestURI()},
		}, headers...)
		for _, field := range fields {
			err = errors.Join(err, encoder.WriteField(hpack.HeaderField{
				Name: field[0], Value: field[1], Sensitive: field[0] == ":path",
			}))
		}
		err = errors.Join(err, framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*number + 1), BlockFragment: taken(&block), EndStream: true, EndHeaders: true,
		}))
		c.requests = append(c.requests, taken(&out))
	}
	err = errors.Join(err, framer.WriteSettingsAck())
	c.accepted = taken(&out)
	return err
}

// taken is a copy of what a buffer holds, which is empty afterwards.
func taken(buffer *bytes.Buffer) []byte {
	made := bytes.Clone(buffer.Bytes())
	buffer.Reset()
	return made
}

// stay has a user load the page and think, with the connection open, as long as the crowd is there.
func (c *crowd) stay(number int) {
	source := &net.TCPAddr{IP: c.plan.Addresses[number%len(c.plan.Addresses)].AsSlice()}
	dialer := net.Dialer{LocalAddr: source, KeepAlive: -1}
	buffer := make([]byte, 16<<10)
	for time.Now().Before(c.until) {
		began, pause, took := time.Now(), c.plan.Think(), "null"
		plain, err := dialer.Dial("tcp4", c.server)
		if err == nil {
			err = c.load(plain, buffer)
		}
		if err == nil {
			took = fmt.Sprintf("%.3f", time.Since(began).Seconds()*1e3)
		} else {
			log.Printf("user %d: %v", number, err)
			pause = max(pause, leastPause)
		}
		if _, err := fmt.Fprintf(c.lines, "{\"ms\": %s}\n", took); err != nil {
			log.Fatal(err)
		}
		time.Sleep(min(pause, time.Until(c.until)))
		if plain != nil {
			_ = plain.Close()
		}
	}
}

// load loads the page over a connection.
func (c *crowd) load(plain net.Conn, buffer []byte) error {
	if err := plain.SetDeadline(time.Now().Add(c.plan.Timeout())); err != nil {
		return err
	}
	conn := tls.Client(plain, c.tls)
	if err := send(conn, c.opening, c.requests[0]); err != nil {
		return err
	}
	var came frames
	for came.ended < len(c.requests) {
		count, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		before := came
		if err := came.count(buffer[:count]); err != nil {
			return err
		}
		if came.settings > before.settings {
			err = send(conn, c.accepted)
		}
		if before.ended == 0 && came.ended > 0 {
			err = errors.Join(err, send(conn, c.requests[1:]...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send writes each by itself, as users do; the first one makes the handshake.
func send(conn net.Conn, parts ...[]byte) error {
	for _, part := range parts {
		if _, err := conn.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// frames counts those that come, and looks at nothing but their heads.
type frames struct {
	head            [9]byte
	known, rest     int // bytes of the head that have come, and of what follows it that have not
	settings, ended int
}

func (f *frames) count(part []byte) error {
	for len(part) > 0 {
		passed := min(f.rest, len(part))
		part, f.rest = part[passed:], f.rest-passed
		copied := copy(f.head[f.known:], part)
		part, f.known = part[copied:], f.known+copied
		if f.known < len(f.head) {
			continue
		}
		f.known, f.rest = 0, int(f.head[0])<<16|int(f.head[1])<<8|int(f.head[2])
		switch kind, flags := http2.FrameType(f.head[3]), http2.Flags(f.head[4]); kind {
		case http2.FrameData, http2.FrameHeaders:
			if flags.Has(http2.FlagDataEndStream) {
				f.ended++
			}
		case http2.FrameSettings:
			if !flags.Has(http2.FlagSettingsAck) {
				f.settings++
			}
		case http2.FrameRSTStream, http2.FrameGoAway:
			return fmt.Errorf("the server sent %s", kind)
		}
	}
	return nil
}
