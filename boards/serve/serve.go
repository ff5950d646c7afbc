// Package serve runs a board in a process, for one host after another: it
// connects a device, through the transaction layer and the data link, to a byte
// stream or to datagrams.
//
// All work on the device happens on the goroutine that is inside Serve. A
// packet goes from the stream to the device and its completion back at once,
// without waiting for device clocks that the completion does not need.
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

// ErrOptions is returned, wrapped, for options out of range.
var ErrOptions = errors.New("serve: bad options")

// Pacing selects how device clocks follow the wall clock.
type Pacing uint8

// The pacings. With Free a busy device runs as fast as it can; a device that
// only waits for time to pass waits at Hz, so that it uses no CPU time. Clock
// ties every clock to the wall clock, never ahead of it; a slow emulation
// forgets a lag of more than a tenth of a second.
const (
	Free Pacing = iota
	Clock
)

// Options configure a board. The zero value is the default.
type Options struct {
	Pacing Pacing
	Hz     uint64 // device clocks per second, 1000 to 2^32; 0: 100 MHz

	MapHash  uint32           // hash of the register map, which must match the host's; 0: any
	Baud     int              // rate of the line; 0: unlimited
	Silence  time.Duration    // after which a host is dead; 0: half a second, or more at a slow rate
	Faults   fault.Config     // injected into frames, in both directions
	Endpoint endpoint.Options // sizes of the transaction layer

	Name string    // name of the board in the log; may be ""
	Log  io.Writer // gets a line when a session begins and ends; may be nil
	// Observer, if not nil, is called with every packet in order: up is from
	// the device to the host, at is the time since New. It must neither retain
	// the packet nor call the board.
	Observer func(up bool, at time.Duration, packet []byte)

	// Token, if not empty, is the secret that a host must have; see datalink.Config.
	Token []byte

	OnSession func(Session) // called when a session begins and ends; must not call the board; or nil

	// Incident, if not nil, is told the incidents at the board's end of each link, on any goroutine. It must
	// not call the board.
	Incident func(datalink.Incident)
}

// A line carries packets to and from hosts, one session after another: a
// channel.Channel, or what has its methods.
type line interface {
	Send(packet []byte) error
	Flush()
	Receive(timeout time.Duration) ([]byte, error)
	Session() (n uint64, up bool, cause error)
	Offering() bool
	MaxPacket() int
	Now() time.Duration
	Close() error
}

// A Session describes the beginning or end of a host's session.
type Session struct {
	N     uint64 // number from 1 on, over all streams
	Up    bool
	Cause error // why it ended
}

// Stats counts events of a board since New.
type Stats struct {
	Clocks   uint64 // of the device
	Sessions uint64
	Streams  uint64
	Dropped  uint64         // packets of the device lost without a session or too long for it
	Endpoint endpoint.Stats // the transaction layer
	Channel  channel.Stats  // of the current or last stream, if it has a channel
}

// A Board is one device. Serve may be called again after it has returned; the
// other methods are safe for concurrent use.
type Board struct {
	opt  Options
	born time.Time

	serving sync.Mutex           // held by Serve
	ch      atomic.Pointer[line] // nil before the first stream

	holder    atomic.Pointer[string] // address of the host that has the board; nil: none
	inSession atomic.Bool            // up, for those that do not hold mu

	mu   sync.Mutex // guards the fields below; not held while Serve waits for packets
	end  *endpoint.Endpoint
	pace pace
	now  time.Duration // time of pace, relative to the stream
	up   bool          // the endpoint is in a session
	seen uint64        // last session of ch
	n    uint64        // number of sessions
	stat Stats

	arrived bool   // a packet has arrived since the last step
	held    []byte // packet of the host that the endpoint has no room for
	unsent  []byte // write or completion of the device that the link has no room for
	single  bool   // serve only one session
	turn    *turn  // its pseudo-terminal, or nil
	over    bool   // a session has ended since serve began
}

// New returns the board of dev, which has just been powered on. It fails with
// ErrOptions or endpoint.ErrOptions.
func New(dev port.Device, opt Options) (*Board, error) {
	if opt.Hz == 0 {
		opt.Hz = 100_000_000
	}
	if opt.Hz < 1000 || opt.Hz > 1<<32 || opt.Pacing > Clock || opt.Baud < 0 || opt.Silence < 0 {
		return nil, fmt.Errorf("%w: Pacing %d, Hz %d, Baud %d, Silence %v, want values in range", ErrOptions, opt.Pacing, opt.Hz, opt.Baud, opt.Silence)
	}
	end, err := endpoint.New(dev, opt.Endpoint)
	if err != nil {
		return nil, err
	}
	return &Board{opt: opt, end: end, born: time.Now(), pace: pace{hz: opt.Hz, clock: opt.Pacing == Clock}}, nil
}

// Serve serves dev as a board on a single stream.
func Serve(ctx context.Context, dev port.Device, stream io.ReadWriteCloser, opt Options) error {
	b, err := New(dev, opt)
	if err != nil {
		stream.Close()
		return err
	}
	return b.Serve(ctx, stream)
}

// Serve serves the board to hosts at the other end of stream, one session after
// another, and closes the stream. It returns the cause of ctx when ctx is done;
// an error that wraps bus.ErrLinkDown when the stream has ended; and
// endpoint.ErrProtocol, permanently, if the device violates the protocol of its
// ports. The device keeps its state from one stream to the next; its clock
// stops in between.
func (b *Board) Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	b.serving.Lock()
	defer b.serving.Unlock()
	return b.serve(ctx, stream, b.opt.Baud, nil)
}

// errOver ends serve after one session.
var errOver = errors.New("serve: session over")

// serve is Serve at a given rate. With a turn, which is the stream, it returns
// errOver when a session has ended and no other has begun.
func (b *Board) serve(ctx context.Context, stream io.ReadWriteCloser, baud int, t *turn) error {
	ch, err := b.openChannel(stream, baud, nil)
	if err != nil {
		return err
	}
	b.attach(ch)
	b.single, b.turn, b.over = t != nil, t, false
	return b.serveChannel(ctx, ch)
}

// serveHost serves the host of a channel whose session has begun, to the end of the
// session. It returns errOver then, unless the stream has ended.
func (b *Board) serveHost(ctx context.Context, ch *channel.Channel) error {
	b.serving.Lock()
	defer b.serving.Unlock()
	b.attach(ch)
	b.single, b.turn, b.over = true, nil, false
	b.mu.Lock()
	b.begin(ch)
	b.mu.Unlock()
	return b.serveChannel(ctx, ch)
}

// serveChannel serves a channel until it ends, and closes it.
func (b *Board) serveChannel(ctx context.Context, ch line) error {
	stop := context.AfterFunc(ctx, func() { ch.Close() })
	err := b.run(ch)
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

// openChannel opens the board's end of a stream. admit is that of datalink.Config.
func (b *Board) openChannel(stream io.ReadWriteCloser, baud int, admit func() (string, bool)) (*channel.Channel, error) {
	c := channel.Config{
		Link: datalink.Config{
			Role: datalink.Board, MapHash: b.opt.MapHash, DeadAfter: b.opt.Silence, Token: b.opt.Token, Admit: admit,
			Observe: b.opt.Incident,
		},
		Baud: baud,
	}
	if b.opt.Faults != (fault.Config{}) {
		c.Send, c.Receive = fault.New(b.opt.Faults, 1), fault.New(b.opt.Faults, 0)
	}
	if s, ok := stream.(interface{ configure(c *channel.Config) }); ok {
		s.configure(&c)
	}
	return channel.Open(stream, c)
}

// attach makes a channel the one that the board serves.
func (b *Board) attach(ch line) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ch.Store(&ch)
	b.seen = 0
	b.now = ch.Now()
	b.stat.Streams++
}

// run moves packets and runs device clocks until the stream or the device
// fails.
func (b *Board) run(ch line) error {
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

// take passes the result of Receive to the device. It returns an error that
// ends the stream.
func (b *Board) take(ch line, packet []byte, err error) error {
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
		return nil // late packet of an ended session
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

// offer passes a packet to the endpoint, which counts refused packets.
func (b *Board) offer(packet []byte) {
	b.held = nil
	if err := b.end.Receive(packet); errors.Is(err, endpoint.ErrFull) {
		b.held = packet
	}
}

// pause waits while the device accepts no more packets. Further packets stay in
// the link, which holds the host back.
func (b *Board) pause(ch line, wait time.Duration) {
	if wait > 0 {
		time.Sleep(min(wait, retryEvery))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, up, cause := ch.Session(); n != b.seen || !up {
		b.finish(cause)
		return
	}
	b.offer(b.held)
}

// retryEvery is how often a packet is offered again to a device that accepts
// none.
const retryEvery = 10 * time.Millisecond

// Stats returns the counters.
func (b *Board) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stat
	s.Clocks, s.Sessions, s.Endpoint = b.end.Now(), b.n, b.end.Stats()
	if ch := b.ch.Load(); ch != nil {
		if c, ok := (*ch).(*channel.Channel); ok {
			s.Channel = c.Stats()
		}
	}
	return s
}

// Connected reports whether a host has a session.
func (b *Board) Connected() bool {
	ch := b.ch.Load()
	if ch == nil {
		return false
	}
	_, up, _ := (*ch).Session()
	return up
}

// Sample calls f while no device clock runs, so that f can inspect the device.
// f must not call the board.
func (b *Board) Sample(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}
