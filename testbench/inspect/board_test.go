package inspect

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A recorder is a link that records the accesses. It has no twin.
type recorder struct {
	bus.Link
	reads  [][2]uint64 // offset and length in BAR 0
	others int         // writes, and reads of other BARs
}

func (r *recorder) Read(bar int, off uint64, p []byte) error {
	if bar != 0 {
		r.others++
	}
	r.reads = append(r.reads, [2]uint64{off, uint64(len(p))})
	return r.Link.Read(bar, off, p)
}

func (r *recorder) Write(int, uint64, []byte) error { r.others++; return nil }
func (r *recorder) WriteConfig(int, uint32) error   { r.others++; return nil }
func (r *recorder) BytesPerSecond() uint64          { return 1 << 40 }

// recorded returns a server of a board whose accesses are recorded, at a time that stands still.
func recorded(t *testing.T, selector string) (*Server, *recorder, *time.Duration) {
	t.Helper()
	link, _, err := boards.Open(selector, regs.NoMemory{})
	require.NoError(t, err)
	_, err = regs.Open(link, regs.Options{})
	require.NoError(t, err)
	now := new(time.Duration)
	s := newServer(Options{}, clock{
		now:   func() time.Duration { return *now },
		sleep: func(_ context.Context, d time.Duration) error { *now += d; return nil },
	})
	r := &recorder{Link: link}
	_, _, err = s.Share(r, nil, false)
	require.NoError(t, err)
	return s, r, now
}

// call makes a request without a connection.
func call(s *Server, path string) (int, string) {
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
	return w.Code, w.Body.String()
}

// No register with a read effect is read, no offset without a register, and nothing is written.
func TestNothingWithAnEffectIsRead(t *testing.T) {
	plain := map[uint64]bool{}
	effects := 0
	for _, e := range regmap.New().Entries() {
		plain[uint64(e.Off())] = e.Reg.Read == reg.Plain && e.Reg.Access != reg.WO
		if !plain[uint64(e.Off())] {
			effects++
		}
	}
	require.Positive(t, effects)
	for _, selector := range []string{"emu", "emu?config=small", "emu?config=full", "emu?nodes=1&trace=0"} {
		s, r, now := recorded(t, selector)
		for _, path := range []string{
			"/api/identity", "/api/registers", "/api/register/*.*", "/api/register/id.time", "/api/register/id.time_lo!", "/api/register/@0x18", "/api/ring",
			"/api/bar0?off=0&len=128", "/api/bar0?off=0x18", "/api/bar0?off=0x1000&len=256", "/api/bar0?off=0xf000&len=4096", "/api/config?off=0x10",
		} {
			*now += time.Second
			call(s, path)
		}
		st := stream{s: s, w: httptest.NewRecorder(), seen: map[string]string{}, last: map[string][]byte{}}
		require.NoError(t, st.step(t.Context()))
		assert.Greater(t, len(r.reads), 20)
		for _, at := range r.reads {
			for off := at[0]; off < at[0]+at[1]; off += 4 {
				require.True(t, plain[off], "%s: %#x is read", selector, off)
			}
		}
		assert.Zero(t, r.others)
		var errs [4]byte
		require.NoError(t, r.Link.Read(0, 0x30, errs[:]))
		assert.Zero(t, errs, "%s: the device refused an access", selector)
	}
}

// Registers next to each other are one read, and two clients share what was read.
func TestReadsAreShared(t *testing.T) {
	s, r, now := recorded(t, "emu")
	_, first := call(s, "/api/registers")
	once := len(r.reads)
	assert.Less(t, once, 40, "reads for 239 registers")
	_, again := call(s, "/api/registers")
	assert.Equal(t, first, again)
	call(s, "/api/ring")
	call(s, "/api/bar0?off=0x1000&len=72")
	assert.Len(t, r.reads, once, "other clients read nothing")
	*now += fresh
	var all sync.WaitGroup
	for range 2 {
		st := stream{s: s, w: httptest.NewRecorder(), seen: map[string]string{}, last: map[string][]byte{}}
		all.Go(func() { assert.NoError(t, st.step(t.Context())) })
	}
	all.Wait()
	b, err := s.board()
	require.NoError(t, err)
	bursts := map[burst]bool{}
	for _, run := range b.plan {
		bursts[run] = true
	}
	assert.Len(t, r.reads, once+len(bursts), "two streams read once")
}

// A page at 2 Hz takes at most a fifth of a line, in either direction. The line and the time are
// virtual. At the lower rates the budget delays the reads.
func TestBudget(t *testing.T) {
	for _, tt := range []struct {
		selector string
		rate     uint64 // bytes per second
		late     bool
	}{{"line?baud=3000000", 300_000, false}, {"line?baud=921600", 92_160, false}, {"line?baud=57600", 5_760, true}} {
		link, time0, err := boards.Open(tt.selector, regs.NoMemory{})
		require.NoError(t, err)
		_, err = regs.Open(link, regs.Options{})
		require.NoError(t, err)
		now := func() time.Duration {
			return time.Duration(float64(time0.Now()) / float64(time0.Hz()) * float64(time.Second))
		}
		sleep := func(_ context.Context, d time.Duration) error {
			for end := now() + d; now() < end; {
				if _, err := time0.Wait(time0.Now() + uint64((end-now()).Seconds()*float64(time0.Hz())) + 1); err != nil {
					return err
				}
			}
			return nil
		}
		s := newServer(Options{}, clock{now, sleep})
		_, _, err = s.Share(link, time0, true)
		require.NoError(t, err)
		counts := func() (down, up uint64) {
			for _, c := range link.(boards.Counters).Counters() {
				switch {
				case strings.HasSuffix(c.Name, "wire_bytes_to_device"):
					down = c.Value
				case strings.HasSuffix(c.Name, "wire_bytes_from_device"):
					up = c.Value
				}
			}
			return down, up
		}
		st := stream{s: s, w: httptest.NewRecorder(), seen: map[string]string{}, last: map[string][]byte{}}
		began := now()
		down, up := counts()
		const steps = 6
		for range steps {
			began := now()
			require.NoError(t, st.step(t.Context()))
			require.NoError(t, sleep(t.Context(), max(0, time.Second/2-(now()-began))))
		}
		down2, up2 := counts()
		seconds := (now() - began).Seconds()
		fifth := uint64(seconds * float64(tt.rate) / 5)
		t.Logf("%s: %d registers, %.1f s a reading, %d and %d bytes of %d in a fifth of the line", tt.selector, len(st.seen), seconds/steps, down2-down, up2-up, fifth)
		assert.GreaterOrEqual(t, len(st.seen), 200)
		assert.Positive(t, up2-up)
		assert.LessOrEqual(t, down2-down, fifth)
		assert.LessOrEqual(t, up2-up, fifth)
		assert.Equal(t, tt.late, seconds > steps/2+0.1, "the budget delays the reads")
	}
}

// A watcher counts the accesses of the host.
type watcher struct{ accesses int }

func (w *watcher) Opened(string, bus.Clock) error            { return nil }
func (w *watcher) Accessed(bool, int, uint64, []byte, error) { w.accesses++ }
func (w *watcher) Wrote(uint64, []byte)                      {}
func (w *watcher) Refused(uint64, int, bool)                 {}
func (w *watcher) Observe(boards.Observation)                {}

// Who watches the accesses of a command does not see those of the inspector.
func TestReadsAreNotWatched(t *testing.T) {
	for _, selector := range []string{"emu", "line"} {
		w := &watcher{}
		s := newServer(Options{}, wall())
		link, _, err := boards.OpenWith(selector, regs.NoMemory{}, boards.Options{Share: s.Share, Watch: w})
		require.NoError(t, err)
		_, err = regs.Open(link, regs.Options{})
		require.NoError(t, err)
		before := w.accesses
		for _, path := range []string{"/api/registers", "/api/ring", "/api/config?off=0"} {
			code, body := call(s, path)
			require.Equal(t, 200, code, body)
		}
		assert.Equal(t, before, w.accesses)
		_, body := call(s, "/api/identity")
		assert.Contains(t, body, map[string]string{"emu": `"copied":true`, "line": `"copied":false`}[selector])
	}
}
