package relay_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/testbench/relay"
)

var (
	sessionsFlag = flag.Int("relay.sessions", 2, "sessions of TestSessions on each kind of path")
	seedFlag     = flag.Uint64("relay.seed", 1, "seed of the first session")
)

// A path is a kind of path from a host to a board.
type path struct {
	name   string
	stream bool
	serial bool // one session after the other: there is one line only
	listen func(t *testing.T) serve.Listener
	relay  func(t *testing.T, board string, p relay.Plan) (*relay.Relay, error)
}

// paths are those that need no namespaces.
func paths() []path {
	return append([]path{
		{"tcp", true, false, listener("tcp:127.0.0.1:0"), func(_ *testing.T, b string, p relay.Plan) (*relay.Relay, error) { return relay.TCP(b, p) }},
		{"udp", false, false, listener("udp:127.0.0.1:0"), func(_ *testing.T, b string, p relay.Plan) (*relay.Relay, error) { return relay.UDP(b, p) }},
	}, systemPaths()...)
}

func listener(where string) func(t *testing.T) serve.Listener {
	return func(t *testing.T) serve.Listener {
		l, err := serve.Listen(where)
		require.NoError(t, err)
		return l
	}
}

// serveBoard serves a device until the test ends.
func serveBoard(t *testing.T, l serve.Listener, dev port.Device, faults fault.Config, opt serve.Options) *serve.Board {
	t.Helper()
	opt.Faults = faults
	board, err := serve.New(dev, opt)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Serve(ctx, board) // ends with ctx
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return board
}

// limited runs f. If that takes too long it prints what all goroutines do, and the test
// fails.
func limited(t *testing.T, what string, limit time.Duration, f func() error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		require.NoError(t, err, what)
	case <-time.After(limit):
		all := make([]byte, 1<<20)
		t.Fatalf("%s hangs:\n%s", what, all[:runtime.Stack(all, true)])
	}
}

// limit is that of a session, which usually takes less than ten seconds.
const limit = 3 * time.Minute

// TestSessions: whatever a relay does to the path, the data is right, the link goes down
// only after a cut and with its cause, and the board serves the next host.
func TestSessions(t *testing.T) {
	for _, p := range paths() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.campaign(t)
		})
	}
}

// campaign runs the sessions of a path, some at the same time.
func (p *path) campaign(t *testing.T) {
	var mu sync.Mutex
	var sum relay.Stats
	ends := map[string]int{}
	t.Run("sessions", func(t *testing.T) {
		for i := range *sessionsFlag {
			seed := *seedFlag + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				if !p.serial && *sessionsFlag > 10 {
					t.Parallel()
				}
				s, e := p.session(t, seed)
				mu.Lock()
				defer mu.Unlock()
				sum.Add(s)
				for k, n := range e {
					ends[k] += n
				}
			})
		}
	})
	t.Logf("%d sessions: %+v, ends %v", *sessionsFlag, sum, ends)
	if *sessionsFlag >= 50 {
		assert.Empty(t, sum.Idle(p.stream), "faults that never happened")
	}
}

// session runs hosts one after another, through one relay.
func (p *path) session(t *testing.T, seed uint64) (relay.Stats, map[string]int) {
	plan := relay.Draw(seed)
	t.Logf("%v", plan)
	l := p.listen(t)
	var opt serve.Options
	if plan.Cut == 0 {
		opt.Silence = uncut
	}
	board := serveBoard(t, l, bustest.NewDevice(bustest.DeviceOptions{Stall: seed & 1}), fault.Config{}, opt)
	r, err := p.relay(t, l.Selector(), plan)
	require.NoError(t, err)
	defer r.Close()
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &work{rng: rng, model: make([]byte, modelBytes), ends: map[string]int{}}
	limited(t, "the session", limit, func() error {
		for hosts := 1 + rng.IntN(2); hosts > 0; hosts-- {
			if err := w.run(patient(r.Selector(), plan.Cut > 0), 50+rng.IntN(200), plan.Cut > 0); err != nil {
				return fmt.Errorf("%w; relay %+v; board %+v; host %v", err, r.Stats(), board.Stats(), w.counters())
			}
			r.Repeat()
		}
		return nil
	})
	r.Calm()
	limited(t, "the next host", limit, func() error { return w.run(patient(r.Selector(), false), 30, false) })
	return r.Stats(), w.ends
}

// patient adds options to a selector: answers may take long, and so may silence if the
// path has no cuts.
func patient(selector string, cuts bool) string {
	options := "timeout=20000"
	if !cuts {
		options += fmt.Sprintf("&silence=%d", uncut.Milliseconds())
	}
	if strings.Contains(selector, "?") {
		return selector + "&" + options
	}
	return selector + "?" + options
}

// uncut is the silence after which an end of a path without cuts is dead: a busy machine
// is no cut.
const uncut = 10 * time.Second

// run is a host that makes calls. Only a path with cuts takes the link down.
func (w *work) run(selector string, calls int, cuts bool) error {
	if err := w.open(selector); err != nil {
		return err
	}
	defer w.link.Close()
	err := w.check()
	for ; calls >= 0; calls-- {
		switch {
		case err != nil:
		case calls > 0:
			err = w.do()
		default:
			err = w.read()
		}
		if errors.Is(err, bus.ErrLinkDown) && cuts {
			if err = w.named(err); err == nil {
				err = w.resume()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
