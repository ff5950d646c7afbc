package pins

import (
	"fmt"
	"slices"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// returns is the part of a second after which a board without a session is at its first rate.
const returns = 40

// raise agrees with a board at a UART on the highest rate that works. After an earlier session
// it first waits until the board knows of its end, and is at the first rate.
func (w *Wire) raise(again bool) error {
	l, _ := w.line.(*byteLine)
	if l == nil {
		return nil
	}
	s, _ := l.dev.(*Serial)
	if s == nil {
		return nil
	}
	if again && len(s.rates) > 1 {
		for len(l.queue) > 0 || s.sending() {
			w.step()
		}
		w.Run(w.opt.Hz / returns)
	}
	from := s.now
	t := &terminal{s: s}
	err := t.raise()
	w.clock += s.now - from
	l.down, l.up = l.down+t.down, l.up+t.up
	w.BytesDown, w.BytesUp = l.carried()
	if err != nil {
		return fmt.Errorf("%w: %w", bus.ErrLinkDown, err)
	}
	if clocks := s.ByteClocks(); clocks != l.clocks {
		l.clocks, w.opt.Clocks = clocks, clocks
		return w.newLink()
	}
	return nil
}

// A terminal is the host's end of a serial line, on which time passes only inside Read and
// SetBaud. It implements serial.Line.
type terminal struct {
	s        *Serial
	queue    []byte // to the board
	next     uint64 // clock in which the next byte may be sent
	down, up uint64 // bytes
}

// raise agrees with the board on the highest of its rates that works. Without a session the
// board is at the first one.
func (t *terminal) raise() error {
	rates := t.s.rates
	if len(rates) < 2 {
		return nil
	}
	if err := t.SetBaud(rates[0]); err != nil {
		return err
	}
	if most := t.s.most; most != 0 {
		rates = slices.DeleteFunc(slices.Clone(rates), func(r int) bool { return r > most })
	}
	_, err := serial.RaiseBaud(t, t.s.rates[0], rates, 0, nil)
	return err
}

// Now returns the time of the board's clocks.
func (t *terminal) Now() time.Time {
	s, rest := t.s.now/t.s.hz, t.s.now%t.s.hz
	return time.Unix(int64(s), int64(rest*uint64(time.Second)/t.s.hz))
}

// Write implements io.Writer.
func (t *terminal) Write(p []byte) (int, error) {
	t.queue = append(t.queue, p...)
	return len(p), t.s.err
}

// Read returns the byte that arrives within a millisecond, or none.
func (t *terminal) Read(p []byte) (int, error) {
	for range t.s.hz / 1000 {
		if b, ok := t.tick(); ok && len(p) > 0 {
			p[0] = b
			return 1, nil
		}
	}
	return 0, t.s.err
}

// tick is a clock.
func (t *terminal) tick() (b byte, ok bool) {
	valid := len(t.queue) > 0 && t.s.now >= t.next
	if valid {
		b, t.queue = t.queue[0], t.queue[1:]
		t.next = t.s.now + t.s.ByteClocks()
		t.down++
	}
	b, ok = t.s.Tick(b, valid, true)
	if ok {
		t.up++
	}
	return b, ok
}

// SetBaud sets the rate when all bytes have been sent.
func (t *terminal) SetBaud(rate int) error {
	for (len(t.queue) > 0 || t.s.sending()) && t.s.err == nil {
		t.tick()
	}
	t.s.setBaud(rate)
	return t.s.err
}
