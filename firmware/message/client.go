package message

import (
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// Open returns a client of a program that is ready. It continues with the heads and tails of the area,
// so it also follows a client that was lost. The first call is Hello.
func Open(r Registers, m Memory, o Options) (*Client, error) {
	switch {
	case o.Polls == 0:
		return nil, fmt.Errorf("%w: no limit of reads", ErrOptions)
	case o.Clocks > ClocksMost:
		return nil, fmt.Errorf("%w: limit of %d clocks, want at most %d", ErrOptions, o.Clocks, uint32(ClocksMost))
	}
	serves, err := r.Read(mcureg.Base + mcureg.Mail + 4*fwabi.MailDetail0)
	if err != nil {
		return nil, fmt.Errorf("message: read of MAIL2: %w", err)
	}
	c := &Client{r: r, m: m, o: o}
	magic, rings := c.load(fwabi.AreaMagicWord), c.load(fwabi.AreaRings)
	c.tail, c.head = c.load(fwabi.AreaRequestTail), c.load(fwabi.AreaAnswerTail)
	done := c.load(fwabi.AreaRequestHead)
	if c.err != nil {
		return nil, c.err
	}
	if serves == 0 || magic != fwabi.AreaMagic || rings > fwabi.RingsMost {
		return nil, fmt.Errorf("%w: the program serves none, or magic %#08x, want %#08x", ErrArea, magic, uint32(fwabi.AreaMagic))
	}
	c.entries = 1 << rings
	if c.tail-done > c.entries {
		c.tail = done
		c.store(fwabi.AreaRequestTail, c.tail)
	}
	c.store(fwabi.AreaAnswerHead, c.head)
	return c, c.err
}

// load reads a word of the area. After an error it returns 0.
func (c *Client) load(off uint32) uint32 {
	var b [4]byte
	c.read(off, b[:])
	return binary.LittleEndian.Uint32(b[:])
}

func (c *Client) read(off uint32, b []byte) {
	if c.err != nil {
		return
	}
	if err := c.m.ReadHost(off, b); err != nil {
		c.err = fmt.Errorf("message: read of the area at %#x: %w", off, err)
	}
}

// store writes a word of the area.
func (c *Client) store(off, v uint32) { c.write(off, binary.LittleEndian.AppendUint32(nil, v)) }

func (c *Client) write(off uint32, b []byte) {
	if c.err != nil {
		return
	}
	if err := c.m.WriteHost(off, b); err != nil {
		c.err = fmt.Errorf("message: write of the area at %#x: %w", off, err)
	}
}

// Hello begins a session. Answers to requests of earlier sessions are dropped. session is not 0, and
// another number than that of the session before.
func (c *Client) Hello(session uint32) (Info, error) {
	if session == 0 {
		return Info{}, fmt.Errorf("%w: session 0", ErrOptions)
	}
	c.err, c.notices = nil, nil
	payload := binary.LittleEndian.AppendUint32(nil, fwabi.Version)
	payload = binary.LittleEndian.AppendUint32(payload, session)
	c.send(fwabi.OpHello, session, payload)
	for {
		e := c.take()
		if c.err != nil {
			return Info{}, c.err
		}
		if e.sequence != session || e.op != fwabi.OpHello {
			continue
		}
		c.next = 1
		word := func(i int) uint32 { return binary.LittleEndian.Uint32(e.payload[4*i:]) }
		if e.status != fwabi.StatusOK {
			c.err = &StatusError{e.op, e.status}
			return Info{}, c.err
		}
		if len(e.payload) != 12 {
			c.err = fmt.Errorf("%w: HELLO with %d bytes, want 12", ErrSequence, len(e.payload))
			return Info{}, c.err
		}
		return Info{word(0), word(1), word(2) & fwabi.LimitQueues}, nil
	}
}

// Call sends a request and waits for its answer. A status other than OK is a StatusError. Notices that
// arrive meanwhile are kept for Notices.
func (c *Client) Call(op uint32, payload []byte) (status uint32, answer []byte, err error) {
	switch {
	case c.err != nil:
		return 0, nil, c.err
	case len(payload) > fwabi.PayloadBytes:
		return 0, nil, fmt.Errorf("%w: %d bytes, want at most %d", ErrPayload, len(payload), fwabi.PayloadBytes)
	}
	sequence := c.next
	if c.next++; c.next == 0 {
		c.next = 1
	}
	c.send(op, sequence, payload)
	e := c.take()
	for c.err == nil && e.notice() {
		c.notices = append(c.notices, Notice{e.op, e.payload})
		e = c.take()
	}
	switch {
	case c.err != nil:
		return 0, nil, c.err
	case e.sequence != sequence || e.op != op:
		c.err = fmt.Errorf("%w: %s with sequence %d, want %s with %d", ErrSequence, opName(e.op), e.sequence, opName(op), sequence)
		return 0, nil, c.err
	case e.status != fwabi.StatusOK:
		return e.status, nil, &StatusError{op, e.status}
	}
	return e.status, e.payload, nil
}

// Selftest runs the self-test of the boot again, but for the test of the data memory. test selects the
// window that it overwrites: its number in bits 31..29 and its size in bytes in 28..2; 0: that of the
// boot. A test that fails is no error.
func (c *Client) Selftest(test uint32) (Finding, error) {
	_, answer, err := c.Call(fwabi.OpSelftest, binary.LittleEndian.AppendUint32(nil, test))
	if err != nil {
		return Finding{}, err
	}
	if len(answer) != 20 {
		c.err = fmt.Errorf("%w: SELFTEST with %d bytes, want 20", ErrSequence, len(answer))
		return Finding{}, c.err
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(answer[4*i:]) }
	return Finding{word(0), word(1), [3]uint32{word(2), word(3), word(4)}}, nil
}

// Notices returns the notices that have arrived since the last call, in their order. It fails if an
// answer is there to which there is no request.
func (c *Client) Notices() ([]Notice, error) {
	for c.err == nil && c.load(fwabi.AreaAnswerTail) != c.head {
		e := c.take()
		if c.err == nil && !e.notice() {
			c.err = fmt.Errorf("%w: %s with sequence %d, want a notice", ErrSequence, opName(e.op), e.sequence)
		}
		if c.err == nil {
			c.notices = append(c.notices, Notice{e.op, e.payload})
		}
	}
	all := c.notices
	c.notices = nil
	return all, c.err
}

// An entry is an entry of the ring of answers.
type entry struct {
	sequence, op, status uint32
	payload              []byte
}

func (e entry) notice() bool { return e.sequence == 0 && e.op >= fwabi.OpFault }

// send waits for room, writes a request, and rings.
func (c *Client) send(op, sequence uint32, payload []byte) {
	if c.tail-c.load(fwabi.AreaRequestHead) >= c.entries {
		c.ring() // the firmware may wait for room that a client before this one has made
	}
	c.wait(func() bool { return c.tail-c.load(fwabi.AreaRequestHead) < c.entries })
	b := binary.LittleEndian.AppendUint32(nil, sequence)
	b = binary.LittleEndian.AppendUint32(b, op|uint32(len(payload))<<8)
	b = append(b, payload...)
	c.write(fwabi.AreaRequests+c.tail%c.entries*fwabi.EntryBytes, b)
	if c.err != nil {
		return
	}
	c.tail++
	c.store(fwabi.AreaRequestTail, c.tail)
	c.ring()
}

// ring rings the doorbell of the messages.
func (c *Client) ring() {
	if c.err != nil {
		return
	}
	if err := c.r.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellMessages); err != nil {
		c.err = fmt.Errorf("message: doorbell: %w", err)
	}
}

// take waits for an entry of the ring of answers, and takes it. It rings if the firmware may wait for
// room: if the ring was full before the firmware could see the new head.
func (c *Client) take() entry {
	c.wait(func() bool { return c.load(fwabi.AreaAnswerTail) != c.head })
	b := make([]byte, fwabi.EntryBytes)
	c.read(fwabi.AreaAnswers+c.head%c.entries*fwabi.EntryBytes, b)
	if c.err != nil {
		return entry{}
	}
	head := binary.LittleEndian.Uint32(b[4:])
	n := head & fwabi.HeadLength >> 8
	if n > fwabi.PayloadBytes || head&fwabi.HeadReserved != 0 {
		c.err = fmt.Errorf("%w: head %#08x", ErrSequence, head)
		return entry{}
	}
	c.store(fwabi.AreaAnswerHead, c.head+1)
	if c.load(fwabi.AreaAnswerTail)-c.head >= c.entries {
		c.ring()
	}
	c.head++
	return entry{binary.LittleEndian.Uint32(b), head & fwabi.HeadOp, head & fwabi.HeadStatus >> 16, b[8 : 8+n]}
}

// time reads the low half of ID.TIME. Without a limit of clocks it is 0.
func (c *Client) time() uint32 {
	if c.err != nil || c.o.Clocks == 0 {
		return 0
	}
	v, err := c.r.Read(idreg.Base + idreg.TimeLo)
	if err != nil {
		c.err = fmt.Errorf("message: read of ID.TIME: %w", err)
	}
	return v
}

// late reports whether a wait since a time has used its limit of clocks, or the time stands still. If the read of the
// time fails, it is false.
func (c *Client) late(since uint32) bool {
	passed := c.time() - since
	return c.err == nil && (passed >= c.o.Clocks || passed == 0)
}

// wait waits until there is room or an entry.
func (c *Client) wait(ready func() bool) {
	since := uint32(0)
	for polls := uint64(0); !ready() && c.err == nil; polls++ {
		if polls == 0 {
			since = c.time()
		}
		if c.err != nil {
			return
		}
		status, err := c.r.Read(mcureg.Base + mcureg.Status)
		switch {
		case err != nil:
			c.err = fmt.Errorf("message: read of MCU.STATUS: %w", err)
		case status&mcureg.StatusHung != 0:
			c.err = ErrHung
		case polls >= c.o.Polls && c.late(since):
			c.err = fmt.Errorf("%w: after %d reads of MCU.STATUS", ErrTimeout, polls)
		}
	}
}
