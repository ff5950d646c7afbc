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
func (s *Serial) Bridge(ctx context.Context, stream io.ReadWriter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	arrived := make(chan []byte, 16)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(readAll(ctx, stream, arrived))
	}()
	err := s.carry(ctx, stream, arrived)
	cancel(err)
	<-ended
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readAll reads the stream until it ends or ctx is done.
func readAll(ctx context.Context, stream io.Reader, arrived chan<- []byte) error {
	for ctx.Err() == nil {
		p := make([]byte, 4096)
		n, err := stream.Read(p)
		if n > 0 {
			select {
			case arrived <- p[:n]:
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

// carry moves bytes both ways.
func (s *Serial) carry(ctx context.Context, stream io.Writer, arrived <-chan []byte) error {
	var in, out []byte
	next, busy := s.now, s.now+bridgeBusy
	for {
		in, out = more(in, arrived), out[:0]
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
		if len(out) > 0 {
			if _, err := stream.Write(out); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(in) == 0 && s.now >= busy {
			in = waitFor(arrived)
		}
	}
}

// more appends what has arrived, without waiting.
func more(in []byte, arrived <-chan []byte) []byte {
	for len(in) < 4096 {
		select {
		case p := <-arrived:
			in = append(in, p...)
		default:
			return in
		}
	}
	return in
}

// waitFor returns what arrives within a short time, or nil.
func waitFor(arrived <-chan []byte) []byte {
	t := time.NewTimer(bridgeSleep)
	defer t.Stop()
	select {
	case p := <-arrived:
		return p
	case <-t.C:
		return nil
	}
}
