package serial

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/hilgpu/hilgpu/bus/frame"
)

// A Line is a stream with a settable rate, such as a Port or a Pty. A Read
// without data returns 0 and no error after a time. With a method Now() time.Time,
// the times of RaiseBaud and AnswerBaud are those of the line and not of the wall
// clock; each Read must then take some time.
type Line interface {
	io.ReadWriter
	SetBaud(rate int) error
}

// Design note: how two ends agree on a rate. Either end may miss any message,
// so no last message can be relied on; silence decides. The host is at the base
// rate and wants another:
//
//	rate  host                       board
//	base  Ask(rate)           ->
//	base                      <-     Yes(rate), or No(rate)
//	      both set the rate
//	new   Echo(pattern)       ->
//	new                       <-     Echoed(pattern)
//	      several times, followed by probe
//	new   Keep(rate)          ->
//	new                       <-     Kept(rate)
//
// Every request is repeated until it is answered or times out. A board that
// receives no valid message at a new rate for fallBack, or no session for
// keepFor after Keep, returns to the base rate. A host without an answer also
// returns, and waits until the board must have returned.

// A message is a separate kind of frame. A data link drops it as damaged.
//
//	bytes   field
//	0, 1    "BR"
//	2       kind
//	3..6    rate, big-endian
//	...     pattern
//	last 4  CRC-32 (IEEE 802.3) of all bytes before it
type message struct {
	kind    byte
	rate    int
	pattern []byte
}

const (
	msgAsk = iota
	msgYes
	msgNo
	msgEcho
	msgEchoed
	msgKeep
	msgKept
)

const (
	msgLeast = 11
	msgMost  = msgLeast + 64

	askEvery   = 40 * time.Millisecond  // between requests
	answerTime = 200 * time.Millisecond // least wait for an answer
	fallBack   = 400 * time.Millisecond // silence before the board returns
	keepFor    = time.Second            // wait for a session before the board returns
	echoes     = 4
	tries      = 2 // least attempts at a rate without an answer
)

func (m message) append(b []byte) []byte {
	start := len(b)
	b = append(b, 'B', 'R', m.kind)
	b = binary.BigEndian.AppendUint32(b, uint32(m.rate))
	b = append(b, m.pattern...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

func parseMessage(f []byte) (m message, ok bool) {
	if len(f) < msgLeast || len(f) > msgMost || f[0] != 'B' || f[1] != 'R' {
		return m, false
	}
	body := f[:len(f)-4]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(f[len(body):]) {
		return m, false
	}
	return message{body[2], int(binary.BigEndian.Uint32(body[3:])), bytes.Clone(body[7:])}, true
}

// Sizes of the frame with which a host begins a session on a data link, in bytes.
const (
	helloLeast = 46
	helloMost  = 198
)

// isHello reports whether f is such a frame (bus/datalink, type 5). No message has its
// first byte.
func isHello(f []byte) bool { return len(f) >= helloLeast && len(f) <= helloMost && f[0]>>4 == 5 }

// A negotiator exchanges messages on a line.
type negotiator struct {
	line    Line
	now     func() time.Time
	encoder frame.Encoder
	decoder *frame.Decoder
	heard   []message
	board   bool          // this end accepts a hello
	hello   bool          // a hello was received
	giveUp  time.Time     // when a host stops asking for a rate
	answer  time.Duration // how long a host waits for an answer
	buf     [256]byte
}

func newNegotiator(line Line) *negotiator {
	now := time.Now
	if own, ok := line.(interface{ Now() time.Time }); ok {
		now = own.Now
	}
	return &negotiator{line: line, now: now, decoder: frame.NewDecoder(6, max(msgMost, helloMost))}
}

// Frame, Text and Damaged implement frame.Sink.
func (t *negotiator) Frame(f []byte) {
	if m, ok := parseMessage(f); ok {
		t.heard = append(t.heard, m)
	}
	t.hello = t.hello || t.board && isHello(f)
}

func (t *negotiator) Text([]byte) {}
func (t *negotiator) Damaged(int) {}

func (t *negotiator) send(m message) error {
	t.encoder.Break()
	_, err := t.line.Write(t.encoder.Append(nil, m.append(nil)))
	return err
}

// receive returns the next message that arrives before a time; ok is false if
// there is none or a hello arrives.
func (t *negotiator) receive(until time.Time) (m message, ok bool, err error) {
	for len(t.heard) == 0 && !t.hello && t.now().Before(until) {
		begun := t.now()
		n, err := t.line.Read(t.buf[:])
		if err != nil {
			return m, false, err
		}
		t.decoder.Feed(t.buf[:n], t)
		if n == 0 && t.now().Sub(begun) < time.Millisecond {
			time.Sleep(time.Millisecond)
		}
	}
	if len(t.heard) == 0 {
		return m, false, nil
	}
	m, t.heard = t.heard[0], t.heard[1:]
	return m, true, nil
}

// errSilent is returned when no answer arrives.
var errSilent = errors.New("serial: no answer")

// ask repeats a request until one of the answers arrives.
func (t *negotiator) ask(m message, answers ...byte) (message, error) {
	for end := t.now().Add(t.answer); t.now().Before(end); {
		if err := t.send(m); err != nil {
			return m, err
		}
		for again := t.now().Add(askEvery); t.now().Before(again); {
			r, ok, err := t.receive(again)
			if err != nil {
				return m, err
			}
			if ok && r.rate == m.rate && slices.Contains(answers, r.kind) && (r.kind != msgEchoed || bytes.Equal(r.pattern, m.pattern)) {
				return r, nil
			}
		}
	}
	return m, errSilent
}

// Rates returns the default rates, in bits per second, in ascending order.
func Rates() []int {
	return []int{115200, 230400, 460800, 921600, 1000000, 1500000, 2000000, 3000000, 4000000}
}

// RaiseBaud is the host's side. It agrees with the board on the highest of
// rates that works, and returns it. Both ends must be at the rate base. A rate
// works if 64-byte patterns are echoed correctly and probe, unless it is nil,
// succeeds. RaiseBaud returns base if no other rate works or the board does not
// answer. It asks at least twice and for the time patience, since a slow board may still be at
// the rate of an earlier session. It waits for each answer for a twentieth of patience, 200 ms at least. The host must begin a session within a second; otherwise the
// board returns to base. An error is an error of the line.
func RaiseBaud(line Line, base int, rates []int, patience time.Duration, probe func(rate int) error) (int, error) {
	t := newNegotiator(line)
	t.giveUp, t.answer = t.now().Add(patience), max(answerTime, patience/20)
	sorted := slices.Clone(rates)
	slices.Sort(sorted)
	for _, rate := range slices.Backward(slices.Compact(sorted)) {
		if rate <= base {
			break
		}
		ok, err := t.raise(base, rate, probe)
		switch {
		case errors.Is(err, errSilent):
			return base, nil
		case err != nil:
			return base, err
		case ok:
			return rate, nil
		}
	}
	return base, nil
}

// raise reports whether both ends are at rate; otherwise both are at base. It
// fails with errSilent if the board does not answer at base.
func (t *negotiator) raise(base, rate int, probe func(rate int) error) (bool, error) {
	for try := 1; ; try++ {
		answer, err := t.ask(message{kind: msgAsk, rate: rate}, msgYes, msgNo)
		switch {
		case errors.Is(err, errSilent) && (try < tries || t.now().Before(t.giveUp)):
			// The board may have sent Yes and changed its rate, or not yet returned to base.
			if err := t.discard(fallBack); err != nil {
				return false, err
			}
		case err != nil:
			return false, err
		case answer.kind == msgNo:
			return false, nil
		default:
			return t.try(base, rate, probe)
		}
	}
}

// try changes to a rate and reports whether it works; if not, it returns to
// base.
func (t *negotiator) try(base, rate int, probe func(rate int) error) (bool, error) {
	err := t.line.SetBaud(rate)
	for i := 0; i < echoes && err == nil; i++ {
		_, err = t.ask(message{msgEcho, rate, pattern(i)}, msgEchoed)
	}
	if err == nil && probe != nil {
		if perr := probe(rate); perr != nil {
			err = errSilent
		}
	}
	wait := fallBack
	if err == nil {
		wait = keepFor
		_, err = t.ask(message{kind: msgKeep, rate: rate}, msgKept)
	}
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, errSilent) && !errors.Is(err, ErrRate) {
		return false, err
	}
	if err := t.line.SetBaud(base); err != nil {
		return false, err
	}
	return false, t.discard(wait + askEvery)
}

// discard drops everything that arrives for d.
func (t *negotiator) discard(d time.Duration) error {
	for end := t.now().Add(d); t.now().Before(end); {
		if _, _, err := t.receive(end); err != nil {
			return err
		}
	}
	t.heard = nil
	return nil
}

func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// pattern returns bytes that stress a line: long runs, all edges, and bytes
// that differ between exchanges.
func pattern(i int) []byte {
	p := make([]byte, msgMost-msgLeast)
	for k := range p {
		p[k] = [...]byte{0x55, 0xff, 0x01, 0xaa, 0x00, 0x7f, 0x80, byte(k + i)}[k%8]
	}
	return p
}

// AnswerBaud is the board's side. It follows the host from base to requested
// rates among rates, and returns the rate at which the host begins a session on
// the data link, which may be base; the host repeats its hello. It returns base
// and no error when stop is closed, after the current Read.
func AnswerBaud(line Line, base int, rates []int, stop <-chan struct{}) (int, error) {
	t := newNegotiator(line)
	t.board = true
	a := answerer{negotiator: t, base: base, rate: base, rates: rates}
	for !t.hello {
		select {
		case <-stop:
			return base, a.set(base)
		default:
		}
		m, ok, err := t.receive(t.now().Add(askEvery))
		switch {
		case err != nil:
			return a.rate, err
		case ok:
			err = a.reply(m)
		case !t.hello && a.rate != base && !t.now().Before(a.until):
			err = a.set(base)
		}
		if err != nil {
			return a.rate, err
		}
	}
	return a.rate, nil
}

// An answerer is the board's side of the protocol.
type answerer struct {
	*negotiator
	base, rate int
	rates      []int
	until      time.Time // when to return to base, unless the rate is base
}

func (a *answerer) set(rate int) error {
	if rate == a.rate {
		return nil
	}
	err := a.line.SetBaud(rate)
	if err == nil {
		a.rate = rate
	}
	return err
}

func (a *answerer) reply(m message) error {
	switch {
	case m.kind == msgAsk && a.rate == a.base && slices.Contains(a.rates, m.rate):
		if err := a.send(message{kind: msgYes, rate: m.rate}); err != nil {
			return err
		}
		a.heard, a.until = nil, a.now().Add(fallBack)
		return ignore(a.set(m.rate), ErrRate)
	case m.kind == msgAsk && a.rate == a.base:
		return a.send(message{kind: msgNo, rate: m.rate})
	case m.kind == msgEcho && m.rate == a.rate:
		a.until = a.now().Add(fallBack)
		return a.send(message{msgEchoed, a.rate, m.pattern})
	case m.kind == msgKeep && m.rate == a.rate:
		a.until = a.now().Add(keepFor)
		return a.send(message{kind: msgKept, rate: a.rate})
	}
	return nil
}
