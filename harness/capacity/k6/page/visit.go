package page

import (
	"context"
	"crypto/tls"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Result is what came of a page. Ended is how long that took; Took is the same of a page that was loaded, and 0 when it
// failed. Broke then is when its first request did, and Error by what kind of failure, Why in words. AtOnce is the most
// connections that took requests at a time.
type Result struct {
	Took, Document time.Duration
	Ended, Broke   time.Duration
	Requests       int
	Failed         int
	Error, Why     string
	Connections    int
	AtOnce         int
	Bytes          int64
	Protocol, TLS  string
}

// A Visit is a page that was loaded, or failed, with its connections: a browser keeps them open until they are closed.
type Visit struct {
	Result
	open *visit
}

// Close ends the connections.
func (v *Visit) Close() { v.open.end() }

// Load loads the page of the plan as a user. The error is that of the context when that ended before the page did.
func (p *Plan) Load(ctx context.Context, user int) (*Visit, error) {
	v := &visit{
		plan:     p,
		source:   p.Addresses[user%len(p.Addresses)],
		names:    map[string]*answer{},
		origins:  map[target]origin{},
		waitsFor: make([]int, len(p.items)),
		sessions: tls.NewLRUClientSessionCache(0),
		finished: make(chan struct{}),
		started:  time.Now(),
	}
	v.ctx, v.cancel = context.WithCancel(ctx)
	for number, each := range p.items {
		v.waitsFor[number] = each.waitsFor
	}
	limit := time.NewTimer(p.Timeout())
	defer limit.Stop()
	v.underWay = 1
	v.begin([]int{0})
	select {
	case <-v.finished:
	case <-limit.C:
		v.giveUp()
		defer v.end() // what came of it is told before
	case <-ctx.Done():
		v.end()
		return nil, ctx.Err()
	}
	return &Visit{v.result(), v}, nil
}

// A visit is one page of one user under way.
type visit struct {
	plan     *Plan
	source   netip.Addr
	ctx      context.Context // ends with the connections
	cancel   context.CancelFunc
	sessions tls.ClientSessionCache
	bytes    atomic.Int64
	numbers  atomic.Uint32
	started  time.Time
	finished chan struct{}

	mutex     sync.Mutex
	names     map[string]*answer
	origins   map[target]origin
	conns     []io.Closer
	closed    bool  // there are no connections any more
	over      bool  // the page has come, or failed
	waitsFor  []int // for each item how many others
	underWay  int
	document  time.Duration
	took      time.Duration // until it was over
	requests  int
	failures  int
	first     error
	broke     time.Duration // until the first failure
	opened    int
	open      int // of these, those that take requests
	atOnce    int
	wire, tls string
}

// An origin carries out requests to one host and port, over connections of its own.
type origin interface {
	// ask returns at once; the visit's answered is called for each request, once.
	ask(number int)
}

// begin asks for items, which are counted as under way.
func (v *visit) begin(numbers []int) {
	v.mutex.Lock()
	asked := make([]origin, 0, len(numbers))
	for _, number := range numbers {
		to := v.plan.items[number].target
		if v.origins[to] == nil {
			v.origins[to] = v.newOrigin(to)
		}
		asked = append(asked, v.origins[to])
	}
	v.requests += len(numbers)
	v.mutex.Unlock()
	for index, number := range numbers {
		asked[index].ask(number)
	}
}

func (v *visit) newOrigin(to target) origin {
	switch v.plan.protocol.wire {
	case "h2":
		return &streamed{visit: v, target: to, again: map[int]int{}}
	case "h3":
		return &multiplexed{visit: v, dial: func() (session, error) { return v.dial3(to) }}
	}
	return &sequential{visit: v, target: to}
}

// answered takes what became of an item, and asks for those that waited for nothing else. What waited for an item
// that failed is not asked for.
func (v *visit) answered(number int, err error) {
	now := time.Since(v.started)
	v.mutex.Lock()
	if v.over {
		v.mutex.Unlock()
		return
	}
	v.underWay--
	var next []int
	if err != nil {
		v.failures++
		v.broken(err, now)
	} else {
		if number == 0 {
			v.document = now
		}
		for _, follower := range v.plan.items[number].followers {
			if v.waitsFor[follower]--; v.waitsFor[follower] == 0 {
				next = append(next, follower)
			}
		}
	}
	v.underWay += len(next) // under the same lock: what else comes now does not end the page
	if v.underWay == 0 {
		v.over, v.took = true, now
		close(v.finished)
	}
	v.mutex.Unlock()
	if len(next) > 0 {
		v.begin(next)
	}
}

// giveUp is what a user does whose page does not come.
func (v *visit) giveUp() {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.over {
		return
	}
	v.over, v.took = true, time.Since(v.started)
	v.failures += v.underWay
	v.broken(failed(timedOut, "%d requests were unanswered after %s", v.underWay, v.plan.Timeout()), v.took)
}

// broken notes the first failure, with the mutex held.
func (v *visit) broken(err error, at time.Duration) {
	if v.first == nil {
		v.first, v.broke = err, at
	}
}

// isOver says whether nothing is asked for any more.
func (v *visit) isOver() bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.over
}

// keep has a connection closed with the visit; false when the visit has ended before.
func (v *visit) keep(conn io.Closer) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.closed {
		_ = conn.Close()
		return false
	}
	v.conns = append(v.conns, conn)
	return true
}

// connected notes a connection that is ready for requests, and what it speaks.
func (v *visit) connected(wire, tls string) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.opened++
	v.open++
	v.atOnce = max(v.atOnce, v.open)
	if v.wire == "" || wire != v.plan.protocol.wire {
		v.wire, v.tls = wire, tls
	}
}

// disconnected notes that a connection takes no requests any more.
func (v *visit) disconnected() {
	v.mutex.Lock()
	v.open--
	v.mutex.Unlock()
}

func (v *visit) end() {
	v.mutex.Lock()
	conns := v.conns
	v.conns, v.closed, v.over = nil, true, true
	v.mutex.Unlock()
	for _, each := range conns {
		_ = each.Close()
	}
	v.cancel()
}

func (v *visit) result() Result {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	made := Result{
		Took: v.took, Ended: v.took, Broke: v.broke, Document: v.document, Requests: v.requests, Failed: v.failures,
		Connections: v.opened, AtOnce: v.atOnce, Bytes: v.received(), Protocol: v.wire, TLS: v.tls,
	}
	if v.first != nil {
		made.Took, made.Error, made.Why = 0, kindOf(v.first), v.first.Error()
	}
	return made
}

// received is what came over all connections so far.
func (v *visit) received() int64 {
	total := v.bytes.Load()
	for _, each := range v.conns {
		if counting, ok := each.(interface{ received() int64 }); ok {
			total += counting.received()
		}
	}
	return total
}
