// Package datalink carries transaction-layer packets over a transport that may
// lose, damage, repeat and reorder frames: each packet arrives exactly once and
// in order, or the link goes down with a cause. It is modelled on the data link
// layer of PCI Express (PCIe 3.0 §3). It is a state machine without I/O,
// goroutines or clock: the caller passes it frames and the time, and sends the
// frames it appends to an Output.
//
// The transport delimits frames; it need not check them. Fields are big-endian.
//
//	bytes   bits    field of a data frame
//	0, 1    15      1
//	        14      an acknowledgement follows
//	        13..12  form of the packet, see docs/design.md "Link layers"
//	        11..0   sequence number
//	2, 3    15      several packets, if bit 14 was set
//	        11..0   next sequence number expected, if bit 14 was set
//	...             the packet, or several packets, each with its length before it,
//	                16 bits, see bundle.go
//	last 4          check: CRC-32 (IEEE 802.3) of all bytes before it, exclusive or the
//	                word of the epoch
//
//	bytes   bits    field of a control frame
//	0, 1    15      0
//	        14..12  type: 0 Ack 1 Nak 2 Credit 3 Ping 4 Pong 5 Hello 6 Welcome 7 Down
//	        11..0   next sequence number expected; version of Hello and Welcome;
//	                cause of Down
//	...             Nak: bit i of byte j is set if the frame 8*j+i+1 after the
//	                expected one has arrived; no trailing zero bytes
//	                Credit: six 16-bit counters, see Credits
//	                Hello, Welcome: to 192 bytes, see hello
//	last 4          check, as above; the word of Hello and Welcome is fixed
//
// Sequence numbers are extended if both ends have that option: an end counts the
// frames without the modulus of 4096, and the check is also exclusive or the number
// divided by 4096, times 0x9e3779b1. For a control frame with an acknowledgement
// the number is that of the next frame expected. A frame that is 4096 frames late then
// fails the check. At 100,000 frames a second that is 41 ms.
//
// Design note: the epoch is in the check and not in the header. A frame of an
// earlier session fails the check by exactly the difference of two words. It is
// thus distinguished from a damaged frame, counted and ignored, at no cost on
// the line.
//
// Without extended sequence numbers, a frame must not be delayed by more than half the
// sequence space, 2048 frames.
package datalink

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// Version is the version of the frames; both ends must have the same.
const Version = 3

// Causes of a link that is down, and errors of Send.
var (
	ErrNotUp    = errors.New("datalink: not up")
	ErrFull     = errors.New("datalink: queue full")
	ErrSize     = errors.New("datalink: packet size")
	ErrClosed   = errors.New("datalink: closed")
	ErrOpen     = errors.New("datalink: no answer to hello")
	ErrVersion  = errors.New("datalink: version mismatch")
	ErrMapHash  = errors.New("datalink: register map mismatch")
	ErrRefused  = errors.New("datalink: refused by the board")
	ErrReplay   = errors.New("datalink: replay limit reached")
	ErrDead     = errors.New("datalink: nothing received")
	ErrPeerDown = errors.New("datalink: peer went down")
	ErrNewEpoch = errors.New("datalink: peer began a new session")
	ErrProtocol = errors.New("datalink: protocol violated")
)

// ErrToken is an ErrRefused: the board wants a token that the host does not have.
var ErrToken = fmt.Errorf("%w for its token", ErrRefused)

// A Role selects which end begins a session: the host does, the board answers.
type Role uint8

// The roles.
const (
	Host Role = iota
	Board
)

// A State is the state of a link.
type State uint8

// The states. A link is created Down.
const (
	Down State = iota
	Opening
	Up
)

// String returns the name of the state.
func (s State) String() string { return [...]string{"down", "opening", "up"}[min(s, Up)] }

// Limits of a Config.
const (
	MinPacket = 16
	MaxPacket = tlp.MaxSize
	MaxWindow = 1024
)

// Config configures an end of a link. A zero field of the second group takes
// the default in parentheses.
//
//	MapHash      hash of the register map; two that are not 0 must agree
//	MaxPacket    largest packet in bytes, MinPacket to MaxPacket (280); the
//	             smaller value of the two ends applies
//	Credits      packets the peer may have in flight, per class; 0 is infinite,
//	             as it must be for completions of a requester
//	Datagram     largest datagram in bytes, to 65535; 0 for a stream of bytes
//	MaxRead      of a host: its largest read request in bytes; 0 if unknown.
//	             A board in hardware may size its buffers by it; a Link does not use it
//	Token        secret of both ends; a board with one refuses hosts without it.
//	             It is proven in the handshake and never sent
//	Challenge    of a board with a Token: random, different for each link
//	Echo         a board offers a session only to a host that has received its
//	             nonce and sends it back
//	Admit        if not nil, a board calls it before it offers a session; a text
//	             is the reason why it refuses one; with later the board does not
//	             answer yet, and the host asks again
//	Adapt        the window and the time to a replay follow the rate and the round
//	             trips of the path
//	GiveUp       how long an adaptive link sends one frame again, at least five times
//	             (750 ms), and the time that the path needs for the frames before it
//	Rate         rate of the path in bytes per second, if known; an adaptive link
//	             begins with at most that
//	InOrder      keep no frame that arrives after a missing one
//	ShortSequence  do not extend sequence numbers
//	Bundle       largest frame with several packets, in bytes, to 65533; 0: none. The
//	             smaller value of the two ends applies, and that of the datagram
//
//	Window       frames in flight, a power of two to MaxWindow (64)
//	Queue        packets that may wait to be sent, per class (64)
//	AckDelay     how long an acknowledgement waits for a frame to carry it (1 ms)
//	AckEvery     frames that are acknowledged without waiting (a quarter window), and
//	             half of the peer's window at most
//	NakDelay     how long a gap may be due to reordering (0)
//	ReplayMin    shortest time to a replay, more than the peer's AckDelay (10 ms)
//	ReplayMax    longest time to a replay (50 ms)
//	ReplayLimit  replays of one frame after which the link goes down, but not
//	             before DeadAfter has passed since the first transmission (16).
//	             PCI Express has 3, which a line that loses every tenth frame
//	             reaches within thousands. Further replays wait ever longer
//	Refresh      period of credit updates (100 ms)
//	KeepAlive    silence after which the peer is pinged (100 ms)
//	DeadAfter    silence after which the peer is dead (500 ms)
//	HelloEvery   period of hellos (50 ms)
//	OpenTimeout  how long a host tries to open (1 s); a board waits for ever
//	Observe      is told each incident; it must not call the link (none)
type Config struct {
	Role      Role
	MapHash   uint32
	MaxPacket int
	Credits   Credits
	Datagram  int
	MaxRead   int

	Token         []byte
	Challenge     [16]byte
	Echo          bool
	Admit         func() (why string, later bool)
	Adapt         bool
	GiveUp        time.Duration
	Rate          int
	InOrder       bool
	ShortSequence bool
	Bundle        int

	Window      int
	Queue       int
	AckDelay    time.Duration
	AckEvery    int
	NakDelay    time.Duration
	ReplayMin   time.Duration
	ReplayMax   time.Duration
	ReplayLimit int
	Refresh     time.Duration
	KeepAlive   time.Duration
	DeadAfter   time.Duration
	HelloEvery  time.Duration
	OpenTimeout time.Duration

	Observe func(i Incident)
}

func orDefault[T int | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

func (c *Config) setDefaults() {
	orDefault(&c.MaxPacket, 280)
	orDefault(&c.Window, 64)
	orDefault(&c.Queue, 64)
	orDefault(&c.AckDelay, time.Millisecond)
	orDefault(&c.AckEvery, max(1, c.Window/4))
	orDefault(&c.ReplayMin, 10*time.Millisecond)
	orDefault(&c.ReplayMax, max(50*time.Millisecond, c.ReplayMin))
	orDefault(&c.ReplayLimit, 16)
	orDefault(&c.GiveUp, 750*time.Millisecond)
	orDefault(&c.Refresh, 100*time.Millisecond)
	orDefault(&c.KeepAlive, 100*time.Millisecond)
	orDefault(&c.DeadAfter, 5*c.KeepAlive)
	orDefault(&c.HelloEvery, 50*time.Millisecond)
	orDefault(&c.OpenTimeout, time.Second)
}

func (c *Config) check() error {
	switch {
	case c.MaxPacket < MinPacket || c.MaxPacket > MaxPacket:
		return fmt.Errorf("datalink: MaxPacket %d bytes, want %d to %d", c.MaxPacket, MinPacket, MaxPacket)
	case c.Datagram < 0 || c.Datagram > math.MaxUint16:
		return fmt.Errorf("datalink: Datagram %d bytes, want 0 to %d", c.Datagram, math.MaxUint16)
	case c.Bundle < 0 || c.Bundle > math.MaxUint16-2:
		return fmt.Errorf("datalink: Bundle %d bytes, want 0 to %d", c.Bundle, math.MaxUint16-2)
	case !validWindow(c.Window):
		return fmt.Errorf("datalink: Window %d frames, want a power of two to %d", c.Window, MaxWindow)
	case c.Queue < 1 || c.AckEvery < 1 || c.ReplayLimit < 1:
		return fmt.Errorf("datalink: queue %d, ack every %d, replay limit %d, want at least 1", c.Queue, c.AckEvery, c.ReplayLimit)
	case c.ReplayMin <= c.AckDelay || c.ReplayMax < c.ReplayMin:
		return fmt.Errorf("datalink: replay after %v to %v, want at least 0, rising, and more than the AckDelay %v", c.ReplayMin, c.ReplayMax, c.AckDelay)
	case c.DeadAfter <= c.KeepAlive || c.KeepAlive < 0 || c.AckDelay < 0 || c.NakDelay < 0 || c.Refresh < 0 || c.HelloEvery < 0 || c.OpenTimeout < 0 || c.GiveUp < 0 || c.Rate < 0:
		return fmt.Errorf("datalink: DeadAfter %v, want more than KeepAlive %v, and no negative time", c.DeadAfter, c.KeepAlive)
	}
	return c.Credits.check(c.MaxPacket)
}

func validWindow(n int) bool { return n >= 1 && n <= MaxWindow && n&(n-1) == 0 }

// Stats counts events of a link since New, over all sessions.
type Stats struct {
	Sessions        uint64
	FramesSent      uint64
	BytesSent       uint64 // of frames, without the transport's framing
	PacketsSent     uint64 // without replays
	FramesReceived  uint64 // of this epoch, with a correct check
	BytesReceived   uint64
	PacketsReceived uint64 // delivered
	Replays         uint64 // frames
	ReplayTimeouts  uint64
	NaksSent        uint64
	NaksReceived    uint64
	Duplicates      uint64 // frames that had already arrived
	OutOfOrder      uint64 // frames kept until a gap is closed
	OutOfWindow     uint64 // frames too far ahead
	BadAcks         uint64 // acknowledgements of frames not in flight
	BadCheck        uint64 // damaged frames, or frames of an unknown session
	BadFrames       uint64 // too short, too long, or of an impossible form or content
	Stale           uint64 // frames of an earlier epoch
	Refused         uint64 // hellos with another version or register map
	CreditStalls    uint64 // times a packet had to wait for credits
}

// A Link is one end. It is not safe for concurrent use. All times have the same
// arbitrary origin and do not go backwards.
type Link struct {
	cfg Config

	state      State
	cause      error
	epoch      uint32 // word of the session
	past       ring   // words of earlier sessions
	long       bool   // sequence numbers are extended
	bundle     int    // largest frame with several packets, in bytes; 0: none
	datagram   int    // largest one that both ends take, in bytes; 0: a stream of bytes
	nonce      uint32
	asked      hello      // on a host: the Welcome that asks for another Hello
	pending    [4]session // on a board: answered, not yet begun
	npend      int        // slots of pending used so far, modulo the length of pending
	begun      *session   // an element of pending, begun while another session was up
	opened     time.Duration
	helloAt    time.Duration
	hellos     int
	tx         sender
	rx         receiver
	fc         flow
	receivedAt time.Duration // when a frame of this epoch last arrived
	pingAt     time.Duration
	stats      Stats
	answers    bool // a Nak is handled, for Config.Observe
}

// New returns a link that is down. It fails if c is out of range.
func New(c Config) (*Link, error) {
	c.setDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Link{cfg: c, cause: ErrNotUp, datagram: c.Datagram}, nil
}

// State returns the state of the link.
func (l *Link) State() State { return l.state }

// Err returns why the link is down, or nil if it is not. The first cause stays
// until Open.
func (l *Link) Err() error {
	if l.state == Down {
		return l.cause
	}
	return nil
}

// Stats returns the counters.
func (l *Link) Stats() Stats { return l.stats }

// MaxPacket returns the size of the largest packet of the session, in bytes.
func (l *Link) MaxPacket() int { return l.tx.maxPacket }

// Datagram returns the size of the largest datagram of the session, in bytes, or 0.
func (l *Link) Datagram() int { return l.datagram }

// InFlight returns the number of frames sent but not acknowledged, and the
// number of packets that wait to be sent.
func (l *Link) InFlight() (frames, waiting int) {
	return l.tx.inFlight(), l.tx.waiting()
}

// Open begins a session; a board's link waits for one. It drops everything left
// of an earlier session, but not the sessions a board has just offered. The
// nonce must differ from those of all sessions of which a frame can still
// arrive.
func (l *Link) Open(nonce uint32, now time.Duration, out *Output) {
	l.nonce = nonce
	l.retire()
	l.state, l.cause = Opening, nil
	l.opened, l.helloAt, l.hellos, l.asked = now, now, 0, hello{}
	if l.cfg.Role == Host {
		l.sendHello(now, out)
		return
	}
	begun := l.begun
	l.begun = nil
	if begun != nil {
		l.begin(*begun, now)
		return
	}
	for i := range l.pending {
		if !l.fresh(&l.pending[i], now) {
			l.pending[i] = session{}
		}
	}
}

// Close ends the session and notifies the peer once; the cause is ErrClosed. A
// link that is down keeps its cause.
func (l *Link) Close(out *Output) { l.fail(ErrClosed, out) }

// retire remembers the word of the session, so that its late frames are
// recognised.
func (l *Link) retire() {
	if l.epoch != 0 {
		l.past.add(l.epoch)
	}
	l.epoch = 0
	l.tx.reset()
	l.rx.reset()
}

// fail takes the link down. It notifies the peer unless the peer sent the Down.
func (l *Link) fail(cause error, out *Output) {
	if l.state == Down {
		return
	}
	if l.state == Up && !errors.Is(cause, ErrPeerDown) && !errors.Is(cause, ErrNewEpoch) {
		l.sendControl(typeDown, downCode(cause), nil, out)
	}
	l.state, l.cause = Down, cause
	l.tell(Incident{Kind: SessionEnds, Err: cause})
	l.retire()
}

// A ring holds the last few words.
type ring struct {
	words [8]uint32
	n     int
}

func (r *ring) add(w uint32) {
	r.words[r.n%len(r.words)] = w
	r.n++
}

func (r *ring) has(w uint32) bool {
	for _, v := range r.words[:min(r.n, len(r.words))] {
		if v == w {
			return true
		}
	}
	return false
}
