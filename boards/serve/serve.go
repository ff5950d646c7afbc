// Package serve is a board in a process: a device behind the transaction layer,
// the data link and a byte stream, for hosts that come one after the other.
//
// All that happens to the device happens on the goroutine that is inside Serve.
// A packet goes from the stream to the device and its answer back in one go, with
// no clock of the device waited for that the answer does not need.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// ErrOptions is returned, wrapped, for options that cannot be.
var ErrOptions = errors.New("serve: bad options")

// Pacing says how device clocks follow the wall clock.
type Pacing uint8

// The pacings. Free lets a busy device run as fast as it can; one that only
// waits for a time to pass waits for it at Hz, so that it takes no processor.
// Clock ties every clock to the wall clock, never ahead of it; what a slow
// emulation falls behind by more than a tenth of a second is lost.
const (
	Free Pacing = iota
	Clock
)

// Options of a board. The zero value is the default.
type Options struct {
	Pacing Pacing
	Hz     uint64 // device clocks in a second, 1000 to 2^32; 0: 100 MHz

	MapHash  uint32           // of the register map, which a host's must agree with; 0: any
	Baud     int              // rate of the line; 0: as fast as it goes
	Silence  time.Duration    // after which a host is dead; 0: half a second, or more at a slow rate
	Faults   fault.Config     // that befall frames, in both directions
	Endpoint endpoint.Options // sizes of the transaction layer

	Name string    // of the board, in the log; may be empty
	Log  io.Writer // is told when a session begins and ends, a line each; may be nil
	// Observer, if not nil, sees every packet in its order: up is from the device to
	// the host, at the time since New. It must neither keep the packet nor call the
	// board.
	Observer func(up bool, at time.Duration, packet []byte)

	OnSession func(Session) // is told the same, and must not call the board; may be nil
}

// A Session is that of one host, as it begins or ends.
type Session struct {
	N     uint64 // from 1 on, over all streams
	Up    bool
	Cause error // why it ended
}

// Stats counts what a board has done since New.
type Stats struct {
	Clocks   uint64 // of the device
	Sessions uint64
	Streams  uint64
	Dropped  uint64         // packets of the device that met no session, or were too long for it
	Endpoint endpoint.Stats // the transaction layer
	Channel  channel.Stats  // the stream that is or was served last
}

// A Board is one device. Serve may be called again when it has returned; the
// other methods at any time from any goroutine.
type Board struct {
	opt  Options
	born time.Time

	serving sync.Mutex                      // held by Serve
	ch      atomic.Pointer[channel.Channel] // nil before the first stream

	mu   sync.Mutex // guards all that follows; not held while Serve waits for packets
	end  *endpoint.Endpoint
	pace pace
	now  time.Duration // of pace, up to the stream
	up   bool          // the endpoint is in a session
	seen uint64        // the last session of ch
	n    uint64        // sessions
	stat Stats

	arrived bool   // a packet came since the last step
	held    []byte // of the host: the endpoint has no room
	unsent  []byte // of the device: the link has no room for a write or a completion
	turn    *turn  // for one session only, or nil
	over    bool   // a session has ended since serve began
}

// New returns the board of dev, which has just been powered on. It fails with
// ErrOptions or endpoint.ErrOptions.
func New(dev port.Device, opt Options) (*Board, error) {
	if opt.Hz == 0 {
		opt.Hz = 100_000_000
	}
	if opt.Hz < 1000 || opt.Hz > 1<<32 || opt.Pacing > Clock || opt.Baud < 0 || opt.Silence < 0 {
		return nil, fmt.Errorf("%w: pacing %d, %d clocks in a second, %d baud, silence of %v", ErrOptions, opt.Pacing, opt.Hz, opt.Baud, opt.Silence)
	}
	end, err := endpoint.New(dev, opt.Endpoint)
	if err != nil {
		return nil, err
	}
	return &Board{opt: opt, end: end, born: time.Now(), pace: pace{hz: opt.Hz, clock: opt.Pacing == Clock}}, nil
}

// Serve is one stream of a board that is used for nothing else.
func Serve(ctx context.Context, dev port.Device, stream io.ReadWriteCloser, opt Options) error {
	b, err := New(dev, opt)
	if err != nil {
		stream.Close()
		return err
	}
	return b.Serve(ctx, stream)
}

// Serve lets hosts at the other end of stream use the board, one session after
// the other, and closes it. It returns the cause of ctx when that is done; an
// error that wraps bus.ErrLinkDown when the stream has ended; and
// endpoint.ErrProtocol if the device broke the protocol of its ports, which is
// for good. The device keeps its state from one stream to the next; its clock
// stands still in between.
func (b *Board) Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	b.serving.Lock()
	defer b.serving.Unlock()
	return b.serve(ctx, stream, b.opt.Baud, nil)
}

// errOver ends serve after one session.
var errOver = errors.New("serve: session over")

// serve is Serve at a rate. With a turn, which is the stream, it returns errOver
// when a session has ended and no other has begun.
func (b *Board) serve(ctx context.Context, stream io.ReadWriteCloser, baud int, t *turn) error {
	ch, err := b.open(stream, baud)
	if err != nil {
		return err
	}
	b.turn, b.over = t, false
	stop := context.AfterFunc(ctx, func() { ch.Close() })
	err = b.run(ch)
	stop()
	ch.Close()
	b.mu.Lock()
	b.finish(err)
	b.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (b *Board) open(stream io.ReadWriteCloser, baud int) (*channel.Channel, error) {
	c := channel.Config{
		Link: datalink.Config{Role: datalink.Board, MapHash: b.opt.MapHash, DeadAfter: b.opt.Silence},
		Baud: baud,
	}
	if b.opt.Faults != (fault.Config{}) {
		c.Send, c.Receive = fault.New(b.opt.Faults, 1), fault.New(b.opt.Faults, 0)
	}
	ch, err := channel.Open(stream, c)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ch.Store(ch)
	b.seen = 0
	b.now = ch.Now()
	b.stat.Streams++
	return ch, nil
}

// run moves packets and device clocks until the stream or the device fails.
func (b *Board) run(ch *channel.Channel) error {
	for {
		b.mu.Lock()
		wait := b.step(ch)
		err, held, over := b.end.Err(), b.held != nil, b.ends(ch)
		b.mu.Unlock()
		if err == nil && over {
			err = errOver
		}
		if err != nil {
			return err
		}
		if held {
			b.pause(ch, wait)
			continue
		}
		packet, err := ch.Receive(wait)
		b.mu.Lock()
		err = b.take(ch, packet, err)
		b.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// take gives the device what Receive returned, and returns an error that ends
// the stream.
func (b *Board) take(ch *channel.Channel, packet []byte, err error) error {
	switch {
	case errors.Is(err, channel.ErrSession):
		b.begin(ch)
		return nil
	case err != nil:
		return err
	case packet == nil:
		b.watch(ch)
		return nil
	}
	if !b.up {
		return nil // of a session that was ended with packets on the way
	}
	b.catchUp(ch.Now())
	b.arrived = true
	b.observe(false, packet)
	b.offer(packet)
	return nil
}

func (b *Board) observe(up bool, packet []byte) {
	if b.opt.Observer != nil {
		b.opt.Observer(up, time.Since(b.born), packet)
	}
}

// offer gives the endpoint a packet; what it refuses it counts.
func (b *Board) offer(packet []byte) {
	b.held = nil
	if err := b.end.Receive(packet); errors.Is(err, endpoint.ErrFull) {
		b.held = packet
	}
}

// pause waits while the device takes no more packets: those on the way must
// not be taken from the link, which holds the host back.
func (b *Board) pause(ch *channel.Channel, wait time.Duration) {
	if wait > 0 {
		time.Sleep(min(wait, stuck))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, up, cause := ch.Session(); n != b.seen || !up {
		b.finish(cause)
		return
	}
	b.offer(b.held)
}

// stuck is how often a device that takes no packets is asked again.
const stuck = 10 * time.Millisecond

// Stats returns the counts so far.
func (b *Board) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stat
	s.Clocks, s.Sessions, s.Endpoint = b.end.Now(), b.n, b.end.Stats()
	if ch := b.ch.Load(); ch != nil {
		s.Channel = ch.Stats()
	}
	return s
}

// Connected reports whether a host has a session.
func (b *Board) Connected() bool {
	ch := b.ch.Load()
	if ch == nil {
		return false
	}
	_, up, _ := ch.Session()
	return up
}

// Sample calls f while no device clock passes, so that it can look at the
// device. f must not call the board.
func (b *Board) Sample(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}
