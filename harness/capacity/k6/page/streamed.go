package page

import (
	"errors"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/net/http2"
)

// streamed is an origin by HTTP/2: one connection that has all requests, and a new one only when the server takes no
// more of them there. One goroutine reads the connection, and whoever asks writes: a request has no goroutine of its own.
//
// As in Chromium, what has no answer yet is asked again when the server refuses it, or ends a connection over which it
// has said something: HttpNetworkTransaction::HandleIOError and ShouldResendRequest.
//
// A write waits while the server reads nothing. Requests have no bodies, so what a server allows at a time fits into the
// buffers of the kernel.
type streamed struct {
	visit  *visit
	target target

	mutex      sync.Mutex  // also that of its connections
	queue      []int       // the items that wait for a connection, or for a free stream
	again      map[int]int // how often items were asked again
	connecting bool
	current    *streamedConn // the one that takes requests; nil: none
}

func (s *streamed) ask(number int) {
	s.mutex.Lock()
	s.queue = append(s.queue, number)
	s.goOn()
	s.mutex.Unlock()
}

// goOn sends as much as the server takes at a time, or opens a connection for it. The mutex is held.
func (s *streamed) goOn() {
	if s.current == nil && len(s.queue) > 0 && !s.connecting {
		s.connecting = true
		go s.serve()
	}
	for s.current != nil && len(s.queue) > 0 && s.current.takesMore() {
		number := s.queue[0]
		s.queue = s.queue[1:]
		s.current.send(number)
	}
}

// serve is the life of a connection. All that wait for one that fails fail with it.
func (s *streamed) serve() {
	opened, err := s.visit.connect(s.target, "h2", "http/1.1")
	if err != nil {
		s.mutex.Lock()
		s.connecting = false
		waiting := s.queue
		s.queue = nil
		s.mutex.Unlock()
		s.fail(waiting, err)
		return
	}
	conn := newStreamedConn(s, opened)
	s.mutex.Lock()
	s.connecting, s.current = false, conn
	conn.greet()
	s.goOn()
	s.mutex.Unlock()
	s.lost(conn, conn.read())
}

// answered takes what became of a stream; another one may begin now.
func (s *streamed) answered(conn *streamedConn, id uint32, err error) {
	s.mutex.Lock()
	came := conn.end(id)
	again := isRefusal(err) && s.mayAskAgain(came)
	if again {
		s.queue = slices.Insert(s.queue, 0, came.item)
	}
	s.goOn()
	s.mutex.Unlock()
	if came.item == none || again {
		return // it had ended before, or has not ended yet
	}
	if err == nil {
		err = came.judge(&s.visit.plan.items[came.item])
	}
	s.visit.answered(came.item, err)
}

// left takes leave of a connection that gets no more requests. What the server has not looked at is asked again, unless
// it looked at nothing there.
func (s *streamed) left(conn *streamedConn, said *http2.GoAwayFrame) {
	reason := http2.GoAwayError{LastStreamID: said.LastStreamID, ErrCode: said.ErrCode, DebugData: string(said.DebugData())}
	s.mutex.Lock()
	conn.reason = reason
	unseen := items(conn.endAfter(said.LastStreamID))
	if said.LastStreamID > 0 {
		s.queue = append(unseen, s.queue...)
		unseen = nil
	}
	s.retire(conn)
	s.goOn()
	s.mutex.Unlock()
	s.fail(unseen, reason)
}

// lost takes leave of a connection that has ended. What was not answered has failed, or is asked again.
func (s *streamed) lost(conn *streamedConn, err error) {
	_ = conn.Close()
	s.mutex.Lock()
	if conn.reason != nil {
		err = conn.reason
	}
	resends := conn.heard && isEnd(err) && !s.visit.isOver()
	var again, over []stream
	for _, each := range conn.endAfter(0) {
		if resends && s.mayAskAgain(each) {
			again = append(again, each)
		} else {
			over = append(over, each)
		}
	}
	s.queue = append(items(again), s.queue...)
	s.retire(conn)
	s.goOn()
	s.mutex.Unlock()
	s.fail(items(over), err)
}

const mostAgain = 2 // kMaxRetryAttempts of Chromium

// mayAskAgain counts how often what has no answer yet is asked again. The mutex is held.
func (s *streamed) mayAskAgain(ended stream) bool {
	if ended.item == none || ended.status != 0 || s.again[ended.item] == mostAgain {
		return false
	}
	s.again[ended.item]++
	return true
}

func isRefusal(err error) bool {
	var reset http2.StreamError
	return errors.As(err, &reset) && reset.Code == http2.ErrCodeRefusedStream
}

// isEnd says whether the server ended a connection; else it said something wrong, or nothing for too long.
func isEnd(err error) bool {
	kind := kindOf(err)
	return kind == wasReset || kind == wasClosed
}

// retire has no more requests sent over a connection. The mutex is held.
func (s *streamed) retire(conn *streamedConn) {
	if s.current == conn {
		s.current = nil
		s.visit.disconnected()
	}
}

func (s *streamed) fail(numbers []int, err error) {
	for _, number := range numbers {
		s.visit.answered(number, err)
	}
}

// A stream is a request and what has come of its answer.
type stream struct {
	item   int // none: it has ended
	status int // 0: not known yet
	length int // of the body, as the answer tells it; -1: it does not
	came   int // bytes of the body
	taken  int // bytes since the window was opened last
}

func items(streams []stream) []int {
	var numbers []int
	for _, each := range streams {
		numbers = append(numbers, each.item)
	}
	return numbers
}

// judge says whether an answer that has ended is what the page is made of.
func (s stream) judge(asked *item) error {
	bodiless := asked.request.Method == http.MethodHead || s.status == http.StatusNotModified
	switch {
	case s.status == 0:
		return failed(badProtocol, "%s was answered without a status", asked.request.URL)
	case s.came < s.length && !bodiless:
		return failed(wasClosed, "%s brought %d bytes of %d", asked.request.URL, s.came, s.length)
	case s.came > s.length && s.length >= 0:
		return failed(badProtocol, "%s brought %d bytes instead of %d", asked.request.URL, s.came, s.length)
	}
	return asked.judge(s.status)
}
