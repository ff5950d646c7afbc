package serial

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/frame"
)

// A wire connects two ends that each have a rate. Bytes sent at a rate other
// than the receiver's, or above the wire's limit, arrive corrupted.
type wire struct {
	mu     sync.Mutex
	rng    *rand.Rand
	most   int     // highest rate of the wire
	loss   float64 // probability that a write is lost
	rates  [2]int
	queues [2]chan []byte
	broken error
}

// An end is one end of a wire.
type end struct {
	w    *wire
	side int
	has  []int // supported rates; empty means all
}

func newWire(base, most int, loss float64, seed uint64) (*wire, *end, *end) {
	w := &wire{
		rng: rand.New(rand.NewPCG(seed, 1)), most: most, loss: loss, rates: [2]int{base, base},
		queues: [2]chan []byte{make(chan []byte, 1000), make(chan []byte, 1000)},
	}
	return w, &end{w: w, side: 0}, &end{w: w, side: 1}
}

func (e *end) SetBaud(rate int) error {
	if len(e.has) > 0 && !slices.Contains(e.has, rate) {
		return ErrRate
	}
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.w.rates[e.side] = rate
	return nil
}

func (e *end) rate() int {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	return e.w.rates[e.side]
}

func (e *end) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p)) * 10 * time.Second / time.Duration(e.rate()))
	w := e.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return 0, w.broken
	}
	if w.rng.Float64() < w.loss {
		return len(p), nil
	}
	b := slices.Clone(p)
	if w.rates[0] != w.rates[1] || w.rates[0] > w.most {
		for i := range b {
			b[i] ^= byte(1 + w.rng.IntN(255))
		}
	}
	w.queues[e.side] <- b
	return len(p), nil
}

func (e *end) Read(p []byte) (int, error) {
	select {
	case b := <-e.w.queues[1-e.side]:
		return copy(p, b), nil
	case <-time.After(readTime):
		e.w.mu.Lock()
		defer e.w.mu.Unlock()
		return 0, e.w.broken
	}
}

// greet begins a session as a data link does, by repeating its hello.
func greet(e *end, stop chan struct{}) {
	hello := append([]byte{0x50, 2}, make([]byte, 44)...)
	var enc frame.Encoder
	for range 20 {
		e.Write(enc.Append(nil, hello))
		select {
		case <-stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// settle runs both sides of the protocol and returns the rates they report.
func settle(t *testing.T, host, board *end, rates []int, probe func(int) error) (h, b int) {
	done, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var err error
		b, err = AnswerBaud(board, 115200, rates, nil)
		assert.NoError(t, err)
		close(stop)
	}()
	h, err := RaiseBaud(host, 115200, []int{921600, 3_000_000, 9600, 2_000_000, 921600}, 0, probe)
	require.NoError(t, err)
	greet(host, stop)
	<-done
	return h, b
}

var all = []int{921600, 2_000_000, 3_000_000}

func TestBaud(t *testing.T) {
	for _, tt := range []struct {
		name  string
		most  int
		host  []int // rates that the host's driver supports
		board []int
		offer []int // rates that the board accepts
		probe func(int) error
		want  int
	}{
		{"the highest", 4_000_000, nil, nil, all, nil, 3_000_000},
		{"the highest rate of the wire", 2_500_000, nil, nil, all, nil, 2_000_000},
		{"the highest rate the board accepts", 4_000_000, nil, nil, []int{921600}, nil, 921600},
		{"none", 115200, nil, nil, all, nil, 115200},
		{"none offered", 4_000_000, nil, nil, nil, nil, 115200},
		{"a rate that the host's driver lacks", 4_000_000, []int{115200, 2_000_000}, nil, all, nil, 2_000_000},
		{"a rate that the board's driver lacks", 4_000_000, nil, []int{115200, 2_000_000}, all, nil, 2_000_000},
		{"a probe that fails", 4_000_000, nil, nil, all, func(r int) error {
			if r > 1_000_000 {
				return errors.New("too fast")
			}
			return nil
		}, 921600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, host, board := newWire(115200, tt.most, 0, 1)
				host.has, board.has = tt.host, tt.board
				h, b := settle(t, host, board, tt.offer, tt.probe)
				assert.Equal(t, []int{tt.want, tt.want}, []int{h, b})
				assert.Equal(t, [2]int{tt.want, tt.want}, [2]int{host.rate(), board.rate()})
			})
		})
	}
}

// Both ends agree on one rate, whatever is lost.
func TestBaudLoss(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			_, host, board := newWire(115200, 2_500_000, 0.25, seed)
			h, b := settle(t, host, board, all, nil)
			require.Equal(t, h, b, "seed %d", seed)
			require.Equal(t, [2]int{h, h}, [2]int{host.rate(), board.rate()}, "seed %d", seed)
		})
	}
}

func TestBaudNoBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, host, _ := newWire(115200, 4_000_000, 0, 1)
		start := time.Now()
		h, err := RaiseBaud(host, 115200, all, 0, nil)
		require.NoError(t, err)
		assert.Equal(t, 115200, h)
		assert.Equal(t, 115200, host.rate())
		assert.Less(t, time.Since(start), 1500*time.Millisecond)
	})
}

// A slow board that is still at the rate of an earlier session is found by a host with
// patience, at the highest rate.
func TestBaudReturnsLate(t *testing.T) {
	for patience, want := range map[time.Duration]int{0: 115200, 15 * time.Second: 3_000_000} {
		synctest.Test(t, func(t *testing.T) {
			_, host, board := newWire(115200, 4_000_000, 0, 1)
			require.NoError(t, board.SetBaud(2_000_000))
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				time.Sleep(6 * time.Second)
				assert.NoError(t, board.SetBaud(115200))
				_, err := AnswerBaud(board, 115200, all, stop)
				assert.NoError(t, err)
			}()
			h, err := RaiseBaud(host, 115200, all, patience, nil)
			require.NoError(t, err)
			assert.Equal(t, want, h)
			close(stop)
			<-done
		})
	}
}

// A host that raises the rate and vanishes leaves the board at base.
func TestBaudHostVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, host, board := newWire(115200, 4_000_000, 0, 1)
		stop, done := make(chan struct{}), make(chan int)
		go func() {
			b, err := AnswerBaud(board, 115200, all, stop)
			assert.NoError(t, err)
			done <- b
		}()
		h, err := RaiseBaud(host, 115200, all, 0, nil)
		require.NoError(t, err)
		require.Equal(t, 3_000_000, h)
		require.Equal(t, 3_000_000, board.rate())
		time.Sleep(keepFor + 2*readTime)
		assert.Equal(t, 115200, board.rate())
		close(stop)
		assert.Equal(t, 115200, <-done)
	})
}

func TestBaudStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, host, board := newWire(115200, 4_000_000, 0, 1)
		stop, done := make(chan struct{}), make(chan int)
		go func() {
			b, err := AnswerBaud(board, 115200, all, stop)
			assert.NoError(t, err)
			done <- b
		}()
		_, err := RaiseBaud(host, 115200, all, 0, nil)
		require.NoError(t, err)
		close(stop)
		assert.Equal(t, 115200, <-done)
		assert.Equal(t, 115200, board.rate())
	})
}

func TestBaudLineErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, host, board := newWire(115200, 4_000_000, 0, 1)
		w.broken = ErrUnplugged
		_, err := RaiseBaud(host, 115200, all, 0, nil)
		assert.ErrorIs(t, err, ErrUnplugged)
		_, err = AnswerBaud(board, 115200, all, nil)
		assert.ErrorIs(t, err, ErrUnplugged)
	})
}

// A message is refused if any bit is flipped.
func TestMessage(t *testing.T) {
	m := message{msgEcho, 3_000_000, pattern(2)}
	b := m.append(nil)
	assert.Len(t, b, msgMost)
	// 3000000 is 0x2dc6c0.
	assert.Equal(t, []byte{'B', 'R', 3, 0, 0x2d, 0xc6, 0xc0}, b[:7])
	got, ok := parseMessage(b)
	require.True(t, ok)
	assert.Equal(t, m, got)
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		_, ok := parseMessage(b)
		require.False(t, ok, "bit %d", i)
		b[i/8] ^= 1 << (i % 8)
	}
	for _, n := range []int{0, msgLeast - 1, msgMost + 1} {
		_, ok := parseMessage(make([]byte, n))
		assert.False(t, ok, n)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(message{kind: msgAsk, rate: 921600}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, ok := parseMessage(b); ok {
			require.Equal(t, b, m.append(nil))
		}
	})
}
