// Package crowd gives scripts of k6 users who load pages: the module k6/x/page with plan and visit.
package crowd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/js/modules"
	"golang.org/x/sys/unix"

	"coldload/k6/page"
)

const (
	leastPause = 100 * time.Millisecond // after a page that failed, so that nobody fails without end in no time
	overtime   = 10 * time.Second       // after which a crowd that should have gone is ended
	mostWhys   = 20                     // of the failures told in words
)

func init() { modules.Register("k6/x/page", &crowd{}) }

// A crowd is what all users have in common.
type crowd struct {
	once  sync.Once
	err   error
	plan  *page.Plan
	lines *os.File

	begin  sync.Once
	until  time.Time
	active atomic.Int64
	whys   atomic.Int64
}

// A user is a virtual user of k6 with its own JavaScript.
type user struct {
	crowd *crowd
	vu    modules.VU
	came  bool
}

// A line is that of one page.
type line struct {
	At          float64  `json:"t_s"`
	User        int      `json:"user"`
	Users       int64    `json:"users"`
	Ms          *float64 `json:"ms"`
	DocumentMs  *float64 `json:"document_ms"`
	EndedMs     *float64 `json:"ended_ms"`
	BrokeMs     *float64 `json:"broke_ms"`
	Requests    int      `json:"requests"`
	Failed      int      `json:"failed"`
	Error       *string  `json:"error"`
	Connections int      `json:"connections"`
	AtOnce      int      `json:"connections_at_once"`
	Bytes       int64    `json:"bytes"`
	Protocol    *string  `json:"protocol"`
	TLS         *string  `json:"tls"`
}

func (c *crowd) NewModuleInstance(vu modules.VU) modules.Instance { return &user{crowd: c, vu: vu} }

func (u *user) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{"plan": u.Plan, "visit": u.Visit}}
}

// Plan reads the plan, once for all users, and tells the script what it needs of it.
func (u *user) Plan(file string) (map[string]any, error) {
	u.crowd.once.Do(func() { u.crowd.err = u.crowd.read(file) })
	if u.crowd.err != nil {
		return nil, u.crowd.err
	}
	plan := u.crowd.plan
	return map[string]any{
		"from": plan.Users.From, "to": plan.Users.To, "over_s": plan.Users.OverS,
		"steps": plan.Users.Steps, "step_s": plan.Users.StepS, "timeout_s": plan.Timeout().Seconds(),
	}, nil
}

func (c *crowd) read(file string) error {
	plan, err := page.Read(file)
	if err != nil {
		return err
	}
	c.plan = plan
	c.lines, err = os.OpenFile(plan.Lines, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return err
}

// Visit loads the page, writes its line, and thinks, with the page's connections open all the while.
func (u *user) Visit() error {
	c, ctx, number := u.crowd, u.vu.Context(), int(u.vu.State().VUID)-1
	c.begin.Do(c.began)
	c.active.Add(1)
	defer c.active.Add(-1)
	if !u.came {
		u.came = true
		c.pause(ctx, c.plan.FirstPause(number))
	}
	at, users := c.now(), c.active.Load()
	visit, err := c.plan.Load(ctx, number)
	if err != nil {
		return nil // the user has gone, and the page with them
	}
	defer visit.Close()
	if err := c.write(line{At: at, User: number, Users: users}, visit.Result); err != nil {
		return err
	}
	pause := c.plan.Think()
	if visit.Error != "" {
		pause = max(pause, leastPause)
	}
	c.pause(ctx, pause)
	return nil
}

// pause waits, but no longer than the user and the crowd are there.
func (c *crowd) pause(ctx context.Context, length time.Duration) {
	waited := time.NewTimer(min(length, time.Until(c.until)))
	defer waited.Stop()
	select {
	case <-waited.C:
	case <-ctx.Done():
	}
}

func (c *crowd) began() {
	length := c.plan.Users.Length()
	c.until = time.Now().Add(length)
	time.AfterFunc(length+c.plan.Timeout()+overtime, func() {
		fmt.Fprintln(os.Stderr, "the crowd did not go when its time was over")
		os.Exit(1)
	})
}

// now is the time since the plan's zero, which is one of the kernel's monotonic clock.
func (c *crowd) now() float64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		panic("there is no monotonic clock")
	}
	return float64(now.Nano()-c.plan.EpochNs) / 1e9
}

func (c *crowd) write(made line, came page.Result) error {
	made.Requests, made.Failed, made.Connections, made.Bytes = came.Requests, came.Failed, came.Connections, came.Bytes
	made.AtOnce = came.AtOnce
	made.DocumentMs, made.EndedMs, made.BrokeMs = milliseconds(came.Document), milliseconds(came.Ended), milliseconds(came.Broke)
	made.Error, made.Protocol, made.TLS = known(came.Error), known(came.Protocol), known(came.TLS)
	if came.Error == "" {
		made.Ms = milliseconds(came.Took)
	} else if c.whys.Add(1) <= mostWhys {
		fmt.Fprintf(os.Stderr, "user %d: %s: %s\n", made.User, came.Error, came.Why)
	}
	data, err := json.Marshal(made)
	if err != nil {
		return err
	}
	_, err = c.lines.Write(append(data, '\n'))
	return err
}

func milliseconds(value time.Duration) *float64 {
	if value == 0 {
		return nil
	}
	made := float64(value.Round(time.Microsecond)) / 1e6
	return &made
}

func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
