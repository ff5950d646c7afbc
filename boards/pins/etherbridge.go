package pins

import (
	"context"
	"errors"
	"io"
)

// Bridge puts a board on a network: each frame that is read is sent to the board, and each
// frame of the board is written. Each Read returns one frame and must end at times, as with a
// time-out. The board's clocks run as in Serial.Bridge. Bridge returns the cause of ctx, the
// error of the network, or the error of the board.
func (e *Ether) Bridge(ctx context.Context, network io.ReadWriter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	arrived := make(chan chunk, 64)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(readAll(ctx, network, nil, arrived))
	}()
	err := e.carry(ctx, network, arrived)
	cancel(err)
	<-ended
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// carry moves frames both ways.
func (e *Ether) carry(ctx context.Context, network io.Writer, arrived <-chan chunk) error {
	busy := e.now + bridgeBusy
	for {
		for waiting := true; waiting && len(e.queue) < bridgeStep; {
			select {
			case c := <-arrived:
				e.Send(c.bytes)
				busy = e.now + bridgeBusy
			default:
				waiting = false
			}
		}
		for range bridgeStep {
			if f := e.Tick(); f != nil {
				if _, err := network.Write(f); err != nil {
					return err
				}
				busy = e.now + bridgeBusy
			}
		}
		if e.err != nil {
			return e.err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if e.now >= busy {
			if c := waitFor(arrived); len(c.bytes) > 0 {
				e.Send(c.bytes)
				busy = e.now + bridgeBusy
			}
		}
	}
}
