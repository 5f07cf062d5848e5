package page

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A peer is the server's end of a connection, which says what a test wants it to.
type peer struct {
	*http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

// head sends the headers of an answer in parts of so many bytes.
func (p *peer) head(id uint32, ends bool, part int, fields ...string) {
	p.block.Reset()
	for ; len(fields) > 0; fields = fields[2:] {
		_ = p.encoder.WriteField(hpack.HeaderField{Name: fields[0], Value: fields[1]})
	}
	first := p.block.Next(part)
	_ = p.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: first, EndStream: ends, EndHeaders: p.block.Len() == 0,
	})
	for p.block.Len() > 0 {
		next := p.block.Next(part)
		_ = p.WriteContinuation(id, p.block.Len() == 0, next)
	}
}

// answer sends a usual one.
func (p *peer) answer(id uint32) {
	p.head(id, false, longestFrame, ":status", "200", "content-length", "1700")
	_ = p.WriteData(id, true, make([]byte, 1700))
}

// talking is a site whose connections begin as a test says, and hand each frame to it; they end when it says so.
func talking(t *testing.T, begin func(*peer), heard func(*peer, http2.Frame) bool) *site {
	t.Helper()
	certificates := httptest.NewTLSServer(http.NotFoundHandler())
	certificates.Close()
	config := &tls.Config{Certificates: certificates.TLS.Certificates, NextProtos: []string{"h2"}}
	listener, err := tls.Listen("tcp4", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go talk(conn, begin, heard)
		}
	}()
	return &site{url: "https://" + listener.Addr().String(), ca: authority(t, certificates.Certificate().Raw)}
}

func talk(conn net.Conn, begin func(*peer), heard func(*peer, http2.Frame) bool) {
	defer func() { _ = conn.Close() }()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	made := &peer{Framer: http2.NewFramer(conn, conn)}
	made.encoder = hpack.NewEncoder(&made.block)
	made.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	begin(made)
	for {
		frame, err := made.ReadFrame()
		if err != nil || !heard(made, frame) {
			return
		}
	}
}

func settings(told ...http2.Setting) func(*peer) {
	return func(p *peer) { _ = p.WriteSettings(told...) }
}

func TestWhatAServerMaySayBesideAnAnswerIsUnderstood(t *testing.T) {
	var mutex sync.Mutex
	pongs, windows := 0, 0
	served := talking(t, settings(), func(p *peer, frame http2.Frame) bool {
		mutex.Lock()
		defer mutex.Unlock()
		switch frame := frame.(type) {
		case *http2.PingFrame:
			if frame.IsAck() && frame.Data == [8]byte{7} {
				pongs++
			}
		case *http2.WindowUpdateFrame:
			windows++
		case *http2.MetaHeadersFrame:
			id := frame.StreamID
			p.head(id, false, longestFrame, ":status", "103", "link", "</style>; rel=preload")
			p.head(id, false, 3, ":status", "200", "content-length", "1700", "x-long", strings.Repeat("x", 100))
			_ = p.WriteDataPadded(id, false, make([]byte, 1000), make([]byte, 200))
			_ = p.WritePing(false, [8]byte{7})
			_ = p.WriteRawFrame(0xbe, 0, id, []byte("unknown"))
			_ = p.WriteWindowUpdate(id, 1000)
			_ = p.WriteDataPadded(id, false, make([]byte, 700), nil)
			p.head(id, true, longestFrame, "x-trailer", "1")
		}
		return true
	})
	came := load(t, planFor(t, served, "h2", nil), 0)
	if came.Error != "" || came.Failed != 0 || came.Requests != 1+objects || came.Connections != 1 {
		t.Errorf("%+v", came.Result)
	}
	eventually(t, "answers to all pings", func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		return pongs == 1+objects
	})
	mutex.Lock()
	defer mutex.Unlock()
	if windows != 1 { // that of the beginning
		t.Errorf("windows were opened %d times for a page of %d bytes", windows, came.Bytes)
	}
}

func TestAnswersByHTTP2ThatAreNoneFailByKind(t *testing.T) {
	for name, each := range map[string]struct {
		wanted string
		answer func(p *peer, id uint32) bool
	}{
		"reset":      {wasReset, func(p *peer, id uint32) bool { return p.WriteRSTStream(id, http2.ErrCodeRefusedStream) == nil }},
		"cut":        {wasClosed, func(*peer, uint32) bool { return false }},
		"short":      {wasClosed, func(p *peer, id uint32) bool { return body(p, id, "1701") }},
		"long":       {badProtocol, func(p *peer, id uint32) bool { return body(p, id, "1699") }},
		"no status":  {badProtocol, func(p *peer, id uint32) bool { p.head(id, true, longestFrame, "x-header", "1"); return true }},
		"no headers": {badProtocol, func(p *peer, id uint32) bool { return p.WriteData(id, true, []byte("body")) == nil }},
		"status":     {badStatus, func(p *peer, id uint32) bool { p.head(id, true, longestFrame, ":status", "404"); return true }},
		"push": {badProtocol, func(p *peer, id uint32) bool {
			return p.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, EndHeaders: true}) == nil
		}},
		"no HPACK": {badProtocol, func(p *peer, id uint32) bool {
			return p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0xff, 0xff}, EndHeaders: true}) == nil
		}},
		"too large": {badProtocol, func(p *peer, id uint32) bool {
			return p.WriteData(id, true, make([]byte, longestFrame+1)) == nil
		}},
		"wide padding": {badProtocol, func(p *peer, id uint32) bool {
			return p.WriteRawFrame(http2.FrameData, http2.FlagDataPadded|http2.FlagDataEndStream, id, []byte{2, 0}) == nil
		}},
		"wide padding of headers": {badProtocol, func(p *peer, id uint32) bool {
			return p.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersPadded|http2.FlagHeadersEndHeaders, id, []byte{2, 0x88}) == nil
		}},
		"long header": {badProtocol, func(p *peer, id uint32) bool {
			p.head(id, true, longestFrame, ":status", "200", "x-long", strings.Repeat("x", 2*mostHeaders))
			return true
		}},
		"no stream": {badProtocol, func(p *peer, _ uint32) bool {
			return p.WriteRawFrame(http2.FrameData, 0, 0, []byte("body")) == nil
		}},
		"no window": {badProtocol, func(p *peer, id uint32) bool {
			return p.WriteRawFrame(http2.FrameWindowUpdate, 0, id, make([]byte, 4)) == nil
		}},
		"goes at once": {wasClosed, func(p *peer, _ uint32) bool {
			return p.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("busy")) == nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			served := talking(t, settings(), func(p *peer, frame http2.Frame) bool {
				asked, ok := frame.(*http2.MetaHeadersFrame)
				return !ok || each.answer(p, asked.StreamID)
			})
			came := load(t, planFor(t, served, "h2", nil), 0)
			if came.Error != each.wanted || came.Took != 0 || came.Failed != 1 || came.Requests != 1 {
				t.Errorf("%+v", came.Result)
			}
		})
	}
}

// body is an answer of 1700 bytes that tells another length.
func body(p *peer, id uint32, told string) bool {
	p.head(id, false, longestFrame, ":status", "200", "content-length", told)
	return p.WriteData(id, true, make([]byte, 1700)) == nil
}

func TestAServerThatDoesNotBeginWithSettingsSpeaksNoHTTP2(t *testing.T) {
	served := talking(t, func(p *peer) { _ = p.WritePing(false, [8]byte{}) }, func(*peer, http2.Frame) bool { return true })
	if came := load(t, planFor(t, served, "h2", nil), 0); came.Error != badProtocol {
		t.Errorf("%+v", came.Result)
	}
}

func TestAnswersThatHaveNoBodyMayTellTheLengthOfOne(t *testing.T) {
	served := talking(t, settings(), func(p *peer, frame http2.Frame) bool {
		if asked, ok := frame.(*http2.MetaHeadersFrame); ok {
			status := map[string]string{"HEAD": "200", "GET": "304"}[asked.PseudoValue("method")]
			p.head(asked.StreamID, true, longestFrame, ":status", status, "content-length", "1700")
		}
		return true
	})
	plan := planFor(t, served, "h2", func(plan map[string]any) {
		plan["objects"] = []map[string]any{{"url": served.url + "/icon", "method": "HEAD"}}
	})
	if came := load(t, plan, 0); came.Error != "" || came.Requests != 2 {
		t.Errorf("%+v", came.Result)
	}
}

func TestNoMoreRequestsAreUnderWayThanTheServerTakes(t *testing.T) {
	const most = 3
	var mutex sync.Mutex
	var waiting []uint32
	atOnce, answered := 0, 0
	limit := http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: most}
	served := talking(t, settings(limit), func(p *peer, frame http2.Frame) bool {
		asked, ok := frame.(*http2.MetaHeadersFrame)
		if !ok {
			return true
		}
		mutex.Lock()
		defer mutex.Unlock()
		waiting = append(waiting, asked.StreamID)
		atOnce = max(atOnce, len(waiting))
		// The document is answered alone; then as many as there may be, or the last ones, are there before any is answered.
		if left := 1 + objects - answered; answered == 0 || len(waiting) == min(most, left) {
			for _, id := range slices.Backward(waiting) {
				p.answer(id)
			}
			answered += len(waiting)
			waiting = nil
		}
		return true
	})
	came := load(t, planFor(t, served, "h2", nil), 0)
	mutex.Lock()
	defer mutex.Unlock()
	if came.Error != "" || came.Requests != 1+objects || came.Connections != 1 || atOnce != most {
		t.Errorf("%+v, %d requests at once", came.Result, atOnce)
	}
}

func TestWhatALeavingServerHasNotLookedAtIsAskedAgain(t *testing.T) {
	var mutex sync.Mutex
	asked := map[string]int{}
	served := talking(t, settings(), func(p *peer, frame http2.Frame) bool {
		request, ok := frame.(*http2.MetaHeadersFrame)
		if !ok {
			return true
		}
		mutex.Lock()
		defer mutex.Unlock()
		path := request.PseudoValue("path")
		asked[path]++
		switch {
		case path == "/first" && asked[path] == 1:
			_ = p.WriteGoAway(request.StreamID-2, http2.ErrCodeNo, nil) // it looked at the document alone
		case asked["/first"] != 1 || path == "/":
			p.answer(request.StreamID)
		}
		return true
	})
	plan := planFor(t, served, "h2", func(plan map[string]any) {
		plan["objects"] = []map[string]any{{"url": served.url + "/first"}, {"url": served.url + "/second"}}
	})
	came := load(t, plan, 0)
	if came.Error != "" || came.Requests != 3 || came.Connections != 2 || came.AtOnce != 1 {
		t.Errorf("%+v", came.Result)
	}
}

// leavingOnce answers the document, and once another request is there does something with it; then it answers all.
func leavingOnce(t *testing.T, leave func(p *peer, id uint32) bool) *site {
	var mutex sync.Mutex
	left := false
	return talking(t, settings(), func(p *peer, frame http2.Frame) bool {
		asked, ok := frame.(*http2.MetaHeadersFrame)
		if !ok {
			return true
		}
		mutex.Lock()
		defer mutex.Unlock()
		if !left && asked.PseudoValue("path") != "/" {
			left = true
			return leave(p, asked.StreamID)
		}
		p.answer(asked.StreamID)
		return true
	})
}

func TestWhatAServerHadNoAnswerForAsItEndedTheConnectionIsAskedAgain(t *testing.T) {
	for name, leave := range map[string]func(*peer, uint32) bool{
		"closes": func(*peer, uint32) bool { return false },
		"takes leave and closes": func(p *peer, _ uint32) bool { // as Apache does
			_ = p.WriteGoAway(1<<31-1, http2.ErrCodeNo, nil)
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			came := load(t, planFor(t, leavingOnce(t, leave), "h2", nil), 0)
			if came.Error != "" || came.Requests != 1+objects || came.Failed != 0 || came.Connections != 2 || came.AtOnce != 1 {
				t.Errorf("%+v", came.Result)
			}
		})
	}
}

func TestAnAnswerThatIsCutOffIsNotAskedForAgain(t *testing.T) {
	served := leavingOnce(t, func(p *peer, id uint32) bool {
		p.head(id, false, longestFrame, ":status", "200", "content-length", "1700")
		return false
	})
	came := load(t, planFor(t, served, "h2", func(plan map[string]any) {
		plan["objects"] = []map[string]any{{"url": served.url + "/cut"}}
	}), 0)
	if came.Error != wasClosed || came.Failed != 1 || came.Connections != 1 {
		t.Errorf("%+v", came.Result)
	}
}

func TestWhatIsNeverAnsweredIsAskedThreeTimes(t *testing.T) {
	for name, each := range map[string]struct {
		wanted      string
		connections int
		answer      func(p *peer, id uint32) bool
	}{
		"closes":  {wasClosed, 3, func(*peer, uint32) bool { return false }},
		"refuses": {wasReset, 1, func(p *peer, id uint32) bool { return p.WriteRSTStream(id, http2.ErrCodeRefusedStream) == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			var mutex sync.Mutex
			asked := 0
			served := talking(t, settings(), func(p *peer, frame http2.Frame) bool {
				request, ok := frame.(*http2.MetaHeadersFrame)
				if !ok {
					return true
				}
				mutex.Lock()
				asked++
				mutex.Unlock()
				return each.answer(p, request.StreamID)
			})
			came := load(t, planFor(t, served, "h2", nil), 0)
			mutex.Lock()
			defer mutex.Unlock()
			if came.Error != each.wanted || came.Failed != 1 || came.Connections != each.connections || asked != 3 {
				t.Errorf("%+v, asked %d times", came.Result, asked)
			}
		})
	}
}

func TestAStreamThatTheServerRefusesIsAskedAgain(t *testing.T) {
	var mutex sync.Mutex
	asked := map[string]int{}
	served := talking(t, settings(), func(p *peer, frame http2.Frame) bool {
		request, ok := frame.(*http2.MetaHeadersFrame)
		if !ok {
			return true
		}
		mutex.Lock()
		defer mutex.Unlock()
		path := request.PseudoValue("path")
		asked[path]++
		if asked[path] == 1 {
			return p.WriteRSTStream(request.StreamID, http2.ErrCodeRefusedStream) == nil
		}
		p.answer(request.StreamID)
		return true
	})
	came := load(t, planFor(t, served, "h2", nil), 0)
	if came.Error != "" || came.Requests != 1+objects || came.Connections != 1 {
		t.Errorf("%+v", came.Result)
	}
}

func TestWindowsAreOpenedAgain(t *testing.T) {
	const size = connectionWindow + streamWindow
	served := serve(t, "h2", func(server *httptest.Server) {
		server.Config.Handler = http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
			_, _ = writer.Write(make([]byte, size))
		})
	})
	plan := planFor(t, served, "h2", func(plan map[string]any) { plan["objects"] = nil })
	if came := load(t, plan, 0); came.Error != "" || came.Bytes < size {
		t.Errorf("%+v", came.Result)
	}
}

func TestRequestsByHTTP2SayWhatThoseOfTheBrowserDo(t *testing.T) {
	seen := make(chan *http.Request, 2)
	served := serve(t, "h2", func(server *httptest.Server) {
		server.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) { seen <- request })
	})
	long := strings.Repeat("a-long-value.", 2000) // of several frames
	plan := planFor(t, served, "h2", func(plan map[string]any) {
		plan["document"] = served.url + "/a?b=c"
		plan["headers"] = map[string]string{"user-agent": "ours", "x-long": long, "connection": "close"}
		plan["objects"] = []map[string]any{{"url": served.url + "/report", "method": "POST"}}
	})
	if came := load(t, plan, 0); came.Error != "" {
		t.Fatalf("%+v", came.Result)
	}
	document, report := <-seen, <-seen
	if document.RequestURI != "/a?b=c" || "https://"+document.Host != served.url || document.Method != "GET" {
		t.Errorf("%s https://%s%s", document.Method, document.Host, document.RequestURI)
	}
	if sent := document.Header; sent.Get("User-Agent") != "ours" || sent.Get("X-Long") != long || len(sent) != 2 {
		t.Errorf("%d headers, %d bytes of the long one", len(sent), len(sent.Get("X-Long")))
	}
	if report.Method != "POST" || report.ContentLength != 0 || report.Header.Get("Sec-Fetch-Dest") != "empty" {
		t.Errorf("%+v", report)
	}
}

func TestAServerThatStopsReadingHoldsNobodyLongerThanThePageMayTake(t *testing.T) {
	over := make(chan struct{})
	served := talking(t, settings(), func(p *peer, frame http2.Frame) bool {
		asked, ok := frame.(*http2.MetaHeadersFrame)
		if !ok {
			return true
		}
		p.answer(asked.StreamID)
		<-over
		return false
	})
	plan := planFor(t, served, "h2", func(plan map[string]any) {
		plan["timeout_ms"] = 500
		plan["headers"] = map[string]string{"x-long": strings.Repeat("a-long-value.", 20_000)} // 13 MB in all
	})
	before := runtime.NumGoroutine()
	came := load(t, plan, 0)
	if came.Error != timedOut || came.Failed == 0 {
		t.Errorf("%+v", came.Result)
	}
	close(over)
	eventually(t, "the end of all that the page began", func() bool { return runtime.NumGoroutine() <= before })
}

func TestNothingOfAPageGoesOnOnceItsConnectionsAreClosed(t *testing.T) {
	served := talking(t, settings(), func(p *peer, frame http2.Frame) bool {
		if asked, ok := frame.(*http2.MetaHeadersFrame); ok {
			p.answer(asked.StreamID)
		}
		return true
	})
	plan := planFor(t, served, "h2", nil)
	before := runtime.NumGoroutine()
	came := load(t, plan, 0)
	if came.Error != "" || runtime.NumGoroutine() <= before {
		t.Errorf("%+v, %d goroutines of %d", came.Result, runtime.NumGoroutine(), before)
	}
	came.Close()
	eventually(t, "the end of all that the page began", func() bool { return runtime.NumGoroutine() <= before })
}
