package link

import (
	"bytes"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A chatty is a memory that also reads and writes host memory at random. It checks that each
// read ends once, after its beats or with a failure.
type chatty struct {
	memory
	r     *rand.Rand
	odd   bool         // requests have any length, address and enables
	tags  uint8        // of reads, as a mask
	up    port.Request // offered
	write port.Request // whose header was taken
	beat  port.Beat    // of the write, offered
	left  int          // beats of the write
	reads map[uint8]int
	ended int
	whole int // ended with all their data
}

func newChatty(t *testing.T, r *rand.Rand) *chatty {
	return &chatty{memory: memory{t: t, bytes: map[uint64]byte{}}, r: r, tags: 63, reads: map[uint8]int{}}
}

func (d *chatty) Initiator() (port.Request, port.Beat) { return d.up, d.beat }

// request returns a request.
func (d *chatty) request() port.Request {
	q := port.Request{Kind: port.MemWrite, Len: uint8(2 * (1 + d.r.IntN(16))), Addr: uint64(d.r.IntN(1<<30)) << 7}
	if d.odd {
		q.Len = uint8(1 + min(d.r.IntN(32), d.r.IntN(32)))
		q.Addr = d.r.Uint64()>>d.r.IntN(57)&^127 + uint64(4*d.r.IntN(33-int(q.Len)))
	}
	if tag := uint8(d.r.IntN(64)) & d.tags; d.reads[tag] == 0 && d.r.IntN(2) == 0 {
		q.Kind, q.Tag = port.MemRead, tag
	}
	return q
}

// offer offers the next beat of the write.
func (d *chatty) offer() {
	if d.left == 0 {
		d.beat = port.Beat{}
		return
	}
	low, high := 0, 8 // lanes
	first := d.left == int(port.Beats(d.write.Addr, d.write.Len))
	if first {
		low = int(d.write.Addr & 4)
	}
	if d.left == 1 {
		high = 1 + int((d.write.Addr+4*uint64(d.write.Len)-1)&7)
	}
	if d.odd && first {
		low += d.r.IntN(min(4, high-low))
	}
	if d.odd && d.left == 1 {
		high -= d.r.IntN(min(4, high-low))
	}
	d.beat = port.Beat{Valid: true, Last: d.left == 1, Enable: uint8(255<<low) & uint8(255>>(8-high)), Data: d.r.Uint64()}
}

func (d *chatty) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if dataReady && d.beat.Valid {
		d.left--
		d.offer()
	}
	if reqReady && d.up.Kind != port.None {
		n := int(port.Beats(d.up.Addr, d.up.Len))
		if d.up.Kind == port.MemRead {
			d.reads[d.up.Tag] = n
		} else {
			d.write, d.left = d.up, n
			d.offer()
		}
		d.up = port.Request{}
	} else if d.up.Kind == port.None && d.left == 0 && d.r.IntN(60) == 0 {
		d.up = d.request()
	}
	if cpl.Status != port.CplNone {
		left := d.reads[cpl.Tag]
		require.Positive(d.t, left, "a completion of no read: %+v", cpl)
		require.Equal(d.t, cpl.Status != port.CplSuccess || left == 1, cpl.Last, "%+v with %d beats left", cpl, left)
		d.reads[cpl.Tag]--
		if cpl.Last {
			delete(d.reads, cpl.Tag)
			d.ended++
			if cpl.Status == port.CplSuccess {
				d.whole++
			}
		}
	}
	d.memory.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

var hostileFlag = flag.Int("link.frames", 6000, "frames of TestHostile")

// TestHostile: good frames with any head, number and packet, and completions for any read,
// break no rule of the GPU's ports and do not stop the link: a session can be begun, and
// answers, after any of them.
func TestHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 13))
	c := quick
	c.Window = 8
	b := newBench(t, c)
	d := newChatty(t, r)
	b.dev = d
	opens, answers := b.hostile(r, *hostileFlag, func(n int) bool {
		if st := b.m.Status(); st.Up && n%100 != 0 {
			return false
		}
		b.begin(hello(uint32(n) + 1))
		return true
	})
	require.Greater(t, opens, *hostileFlag/100)
	require.Greater(t, d.ended, *hostileFlag/20)
	require.Greater(t, d.whole, *hostileFlag/100)
	t.Log(opens, "sessions,", answers, "Pongs,", d.ended, "reads of the device,", d.whole, "with data")
}

// hostile sends frames with any heads, numbers and packets. before is called before each one
// and reports whether a session has begun. It returns the sessions and the Pongs.
func (b *bench) hostile(r *rand.Rand, frames int, before func(n int) bool) (opens, answers int) {
	var next, ack uint16
	var asked [][]byte // the newest reads of the GPU
	for n := range frames {
		if before(n) {
			next, ack, opens = 0, 0, opens+1
		}
		silent := n/100%4 == 1        // the host acknowledges few packets
		if silent && r.IntN(4) == 0 { // the oldest one arrives while it is sent again
			b.send(number(1, ack), b.epoch, r.IntN(60))
			ack++
			b.send(number(0, ack), b.epoch, r.IntN(100))
		}
		switch r.IntN(8) {
		case 0:
			b.send(number(uint16(r.IntN(7)), uint16(r.Uint32())), b.epoch, r.IntN(300))
		case 1:
			b.send(number(uint16(r.IntN(16)), next+uint16(r.IntN(9))-4), b.epoch, r.IntN(300))
		case 2:
			f := make([]byte, 2+r.IntN(160))
			for i := range f {
				f[i] = byte(r.Uint32())
			}
			if f[0]>>4 == 7 && r.IntN(10) != 0 {
				f[0] = 0x80
			}
			b.send(f, b.epoch, r.IntN(300))
		case 3:
			f := number(1, ack)
			for range r.IntN(9) {
				f = append(f, byte(r.Uint32()&r.Uint32()))
			}
			b.send(f, b.epoch, r.IntN(300))
		default:
			p := random(r)
			if r.IntN(2) == 0 { // a completion for one of the newest reads
				p = reply(r, asked)
			}
			n, wait := next, r.IntN(400)
			if r.IntN(6) == 0 { // beyond a gap, and many before the frame that is missing
				n += uint16(1 + r.IntN(9)*r.IntN(2))
				wait >>= 5 * r.IntN(2)
			}
			head := number(8, n)
			if r.IntN(3) == 0 {
				head = append(number(12, n), number(uint16(r.IntN(16)), ack)...)
			}
			b.send(append(head, p...), b.epoch, wait)
			if n == next {
				next++
			}
		}
		for _, f := range b.frames {
			if f[0]>>7 == 1 && !silent {
				ack = binary.BigEndian.Uint16(f) + 1
			}
			if f[0]>>7 == 1 && !silent && r.IntN(4) != 0 {
				b.send(number(0, ack), b.epoch, 5)
			}
			if f[0]>>4 == 4 {
				answers++
			}
			if f[0]>>7 == 1 && packetOf(f)[0]&0x5f == 0 {
				asked = append(asked, packetOf(f))
				asked = asked[max(0, len(asked)-8):]
			}
		}
		next = b.expected(next)
		b.frames = nil
	}
	return opens, answers
}

// begin begins a session with a hello, also if another one is up.
func (b *bench) begin(greeting []byte) {
	b.frames = nil
	for range 80 {
		b.send(greeting, helloWord, 500)
		for _, f := range b.frames {
			if f[0]>>4 == 6 && bytes.Equal(f[22:26], greeting[22:26]) {
				b.epoch = crc32.ChecksumIEEE(f[22:30])
			}
		}
		b.frames = nil
		for range 3 {
			b.send([]byte{3 << 4, 0}, b.epoch, 600)
			for _, f := range b.frames {
				if string(f) == string(checked([]byte{4 << 4, 0}, b.epoch)) {
					b.frames = nil
					return
				}
			}
		}
	}
	b.t.Fatal("no session begins")
}

// expected returns the number that the board expects, which its newest frames tell.
func (b *bench) expected(n uint16) uint16 {
	for _, f := range b.frames {
		switch {
		case f[0]>>6 == 3:
			n = binary.BigEndian.Uint16(f[2:])
		case f[0]>>7 == 0 && f[0]>>4 < 5:
			n = binary.BigEndian.Uint16(f)
		}
	}
	return n & 0xfff
}

// reply returns a completion for one of the reads, most of them right.
func reply(r *rand.Rand, reads [][]byte) []byte {
	if len(reads) == 0 {
		return random(r)
	}
	p := reads[r.IntN(len(reads))]
	n := int(p[3])
	c := unhex("4a0000000000000000000000")
	c[3], c[6], c[7], c[10], c[11] = byte(n), byte(4*n>>8), byte(4*n), p[6], p[len(p)-1]&0x7f
	copy(c[8:], p[4:6])
	if r.IntN(6) == 0 { // a completion without data, most with the status of a failure
		c[0], c[6] = 0x0a, c[6]|byte(r.IntN(5))<<5
		if r.IntN(8) != 0 {
			c[3] = 0
		}
		return c
	}
	c = append(c, make([]byte, 4*n)...)
	if r.IntN(4) == 0 {
		c[r.IntN(12)] ^= 1 << r.IntN(8)
	}
	return c
}
