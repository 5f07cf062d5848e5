package page

import (
	"bufio"
	"net"
	"net/http"
	"slices"
	"sync"
)

// sequential is an origin by HTTP/1.1: several connections, a request at a time on each. As in Chromium, a request
// takes an idle connection; else one is opened for it, up to a number, and it takes the first that is ready.
type sequential struct {
	visit  *visit
	target target

	mutex      sync.Mutex
	queue      []int
	idle       []*connection
	connecting int
	open       int
}

// A connection is read by its own goroutine, also while it is idle: a server that closes it is heard at once.
type connection struct {
	net.Conn
	reader   *bufio.Reader
	asked    int // the item under way, or none; the origin's mutex guards it
	answered int // how many answers came
	err      error
}

const none = -1

func (s *sequential) ask(number int) {
	s.mutex.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		conn := s.idle[last]
		s.idle = s.idle[:last]
		conn.asked = number
		s.mutex.Unlock()
		s.send(conn, number)
		return
	}
	s.queue = append(s.queue, number)
	s.openAsNeeded()
	s.mutex.Unlock()
}

// openAsNeeded opens connections for what waits, as far as there may be more. The mutex is held.
func (s *sequential) openAsNeeded() {
	for s.connecting < len(s.queue) && s.connecting+s.open < s.visit.plan.ConnectionsPerHost {
		s.connecting++
		go s.serve()
	}
}

// serve is the life of a connection.
func (s *sequential) serve() {
	opened, err := s.connect()
	s.mutex.Lock()
	s.connecting--
	if err != nil {
		number := s.next()
		s.openAsNeeded()
		s.mutex.Unlock()
		if number != none {
			s.visit.answered(number, err)
		}
		return
	}
	s.open++
	conn := &connection{Conn: opened, reader: bufio.NewReader(opened)}
	s.occupy(conn)
	number := conn.asked
	s.mutex.Unlock()
	for s.send(conn, number); ; s.send(conn, number) {
		if _, err := conn.reader.Peek(1); err != nil {
			s.lost(conn, err)
			return
		}
		s.mutex.Lock()
		number = conn.asked
		s.mutex.Unlock()
		if number == none { // an answer that nobody asked for, such as 408 before the server closes
			s.lost(conn, nil)
			return
		}
		keep, err := s.receive(conn, number)
		conn.answered++
		keep = keep && err == nil && s.visit.plan.protocol.keepAlive
		if !keep {
			_ = conn.Close()
		}
		answered := number
		s.mutex.Lock()
		if keep {
			s.occupy(conn)
			number = conn.asked
		} else {
			s.gone()
			s.openAsNeeded()
		}
		s.mutex.Unlock()
		s.visit.answered(answered, err)
		if !keep {
			return
		}
	}
}

func (s *sequential) connect() (net.Conn, error) {
	if s.visit.plan.protocol.scheme == "https" {
		return s.visit.connect(s.target, "http/1.1")
	}
	return s.visit.connect(s.target)
}

// occupy gives a connection its next request, or has it wait for one. The mutex is held.
func (s *sequential) occupy(conn *connection) {
	conn.asked = s.next()
	if conn.asked == none {
		s.idle = append(s.idle, conn)
	}
}

// gone counts a connection that has ended. The mutex is held.
func (s *sequential) gone() {
	s.open--
	s.visit.disconnected()
}

func (s *sequential) next() int {
	if len(s.queue) == 0 {
		return none
	}
	number := s.queue[0]
	s.queue = s.queue[1:]
	return number
}

// send writes a request; the reader meets the failure of a write, too, as the connection is closed then.
func (s *sequential) send(conn *connection, number int) {
	if number == none {
		return
	}
	if _, err := conn.Write(s.visit.plan.items[number].wire); err != nil {
		s.mutex.Lock()
		conn.err = err
		s.mutex.Unlock()
		_ = conn.Close()
	}
}

// receive reads an answer; whether the connection may be used again.
func (s *sequential) receive(conn *connection, number int) (bool, error) {
	each := &s.visit.plan.items[number]
	for {
		response, err := http.ReadResponse(conn.reader, each.request)
		if err != nil {
			return false, err
		}
		if informational := response.StatusCode / 100; informational == 1 {
			continue
		}
		return !response.Close, each.take(response, "http/1.1")
	}
}

// lost takes leave of a connection that ended. What was asked on a used one, and not answered, is asked again: the
// server may have closed it before the request came.
func (s *sequential) lost(conn *connection, err error) {
	_ = conn.Close()
	s.mutex.Lock()
	number := conn.asked
	if conn.err != nil {
		err = conn.err
	}
	s.gone()
	s.idle = slices.DeleteFunc(s.idle, func(each *connection) bool { return each == conn })
	again := number != none && conn.answered > 0 && !s.visit.isOver()
	if again {
		s.queue = slices.Insert(s.queue, 0, number)
	}
	s.openAsNeeded()
	s.mutex.Unlock()
	if number != none && !again {
		s.visit.answered(number, err)
	}
}
