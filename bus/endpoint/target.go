package endpoint

import (
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// maxBeats is the number of beats of the longest request.
const maxBeats = port.MaxLen/2 + 1

// A waiting is a request of the host. Its first at bytes have been at the port.
type waiting struct {
	head tlp.Packet // without its data
	data []byte
	at   int
	read *read // collects its completion; nil before that and for a memory write
}

// target turns the host's requests into requests of the target port, in order.
type target struct {
	maxPayload int // of the endpoint or the session, in bytes
	allowed    int // by the Device Control register of the device, in bytes

	queue  ring[waiting]
	posted uint64 // memory writes received
	done   uint64 // memory writes completely taken by the device

	req   port.Request // shown at the port
	beats [maxBeats]port.Beat
	owed  int // beats of the current write
	sent  int // beats taken

	chunks [256]chunk // by tag at the port
	tag    uint8      // next tag to try
	used   int        // chunks in use
	free   []*read
	ready  ring[*read] // reads with completions to send
	reads  []read
}

func newTarget(opt Options) target {
	t := target{
		maxPayload: opt.MaxPayload,
		allowed:    RCB,
		queue:      newRing[waiting](opt.Queue),
		ready:      newRing[*read](opt.Reads),
		reads:      make([]read, opt.Reads),
	}
	t.freeAll()
	return t
}

// reset drops all requests except the one at the port.
func (t *target) reset() {
	t.queue.clear()
	t.done = t.posted
	for i := range t.chunks {
		t.chunks[i].read = nil
	}
	t.ready.clear()
	t.freeAll()
}

func (t *target) freeAll() {
	t.free = t.free[:0]
	for i := range t.reads {
		t.free = append(t.free, &t.reads[i])
	}
}

// busy reports whether a request is at the port.
func (t *target) busy() bool { return t.req.Kind != port.None || t.sent < t.owed }

// loadable reports whether the oldest request can move to the port.
func (t *target) loadable() bool {
	if t.queue.empty() || t.busy() {
		return false
	}
	w := t.queue.front()
	if w.isPosted() {
		return true
	}
	return t.used < len(t.chunks) && (w.read != nil || len(t.free) > 0)
}

func (w *waiting) isPosted() bool { return w.head.Kind.Class() == tlp.Posted }

// drive returns the target port's inputs. A beat is shown no earlier than in
// the clock that takes its header.
func (t *target) drive(reqReady, dataReady bool) (req port.Request, beat port.Beat) {
	for t.loadable() {
		t.load()
	}
	req = t.req
	if reqReady {
		t.req = port.Request{}
	}
	if t.req.Kind == port.None && t.sent < t.owed {
		beat = t.beats[t.sent]
		if dataReady {
			t.sent++
		}
	}
	for !t.busy() && !t.queue.empty() && t.queue.front().exhausted() {
		t.retire()
	}
	return req, beat
}

// load moves the next part of the oldest request to the port, or retires the
// request if nothing is left.
func (t *target) load() {
	w := t.queue.front()
	if !w.isPosted() && w.read == nil {
		w.read = t.free[len(t.free)-1]
		t.free = t.free[:len(t.free)-1]
		w.read.start(w, min(t.maxPayload, t.allowed))
		t.offer(w.read) // if it has failed already
	}
	switch {
	case w.exhausted():
		t.retire()
	case w.head.Kind == tlp.MWr32 || w.head.Kind == tlp.MWr64:
		t.loadWrite(w, port.MemWrite)
	case w.read.flush:
		w.at = 4 * w.head.Len
		t.show(w.read, port.Request{Kind: port.CfgRead, Len: 1, Addr: pcicfg.Command}, 0, w.at)
	case w.head.Kind == tlp.CfgWr0:
		t.watch(w)
		t.loadWrite(w, port.CfgWrite)
	case w.head.Kind == tlp.CfgRd0:
		w.at = 4
		t.show(w.read, port.Request{Kind: port.CfgRead, Len: 1, Addr: w.head.Addr}, 0, 4)
	default:
		at, addr := w.at, w.head.Addr+uint64(w.at)
		n := min(4*w.head.Len-at, maxRequest-int(addr%maxRequest))
		w.at += n
		t.show(w.read, port.Request{Kind: port.MemRead, Len: uint8(n / 4), Addr: addr}, at, n)
	}
}

// watch notes the Max_Payload_Size that the host writes to the Device Control register
// of the device. After a function-level reset it is 128 bytes (PCIe 3.0 §7.8.4).
func (t *target) watch(w *waiting) {
	if w.head.Addr != pcicfg.DevCtl || w.at != 0 {
		return
	}
	if w.head.First&1 != 0 {
		t.allowed = RCB << (w.data[0] & pcicfg.DevCtlMaxPayload >> 5)
	}
	if w.head.First&2 != 0 && w.data[1]&(pcicfg.DevCtlReset>>8) != 0 {
		t.allowed = RCB
	}
}

// exhausted reports whether no part of w remains for the port.
func (w *waiting) exhausted() bool {
	switch {
	case w.isPosted():
		start, _ := w.run()
		return start == len(w.data)
	case w.read == nil:
		return false
	case w.read.failed < len(w.read.parts):
		return true
	case w.head.Kind == tlp.CfgWr0 && !w.read.flush:
		start, _ := w.run()
		return start == len(w.data)
	}
	return w.at == 4*w.head.Len
}

// retire removes the oldest request from the queue.
func (t *target) retire() {
	w := t.queue.front()
	if w.isPosted() {
		t.done++
	} else {
		w.read.whole = true
		t.release(w.read)
	}
	t.queue.pop()
}

// show puts a non-posted request on the port. Its data is n bytes of the read,
// from off on.
func (t *target) show(r *read, req port.Request, off, n int) {
	for t.chunks[t.tag].used {
		t.tag++
	}
	req.Tag = t.tag
	t.tag++
	t.used++
	r.atDevice++
	beats := uint8(1)
	if req.Kind == port.MemRead {
		beats = port.Beats(req.Addr, req.Len)
	}
	t.chunks[req.Tag] = chunk{used: true, kind: req.Kind, read: r, off: off, n: n, lane: int(req.Addr & 7), beats: beats}
	t.req = req
	t.owed, t.sent = 0, 0
}

// loadWrite puts the next run of enabled bytes of a write on the port.
func (t *target) loadWrite(w *waiting, kind port.Kind) {
	start, end := w.run()
	lo := w.head.Addr + uint64(start)
	hi := w.head.Addr + uint64(end)
	first := lo &^ 3
	req := port.Request{Kind: kind, Len: uint8((hi - first + 3) / 4), Addr: first}
	if kind == port.CfgWrite {
		t.show(w.read, req, start, end-start)
	} else {
		t.req = req
	}
	t.owed, t.sent = int(port.Beats(req.Addr, req.Len)), 0
	for i := range t.owed {
		b := port.Beat{Valid: true, Last: i == t.owed-1}
		base := first&^7 + uint64(beatBytes*i)
		for lane := range uint64(beatBytes) {
			if a := base + lane; a >= lo && a < hi {
				b.Enable |= 1 << lane
				b.Data |= uint64(w.data[a-w.head.Addr]) << (8 * lane)
			}
		}
		t.beats[i] = b
	}
	w.at = end
}

// run returns the next contiguous enabled bytes of a write, from w.at on, that
// fit one request: offsets in its data, with start at the end if there are
// none.
func (w *waiting) run() (start, end int) {
	n := len(w.data)
	for start = w.at; start < n && !w.enabled(start); start++ {
	}
	limit := min(n, start+maxRequest-int((w.head.Addr+uint64(start))%maxRequest))
	for end = start; end < limit && w.enabled(end); end++ {
	}
	return start, end
}

// enabled reports whether byte i of a write is enabled.
func (w *waiting) enabled(i int) bool {
	switch {
	case i < 4:
		return w.head.First>>i&1 != 0
	case i >= len(w.data)-4:
		return w.head.Last>>(i&3)&1 != 0
	}
	return true
}
