package pins

import (
	"context"
	"errors"
	"io"
	"time"
)

// Limits of a Bridge, in clocks of the board.
const (
	bridgeStep  = 16 * Delay   // between two looks at the stream
	bridgeBusy  = 1000 * Delay // after a byte of the host, at full speed
	bridgeSleep = 5 * time.Millisecond
)

// Bridge puts the line of a board on a stream: what is read from the stream is sent to the
// board bit by bit, and what the board sends is written to the stream. The board's clocks
// run as fast as they can while the host sends, and slower while it does not: the board's
// timers count them, and a pseudo-terminal on a busy machine can be late by seconds. Bridge
// returns the cause of ctx, the error of the stream, nil at its end, or the error of the
// board. A Read of the stream must end at times, as with a time-out.
//
// If the stream has a method Rate() (int, error), as a serial.Pty, then that is the rate of
// the host's UART, in bits per second. Otherwise Bridge agrees with the board on the
// highest rate that works when the host sends its first byte. At the end of the stream the board still gets what the host has sent,
// such as the end of its session, and the time to return to its first rate.
func (s *Serial) Bridge(ctx context.Context, stream io.ReadWriter) error {
	rated, _ := stream.(rated)
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	arrived := make(chan chunk, 16)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(readAll(ctx, stream, rated, arrived))
	}()
	first, err := chunk{}, error(nil)
	if rated == nil {
		select {
		case first = <-arrived:
		case <-ended:
			select { // a host that has left may have sent something
			case first = <-arrived:
			default:
			}
		}
		if len(first.bytes) > 0 {
			err = (&terminal{s: s}).raise()
		}
	}
	if err == nil {
		err = s.carry(ctx, outer, stream, first, arrived)
	}
	cancel(err)
	<-ended
	if len(first.bytes) > 0 && outer.Err() == nil {
		for range s.hz / returns {
			s.Tick(0, false, true)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// A rated stream has a rate.
type rated interface{ Rate() (int, error) }

// A chunk is bytes of the host and the rate at which it sends them, 0 if that stays.
type chunk struct {
	bytes []byte
	rate  int
}

// readAll reads the stream until it ends or ctx is done. rated is the same stream, or nil.
func readAll(ctx context.Context, stream io.Reader, rated rated, arrived chan<- chunk) error {
	for ctx.Err() == nil {
		p := make([]byte, 4096)
		n, err := stream.Read(p)
		c := chunk{bytes: p[:n]}
		if n > 0 && rated != nil {
			var failed error
			c.rate, failed = rated.Rate()
			err = errors.Join(err, failed)
		}
		if n > 0 {
			select {
			case arrived <- c:
			case <-ctx.Done():
			}
		}
		if err != nil && !timedOut(err) {
			return err
		}
	}
	return context.Cause(ctx)
}

// timedOut reports whether a Read has ended without data.
func timedOut(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// carry moves bytes both ways until ctx is done. Unless outer is done too, the board first gets
// what has arrived.
func (s *Serial) carry(ctx, outer context.Context, stream io.Writer, later chunk, arrived <-chan chunk) error {
	var in, out []byte
	next, busy := s.now, s.now+bridgeBusy
	for {
		in, later = s.more(in, later, arrived)
		out = out[:0]
		if len(in) > 0 {
			busy = s.now + bridgeBusy
		}
		for range bridgeStep {
			b, valid := byte(0), false
			if len(in) > 0 && s.now >= next {
				b, valid, in = in[0], true, in[1:]
				next = s.now + s.ByteClocks()
			}
			if c, ok := s.Tick(b, valid, true); ok {
				out = append(out, c)
			}
		}
		if s.err != nil {
			return s.err
		}
		if len(out) > 0 && ctx.Err() == nil {
			if _, err := stream.Write(out); err != nil {
				return err
			}
		}
		rests := len(in) == 0 && len(later.bytes) == 0
		if ctx.Err() != nil && (outer.Err() != nil || rests && len(arrived) == 0 && !s.sending()) {
			return context.Cause(ctx)
		}
		if rests && s.now >= busy {
			later = waitFor(arrived)
		}
	}
}

// more appends later and what has arrived, without waiting. It returns what must wait until
// all bytes are sent, since its rate is another one.
func (s *Serial) more(in []byte, later chunk, arrived <-chan chunk) ([]byte, chunk) {
	for len(in) < 4096 {
		if len(later.bytes) == 0 {
			select {
			case later = <-arrived:
			default:
				return in, later
			}
		}
		if later.rate != 0 && later.rate != s.baud {
			if len(in) > 0 || s.sending() {
				return in, later
			}
			s.setBaud(later.rate)
		}
		in, later = append(in, later.bytes...), chunk{}
	}
	return in, later
}

// waitFor returns what arrives within a short time, or nothing.
func waitFor(arrived <-chan chunk) chunk {
	t := time.NewTimer(bridgeSleep)
	defer t.Stop()
	select {
	case c := <-arrived:
		return c
	case <-t.C:
		return chunk{}
	}
}
