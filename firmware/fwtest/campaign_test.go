package fwtest

import (
	"encoding/binary"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

var (
	messageSeed  = flag.Uint64("fwtest.messages.seed", 1, "seed of the random messages")
	messageCount = flag.Int("fwtest.messages", 10_000, "number of random messages, on the model; a tenth of it in RTL")
)

// A campaign is a host that sends random messages, and compares what the firmware does with a model.
type campaign struct {
	t       *testing.T
	rng     *rand.Rand
	m       machine
	host    *Host
	failing int // of 8 reads of the area
	failed  uint32
	model   protocol
	sent    [64]request
	begin   uint32 // answers that the host has not compared begin here
	stray   uint64 // address of a write outside the answers, the log and their words

	answers, failures int // of all starts
	seen              map[uint32]int
}

// put and get write and read a word of the area.
func (c *campaign) put(off, v uint32) {
	require.NoError(c.t, c.host.WriteHost(off, binary.LittleEndian.AppendUint32(nil, v)))
}

func (c *campaign) get(off uint32) uint32 {
	var b [4]byte
	require.NoError(c.t, c.host.ReadHost(off, b[:]))
	return binary.LittleEndian.Uint32(b[:])
}

// wrote checks the place of a write of the program.
func (c *campaign) wrote(addr uint64) {
	off := addr - area
	ring := off >= 0x2000 && off < 0x2000+uint64(c.model.entries)*64
	log := off >= 0x3000 && off < 0x4000 || off == 0x48 || off == 0x4c
	if !ring && !log && off != 0x40 && off != 0x44 {
		c.stray = addr
	}
}

// start starts the firmware anew, with rings of another size.
func (c *campaign) start() {
	c.failing, c.stray, c.begin = 0, 0, 0
	c.m.Watch(nil)
	require.NoError(c.t, c.m.Write(mcureg.Base+mcureg.Ctl, 0))
	rings := c.rng.Uint32N(7)
	require.NoError(c.t, message.Init(c.host, rings))
	b, err := firmware.Load(c.m, image(c.t), withArea(area))
	require.NoError(c.t, err)
	c.model = protocol{entries: 1 << rings, build: b.Build, level: 2, written: 1, seen: c.seen}
	c.m.Watch(c.wrote)
}

// random returns a request: one that is right, or one with a mistake.
func (c *campaign) random(next uint32) request {
	r := request{sequence: next}
	for i := range r.payload {
		r.payload[i] = byte(c.rng.Uint32())
	}
	length := c.rng.Uint32N(57)
	switch c.rng.IntN(16) {
	case 0, 1, 2, 3, 4, 5:
		r.head = 2 | length<<8
	case 6:
		r.head = 3
	case 7:
		r.head = 1 | 8<<8
		binary.LittleEndian.PutUint32(r.payload[:], 1+c.rng.Uint32N(2)*c.rng.Uint32N(2))
	case 8:
		r.head, r.sequence = 2|length<<8, []uint32{next - 1, next + 1, 0, c.rng.Uint32()}[c.rng.IntN(4)]
	case 9:
		r.head = 2 | length<<8 | 1<<(16+c.rng.Uint32N(16))
	case 10, 11, 12, 13:
		c.wellFormed(&r)
	default:
		r.head = c.rng.Uint32()&0xff | c.rng.Uint32()&0xff00
		if r.head == 6|4<<8 {
			r.head++ // TELEMETRY and SELFTEST have the same length, and the window of a random SELFTEST may be good
		}
	}
	if c.failing != 0 && r.head&0xff == 3 {
		r.head-- // a model cannot tell how many failures came before a COUNTERS
	}
	return r
}

// limits are the values at the limits of each dword of a request, within and outside, by op.
var limits = map[uint32][][]uint32{
	4: {{0, 1, 2, 3, 4}}, 5: {{0, 1, 1023, 1024, math.MaxUint32}}, 6: {{1, 2, 4, 1 << 29, 1<<29 | 4, 2 << 29, 2<<29 | 1}},
	16: {{0, 1, 2}, {0, 1, 0x800, 0x1000, 0x3000, 0x4000, math.MaxUint32}, {8, 9, 12, 13, 14, 15, 20, 21, 32, 41}},
	17: {{0, 1, 2}}, 19: {{0, 15, 16}}, 20: {{0, 15, 16}}, 21: {{0, 15, 16}}, 22: {{0, 15, 16}}, 23: {{0, 1, 2}}, 24: {{0, 1, 2}},
	18: {
		{0, 15, 16}, {0, 1, 2}, {0, 3, 4}, {0, 999, 1000, 1 << 30, 1<<30 + 1, 1<<31 | 999, 1<<31 | 1000}, {0, 16, 32}, {0, math.MaxUint32}, {0, 16, 17}, {0, 64, 128},
		{0, math.MaxUint32},
	},
}

// wellFormed makes a request of any op after COUNTERS without a mistake in its form, with arguments that are at a limit or random.
func (c *campaign) wellFormed(r *request) {
	ops := []uint32{4, 5, 6, 16, 17, 18, 19, 20, 21, 22, 23, 24}
	op := ops[c.rng.IntN(len(ops))]
	length := lengths[op][0]
	r.head = op | length<<8
	for i := range length / 4 {
		at := limits[op][i]
		v := at[c.rng.IntN(len(at))]
		if c.rng.IntN(5) == 0 {
			v = c.rng.Uint32()
		}
		binary.LittleEndian.PutUint32(r.payload[4*i:], v)
	}
	good := map[uint32][]uint32{
		16: {c.rng.Uint32N(2), 0x1000 * c.rng.Uint32N(4), 9 + c.rng.Uint32N(4)},
		18: {c.rng.Uint32N(16), c.rng.Uint32N(2), c.rng.Uint32N(4), 1000 + c.rng.Uint32N(5000), 0x10000, 0, c.rng.Uint32N(17), 0x8000, 0},
	}[op]
	switch word := r.word(0); {
	case good != nil && c.rng.IntN(4) != 0: // at most one bad argument
		i := c.rng.IntN(len(good))
		good[i] = r.word(i)
		for i, v := range good {
			binary.LittleEndian.PutUint32(r.payload[4*i:], v)
		}
	case op == 6 && word&3 == 0 && (word == 0 || word>>29 > 1):
		binary.LittleEndian.PutUint32(r.payload[:], word>>29<<29|2<<29) // a test of a window would write to it
	}
}

// send writes requests, and sometimes a tail that is too far away.
func (c *campaign) send() {
	p := &c.model
	room := p.entries - (p.tail - p.taken)
	if p.tail-p.taken > p.entries {
		p.tail, room = p.taken, p.entries
	}
	next := p.next
	for range c.rng.Uint32N(room + 1) {
		r := c.random(next)
		if r.sequence == next {
			next++
		}
		if r.head&0xff == 1 {
			next = 1
		}
		at := 0x1000 + p.tail%p.entries*64
		c.put(at, r.sequence)
		c.put(at+4, r.head)
		require.NoError(c.t, c.host.WriteHost(at+8, r.payload[:]))
		c.sent[p.tail%p.entries] = r
		p.tail++
	}
	if c.failing == 0 && c.rng.IntN(20) == 0 {
		p.tail = p.taken + p.entries + 1 + c.rng.Uint32N(1<<31)
	}
	c.put(0x20, p.tail)
}

// take compares and takes some of the answers, sometimes none, and sometimes writes a bad head.
func (c *campaign) take(replies []reply) []reply {
	n := c.rng.IntN(len(replies) + 1)
	for _, want := range replies[:n] {
		at := 0x2000 + c.begin%c.model.entries*64
		require.Equal(c.t, want.sequence, c.get(at), "answer %d", c.begin)
		require.Equal(c.t, want.head, c.get(at+4), "answer %d", c.begin)
		got := make([]byte, 56)
		require.NoError(c.t, c.host.ReadHost(at+8, got))
		require.Equal(c.t, string(want.payload), string(got[:len(want.payload)]), "answer %d", c.begin)
		c.begin++
		c.answers++
	}
	c.model.answersTaken = c.begin
	if c.failing == 0 && c.rng.IntN(20) == 0 {
		c.model.answersTaken = c.begin + uint32(len(replies)-n) + 1 + c.rng.Uint32N(1<<31)
	}
	c.put(0x24, c.model.answersTaken)
	return replies[n:]
}

// knock rings, and waits until the program sleeps.
func (c *campaign) knock() {
	require.NoError(c.t, c.m.Write(mcureg.Base+mcureg.Doorbell, 1|c.rng.Uint32()&c.rng.Uint32()))
	for n := 0; ; n++ {
		v, err := c.m.Read(mcureg.Base + mcureg.Status)
		if err == nil && v == mcureg.StatusAsleep {
			return
		}
		if err != nil || n == 100_000 { // a call of require takes longer than a read
			require.Fail(c.t, "the program does not sleep", "status %#x, %v", v, err)
		}
	}
}

// step is one round: some requests, a doorbell, some answers.
func (c *campaign) step(left []reply) []reply {
	if c.failing = max(0, c.rng.IntN(10)-7); c.model.tail != c.model.taken {
		c.failing = 0 // COUNTERS may be among the requests that are left
	}
	if c.failing != 0 {
		c.model.answersTaken = c.begin
		c.put(0x24, c.begin)
	}
	c.send()
	for range c.failing {
		c.knock()
	}
	c.failing = 0
	c.knock()
	c.model.counts[11] += c.failed
	c.failures += int(c.failed)
	c.failed = 0
	left = append(left, c.model.ring(func(number uint32) request { return c.sent[number%c.model.entries] })...)
	require.Zero(c.t, c.stray, "write outside of the answers, the log and their words")
	require.Equal(c.t, c.model.taken, c.get(0x40), "REQUEST_HEAD")
	require.Equal(c.t, c.model.answered, c.get(0x44), "ANSWER_TAIL")
	require.Equal(c.t, c.model.lines(), c.get(0x48)+c.get(0x4c), "lines of the log, and lost ones")
	return c.take(left)
}

// accepted are the statuses that the campaign must see of well-formed requests, by op.
var accepted = map[uint32][]uint32{
	1: {0, 6}, 2: {0}, 3: {0}, 4: {0, 6}, 5: {0, 6, 8}, 6: {0, 6}, 16: {6, 8}, 17: {6, 7}, 18: {6, 7}, 19: {6, 7}, 20: {0, 6}, 21: {6, 7}, 22: {6, 7}, 23: {6, 7}, 24: {6, 7},
}

// Random messages, also hostile ones: the answers and the counts are those of the model, and nothing
// is written but the answers, the log and their words. Some reads of the area fail, and the host starts
// the firmware anew while it works.
//
// docs/validator.md: V25.
func TestRandomMessages(t *testing.T) {
	for _, kind := range machines {
		faults := Faults{}
		c := &campaign{t: t, rng: rand.New(rand.NewPCG(*messageSeed, 21)), seen: map[uint32]int{}}
		faults.Window = func(addr uint64, v uint32, ok bool) (uint32, bool) {
			if addr-area < 0x7000 && c.rng.IntN(8) < c.failing {
				c.failed++
				return v, false
			}
			return v, ok
		}
		c.m = kind.make(32<<10, faults)
		c.host = c.m.At(area)
		count := *messageCount
		if kind.name == "RTL" {
			count /= 10
		}
		starts := 0
		for c.answers < count {
			c.start()
			starts++
			var left []reply
			for begin := c.answers; c.answers < count && c.answers < begin+10*count/(starts+99)+200; {
				left = c.step(left)
			}
			c.send()
			require.NoError(t, c.m.Write(mcureg.Base+mcureg.Doorbell, 1))
			for range c.rng.IntN(40) {
				_, err := c.m.Read(mcureg.Base + mcureg.Status)
				require.NoError(t, err)
			}
		}
		if kind.name != "RTL" {
			for op, want := range accepted {
				for _, status := range want {
					assert.Positive(t, c.seen[op|status<<8], "op %d, status %d", op, status)
				}
			}
		}
		t.Logf("%s, seed %d: %d answers, %d failed reads, %d starts", kind.name, *messageSeed, c.answers, c.failures, starts)
	}
}
