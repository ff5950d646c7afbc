package pins

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// word returns word i of the data of packet n: its number, then words that depend on it.
func word64(n, i uint64) uint64 {
	if i == 0 {
		return n
	}
	x := (n<<4 + i) * 0x9e3779b97f4a7c15
	return x ^ x>>31
}

// A ledger checks at the end of one direction that each numbered write arrives once, in order
// and unchanged. Writes may be missing only between sessions.
type ledger struct {
	next    uint64 // number of the write that must arrive next
	made    uint64 // numbers so far
	gap     bool   // writes may be missing before the next one
	base    uint64 // or before this one, the first of a session
	missing uint64
	arrived uint64
	err     error // the first fault
}

// begin checks the number of a write.
func (l *ledger) begin(n uint64) {
	if n > l.next && n < l.made && (l.gap || n == l.base) {
		l.missing += n - l.next
		l.next = n
	}
	if n != l.next || n >= l.made {
		l.fail("write %d arrives, want write %d of %d", n, l.next, l.made)
	}
	l.gap = false
	l.next++
	l.arrived++
}

// word checks a word of the write that has begun.
func (l *ledger) word(i, got uint64) {
	if want := word64(l.next-1, i); got != want {
		l.fail("word %d of write %d is %#x, want %#x", i, l.next-1, got, want)
	}
}

func (l *ledger) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// maxReads is the number of reads in flight at each end.
const maxReads = 4

// A recorder is a device that checks the writes of the host, answers its reads with the words
// of their address, writes to the host all the time, and reads from it.
type recorder struct {
	r          *rand.Rand
	down       ledger // writes of the host
	up         *ledger
	req        port.Request // of the host
	beat       int
	out        port.Request // offered
	write      port.Request // whose header was taken
	number     uint64       // of the write
	at         int          // beats of the write that were taken
	reads      [maxReads]uint64
	left       [maxReads]int // beats of the read
	done, lost uint64        // reads
	cut        bool          // reads may fail, until one ends well in a session that has begun
	begun      bool
	most       uint64 // writes from number start on that have not arrived, and fewer reads; 0: any
	start      uint64
}

func (d *recorder) IdleFor() uint64 { return 0 }
func (d *recorder) Skip(uint64)     {}

func (d *recorder) Target() (cpl port.Completion, reqReady, dataReady bool) {
	switch d.req.Kind {
	case port.None:
		return cpl, true, false
	case port.MemRead:
		n := int(port.Beats(d.req.Addr, d.req.Len))
		data := word64(d.req.Addr/128, uint64(d.beat))
		return port.Completion{Tag: d.req.Tag, Status: port.CplSuccess, Last: d.beat == n-1, Data: data}, false, false
	default:
		return cpl, false, true
	}
}

func (d *recorder) Initiator() (req port.Request, beat port.Beat) {
	if n := int(d.write.Len) / 2; d.at < n {
		beat = port.Beat{Valid: true, Last: d.at == n-1, Enable: 255, Data: word64(d.number, uint64(d.at))}
	}
	return d.out, beat
}

func (d *recorder) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	answer, takes, takesBeat := d.Target()
	switch {
	case takes && req.Kind != port.None:
		d.req, d.beat = req, 0
	case takesBeat && beat.Valid:
		if d.beat == 0 {
			d.down.begin(beat.Data)
		}
		d.down.word(uint64(d.beat), beat.Data)
		if beat.Enable != 255 || beat.Last != (d.beat == int(d.req.Len)/2-1) {
			d.down.fail("beat %d of %+v is %+v", d.beat, d.req, beat)
		}
		if d.beat++; beat.Last {
			d.req = port.Request{}
		}
	case cplReady && answer.Status != port.CplNone:
		if d.beat++; answer.Last {
			d.req = port.Request{}
		}
	}
	d.complete(cpl)
	d.initiate(reqReady, dataReady)
}

// complete takes a completion.
func (d *recorder) complete(cpl port.Completion) {
	if cpl.Status == port.CplNone {
		return
	}
	tag := cpl.Tag
	if tag >= maxReads || d.left[tag] == 0 {
		d.down.fail("a completion of no read: %+v", cpl)
		return
	}
	if cpl.Status != port.CplSuccess {
		if !d.cut {
			d.down.fail("a read fails: %+v", cpl)
		}
		d.left[tag] = 0
		d.lost++
		return
	}
	d.cut = d.cut && !d.begun
	n := uint64(d.left[tag])
	total := d.reads[tag] & 31
	if want := word64(d.reads[tag], total-n); cpl.Data != want {
		d.down.fail("word %d of read %#x is %#x, want %#x", total-n, d.reads[tag], cpl.Data, want)
	}
	if d.left[tag]--; d.left[tag] == 0 {
		d.done++
	}
	if cpl.Last != (d.left[tag] == 0) {
		d.down.fail("%+v with %d beats left", cpl, d.left[tag])
	}
}

// initiate takes what was taken of the request, and makes the next one. The word of a read's
// address has the number of its beats in the low bits.
func (d *recorder) initiate(reqReady, dataReady bool) {
	if dataReady && d.at < int(d.write.Len)/2 {
		d.at++
	}
	if reqReady && d.out.Kind == port.MemWrite {
		d.write, d.at, d.number = d.out, 0, d.up.made
		d.up.made++
	}
	if reqReady {
		d.out = port.Request{}
	}
	if d.out.Kind != port.None || d.at < int(d.write.Len)/2 {
		return
	}
	n, reads := 1+min(d.r.IntN(16), d.r.IntN(16), d.r.IntN(16)), maxReads
	if d.most != 0 {
		reads = int(d.most) - 1
	}
	if d.most == 0 || d.up.made < max(d.up.next, d.start)+d.most {
		d.out = port.Request{Kind: port.MemWrite, Len: uint8(2 * n), Addr: 1 << 33}
	}
	if tag := d.r.IntN(4 * maxReads); tag < reads && d.left[tag] == 0 {
		d.reads[tag] = uint64(d.r.IntN(1<<20))<<5 | uint64(n)
		d.left[tag] = n
		d.out = port.Request{Kind: port.MemRead, Tag: uint8(tag), Len: uint8(2 * n), Addr: 128 * d.reads[tag]}
	}
}

// data returns the words of packet n.
func data64(n uint64, words int) (p []byte) {
	for i := range words {
		p = binary.LittleEndian.AppendUint64(p, word64(n, uint64(i)))
	}
	return p
}
