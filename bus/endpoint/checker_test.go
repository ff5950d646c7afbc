package endpoint_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// checker is a device that checks its inputs and outputs against the rules of
// package port, and records the first violation.
type checker struct {
	port.Device
	wrong string

	shown port.Request // a header that was not taken yet
	owed  []port.Request
	got   int // beats received of owed[0]
	reads map[uint8]int
}

func newChecker(d port.Device) *checker { return &checker{Device: d, reads: map[uint8]int{}} }

func (c *checker) fail(format string, args ...any) {
	if c.wrong == "" {
		c.wrong = fmt.Sprintf(format, args...)
	}
}

func (c *checker) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	_, takesReq, takesBeat := c.Target()
	if c.shown.Kind != port.None && req != c.shown {
		c.fail("header %v became %v before it was taken", c.shown, req)
	}
	c.shown = req
	if takesReq && req.Kind != port.None {
		c.shown = port.Request{}
		c.header(req)
	}
	if beat.Valid {
		c.beat(beat, takesBeat)
	}
	if cpl.Status != port.CplNone {
		c.completion(cpl)
	}
	if r, _ := c.Initiator(); reqReady && r.Kind == port.MemRead {
		c.reads[r.Tag] = int(port.Beats(r.Addr, r.Len))
	}
	c.Device.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

func (c *checker) header(r port.Request) {
	config := r.Kind == port.CfgRead || r.Kind == port.CfgWrite
	end := r.Addr + 4*uint64(r.Len) - 1
	switch {
	case r.Addr%4 != 0 || r.Len < 1 || r.Len > port.MaxLen || r.Addr/128 != end/128:
		c.fail("request %v out of bounds", r)
	case config && (r.Len != 1 || r.Addr > 0xffc):
		c.fail("configuration request %v out of bounds", r)
	case len(c.owed) > 0:
		c.fail("header %v before the beats of %v", r, c.owed[0])
	}
	if r.Kind == port.MemWrite || r.Kind == port.CfgWrite {
		c.owed, c.got = append(c.owed, r), 0
	}
}

func (c *checker) beat(b port.Beat, taken bool) {
	if len(c.owed) == 0 {
		c.fail("beat %v without a header", b)
		return
	}
	r := c.owed[0]
	n := int(port.Beats(r.Addr, r.Len))
	if b.Last != (c.got == n-1) {
		c.fail("beat %d of %d has last %v", c.got, n, b.Last)
	}
	low := b.Enable & -b.Enable
	if (b.Enable+low)&b.Enable != 0 || c.got > 0 && !b.Last && b.Enable != 0xff {
		c.fail("beat %d of %d has enables %#x", c.got, n, b.Enable)
	}
	for i := range 8 {
		a := r.Addr&^7 + uint64(8*c.got+i)
		if b.Enable>>i&1 != 0 && (a < r.Addr || a >= r.Addr+4*uint64(r.Len)) {
			c.fail("beat %d of %v enables %#x", c.got, r, a)
		}
	}
	if b.Enable == 0 {
		c.fail("beat %d of %v writes nothing", c.got, r)
	}
	if !taken {
		return
	}
	if c.got++; c.got == n {
		c.owed = c.owed[:0]
	}
}

func (c *checker) completion(v port.Completion) {
	left := c.reads[v.Tag]
	switch {
	case left == 0:
		c.fail("unexpected completion %v", v)
	case v.Status != port.CplSuccess && !v.Last:
		c.fail("completion %v is not the last", v)
	case v.Status == port.CplSuccess && v.Last != (left == 1):
		c.fail("completion %v with %d beats missing", v, left)
	}
	c.reads[v.Tag] = left - 1
	if v.Last {
		delete(c.reads, v.Tag)
	}
}

// Parts of the memory of a test device.
const (
	ramBytes = 0x4000
	holeAt   = 0x4000 // unsupported from here on
	abortAt  = 0x8000 // aborted from here on
)

// testDevice is a function with byte-addressed memory. It completes reads of
// different tags in any order, and sends the given requests.
type testDevice struct {
	ram    [ramBytes]byte
	config [4096]byte
	rng    *rand.Rand // nil: always ready and in order
	now    uint64

	req     port.Request
	beats   int
	answers [][]port.Completion // one element per request
	log     []port.Request      // requests taken

	script     []step
	sent       bool
	takes      bool // ready in this clock
	offers     int  // index of the offered completion
	cpls       []port.Completion
	noCpls     bool   // takes requests but sends no completions
	noRequests bool   // takes no requests
	bad        uint64 // reads from this address on abort, if not 0
	cplAt      []uint64
}

// A step is one request at the initiator port.
type step struct {
	req   port.Request
	beats []port.Beat
}

func (d *testDevice) roll() {
	d.takes, d.offers = !d.noRequests, 0
	if d.rng != nil {
		d.takes = !d.noRequests && d.rng.IntN(3) > 0
		if len(d.answers) > 0 {
			d.offers = d.rng.IntN(len(d.answers))
		}
	}
}

func (d *testDevice) Target() (cpl port.Completion, reqReady, dataReady bool) {
	if len(d.answers) > 0 && !d.noCpls {
		cpl = d.answers[d.offers][0]
	}
	writing := d.req.Kind == port.MemWrite || d.req.Kind == port.CfgWrite
	return cpl, d.takes && d.req.Kind == port.None && len(d.answers) < 8, d.takes && writing
}

func (d *testDevice) Initiator() (req port.Request, beat port.Beat) {
	if len(d.script) == 0 {
		return req, beat
	}
	s := d.script[0]
	if !d.sent {
		req = s.req
	}
	if len(s.beats) > 0 {
		beat = s.beats[0]
	}
	return req, beat
}

func (d *testDevice) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	out, takesReq, takesBeat := d.Target()
	if cplReady && out.Status != port.CplNone {
		d.answers[d.offers] = d.answers[d.offers][1:]
		if len(d.answers[d.offers]) == 0 {
			d.answers = append(d.answers[:d.offers:d.offers], d.answers[d.offers+1:]...)
		}
		d.roll()
	} else if out.Status == port.CplNone {
		d.roll()
	} else {
		offers := d.offers
		d.roll()
		d.offers = offers // an offered completion stays offered
	}
	if takesBeat && beat.Valid {
		d.write(beat)
	}
	if takesReq && req.Kind != port.None {
		d.log = append(d.log, req)
		d.req, d.beats = req, 0
		d.read()
	}
	if cpl.Status != port.CplNone {
		d.cpls = append(d.cpls, cpl)
		d.cplAt = append(d.cplAt, d.now)
	}
	d.initiate(reqReady, dataReady)
	d.now++
}

func (d *testDevice) initiate(reqReady, dataReady bool) {
	if len(d.script) == 0 {
		return
	}
	s := &d.script[0]
	d.sent = d.sent || reqReady
	if dataReady && len(s.beats) > 0 {
		s.beats = s.beats[1:]
	}
	if d.sent && len(s.beats) == 0 {
		d.script, d.sent = d.script[1:], false
	}
}

func (d *testDevice) write(b port.Beat) {
	base := d.req.Addr&^7 + uint64(8*d.beats)
	d.beats++
	for i := range uint64(8) {
		if b.Enable>>i&1 == 0 {
			continue
		}
		if d.req.Kind == port.CfgWrite {
			d.config[base+i] = byte(b.Data >> (8 * i))
		} else if base+i < ramBytes {
			d.ram[base+i] = byte(b.Data >> (8 * i))
		}
	}
	if b.Last {
		if d.req.Kind == port.CfgWrite {
			d.answers = append(d.answers, []port.Completion{{Tag: d.req.Tag, Status: port.CplSuccess, Last: true}})
		}
		d.req = port.Request{}
	}
}

func (d *testDevice) read() {
	r := d.req
	var src []byte
	switch {
	case r.Kind == port.MemWrite || r.Kind == port.CfgWrite:
		return
	case r.Kind == port.CfgRead:
		src = d.config[:]
	case r.Addr >= abortAt || d.bad != 0 && d.bad < r.Addr+4*uint64(r.Len):
		d.answers = append(d.answers, []port.Completion{{Tag: r.Tag, Status: port.CplAbort, Last: true}})
	case r.Addr >= holeAt:
		d.answers = append(d.answers, []port.Completion{{Tag: r.Tag, Status: port.CplUnsupported, Last: true}})
	default:
		src = d.ram[:]
	}
	d.req = port.Request{}
	if src == nil {
		return
	}
	var all []port.Completion
	n := int(port.Beats(r.Addr, r.Len))
	for i := range n {
		c := port.Completion{Tag: r.Tag, Status: port.CplSuccess, Last: i == n-1}
		for j := range uint64(8) {
			if a := r.Addr&^7 + uint64(8*i) + j; a >= r.Addr && a < r.Addr+4*uint64(r.Len) {
				c.Data |= uint64(src[a]) << (8 * j)
			}
		}
		all = append(all, c)
	}
	d.answers = append(d.answers, all)
}

func (d *testDevice) IdleFor() uint64 {
	if d.req.Kind != port.None || len(d.answers) > 0 && !d.noCpls || len(d.script) > 0 || d.rng != nil && !d.takes {
		return 0
	}
	return math.MaxUint64
}

func (d *testDevice) Skip(n uint64) { d.now += n }

// sendWrite queues a write of p at the initiator, at any address within an
// aligned block of 128 bytes.
func (d *testDevice) sendWrite(addr uint64, p []byte) {
	first, end := addr&^3, (addr+uint64(len(p))+3)&^3
	s := step{req: port.Request{Kind: port.MemWrite, Len: uint8((end - first) / 4), Addr: first}}
	for at := first &^ 7; at < end; at += 8 {
		b := port.Beat{Valid: true, Last: at+8 >= end}
		for i := range uint64(8) {
			if a := at + i; a >= addr && a < addr+uint64(len(p)) {
				b.Enable |= 1 << i
				b.Data |= uint64(p[a-addr]) << (8 * i)
			}
		}
		s.beats = append(s.beats, b)
	}
	d.script = append(d.script, s)
}

func (d *testDevice) sendRead(tag uint8, addr uint64, dwords uint8) {
	d.script = append(d.script, step{req: port.Request{Kind: port.MemRead, Tag: tag, Len: dwords, Addr: addr}})
}
