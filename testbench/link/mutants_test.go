package link

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/datagram"
	"github.com/hilgpu/hilgpu/rtl/link/hard"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/rate"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
	"github.com/hilgpu/hilgpu/rtl/link/vsec"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
	"github.com/hilgpu/hilgpu/rtl/uart"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	mutantsFlag = flag.Int("link.mutants", 50, "mutants of the hardwired link in TestMutants, and a share of them of each other module")
	seedFlag    = flag.Uint64("link.seed", 1, "seed of TestMutants")
	moduleFlag  = flag.String("link.module", "datagram decoder", "module of TestMutants; all takes minutes")
)

// least is the fraction of the mutants, without those proven equivalent, that lockstep must
// detect.
const least = 0.98

// TestMutants plants mistakes in the Verilog of each part of a link, and runs each against the
// Go. Of all that are not equivalent, at least 98 % are detected.
func TestMutants(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, append(lockstep.Tools(lockstep.Verilator), "yosys", "yosys-abc")...)
	caught, open := 0, 0
	for _, tt := range []struct {
		name    string
		share   int // of the mutants, in percent
		fresh   func() any
		traffic func(t *testing.T) mutant.Traffic
		outputs []string
	}{
		{"hardwired", 100, freshHard, ofHard, hard.Outputs},
		{"sequencer", 60, freshSeq, ofSeq, link.Outputs},
		{"uart", 20, func() any { m := uart.New(); return &m }, ofUART, []string{"Received", "Errors", "Ready", "Line"}},
		{"datagram decoder", 10, func() any { m := datagram.NewDecoder(); return &m }, ofDecoder, []string{"Piece"}},
		{"datagram encoder", 20, func() any { m := datagram.NewEncoder(); return &m }, ofEncoder, []string{"Ready", "Byte"}},
		{"rate", 40, freshRate, ofRate, []string{"Period", "Slow", "Took", "Answer"}},
		{"registers", 20, freshVSEC, ofVSEC, vsec.Outputs},
	} {
		if *moduleFlag != "all" && *moduleFlag != tt.name {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			s, err := mutant.OfModule("../..", tt.fresh, tt.traffic(t), simtest.Cache(), tt.outputs...)
			require.NoError(t, err)
			count := max(1, *mutantsFlag*tt.share/100)
			r, err := mutant.Plant(s, mutant.Options{Name: tt.name, Seed: *seedFlag, Count: count, Progress: func(line string) { t.Log(line) }})
			require.NoError(t, err)
			require.NoError(t, r.Print(os.Stdout))
			caught, open = caught+r.Caught, open+r.Caught+r.Survived+r.Undecided
		})
	}
	t.Logf("%d detected of %d not proven equivalent", caught, open)
	assert.Positive(t, caught)
	assert.GreaterOrEqual(t, float64(caught), least*float64(open))
}

// busy is the configuration of the hardwired link under mutation: all its times are short.
var busy = dlink.Config{
	MapHash: 0x12345678, Window: 8, Send: 64, Datagram: 1472, TickClocks: 100, TickMicros: 4,
	Ack: 2, Replay: 30, Limit: 5, Nak: 5, Ping: 64, Dead: 150, Expiry: 50,
}

func freshHard() any {
	m := hard.New(busy, rate.Config{})
	return &m
}

// seqTick is the clocks of a tick of the sequencer.
const seqTick = 500

func freshSeq() any {
	m := link.New(assembled(seq.Options{MapHash: busy.MapHash, Replay: 8}), seqTick)
	return &m
}

// An end is a link at its byte port.
type end interface {
	Byte() (valid bool, data uint8)
	Target() (req port.Request, beat port.Beat)
	Takes() (cpl, req, beat bool)
	Complete() port.Completion
	LEDs() uint8
}

// A byteEnd is a link at its byte port as an engine: the framing is that of the host.
type byteEnd struct {
	end
	both clocked
	gap  int // clocks of a byte to the link

	enc   frame.Encoder
	dec   *frame.Decoder
	frame []byte // in work
	line  []linkport.Byte
	next  int // clocks to the next byte
	past  int // clocks since the last byte
	sent  []linkport.Sent
}

// A clocked is what has the clocks of a link: itself, or a lockstep.Module.
type clocked interface {
	Tick(args ...any)
	Reset()
	Clocks() uint64
}

// An alone is a link without its Verilog.
type alone struct {
	link interface {
		Tick(in linkport.Byte, ready bool, gpu linkport.GPU, reqReady, dataReady bool)
		Reset()
	}
	clocks uint64
}

func (a *alone) Tick(args ...any) {
	a.clocks++
	a.link.Tick(args[0].(linkport.Byte), args[1].(bool), args[2].(linkport.GPU), args[3].(bool), args[4].(bool))
}

func (a *alone) Reset() {
	a.clocks++
	a.link.Reset()
}

func (a *alone) Clocks() uint64 { return a.clocks }

func newByteEnd(e end, both clocked, gap int) *byteEnd {
	return &byteEnd{end: e, both: both, gap: gap, dec: newFrames()}
}

// newFrames returns a decoder of the frames of a link.
func newFrames() *frame.Decoder {
	return frame.NewDecoder(datalink.MinFrame, datalink.LargestFrame(280))
}

// Frame implements frame.Sink.
func (s *byteEnd) Frame(f []byte) {
	for i, b := range f {
		s.sent = append(s.sent, linkport.Sent{Valid: true, Last: i == len(f)-1, Data: b})
	}
}

// Text implements frame.Sink.
func (s *byteEnd) Text([]byte) {}

// Damaged implements frame.Sink.
func (s *byteEnd) Damaged(int) {}

// Sent implements engine.
func (s *byteEnd) Sent() linkport.Sent {
	if len(s.sent) == 0 {
		return linkport.Sent{}
	}
	return s.sent[0]
}

// put puts bytes on the line to the link.
func (s *byteEnd) put(p ...byte) {
	for _, b := range p {
		s.line = append(s.line, linkport.Byte{Valid: true, Data: b})
	}
}

// Tick implements engine.
func (s *byteEnd) Tick(in linkport.Piece, ready bool, gpu linkport.GPU, reqReady, dataReady bool) {
	if in.Valid {
		s.frame = append(s.frame, in.Data)
	}
	if in.End {
		s.put(s.enc.Append(nil, s.frame)...)
		s.frame = nil
	}
	if ready && len(s.sent) > 0 {
		s.sent = s.sent[1:]
	}
	arrived := linkport.Byte{Data: 0x5a}
	s.past++
	if s.next--; s.next <= 0 && len(s.line) > 0 {
		arrived, s.line, s.next, s.past = s.line[0], s.line[1:], s.gap, 0
	}
	if valid, b := s.Byte(); valid && ready {
		s.dec.Feed([]byte{b}, s)
	}
	s.both.Tick(arrived, ready, gpu, reqReady, dataReady)
}

func ofHard(t *testing.T) mutant.Traffic {
	return func(top any, both *lockstep.Module, first bool) {
		newRig(t, newByteEnd(top.(end), both, 1), int(busy.TickClocks)).run(framesOf(first), 1)
	}
}

func ofSeq(t *testing.T) mutant.Traffic {
	return func(top any, both *lockstep.Module, first bool) {
		newSeqRig(t, top.(end), both).run(framesOf(first), 4)
	}
}

// A rig is a link in lockstep, a host that sends what it likes, and a device.
type rig struct {
	*bench
	line *byteEnd
	dev  *chatty
	r    *rand.Rand
	tick uint64 // clocks
	from uint64 // clock of the last reset

	greeting []byte // the last hello

	restless bool
	begins   bool // a session is to begin
	broken   int  // resets since then
	storms   int  // resets of a restless rig
	ended    int  // reads of the devices before the present one
}

// room is the resets that a beginning session must stand from a restless rig. Then the rig leaves
// it room.
const room = 8

func newRig(t *testing.T, line *byteEnd, tick int) *rig {
	b := newBench(t, busy)
	b.link = line
	g := &rig{bench: b, line: line, r: rand.New(rand.NewPCG(*seedFlag, 6)), tick: uint64(tick)}
	g.renew(63)
	b.each = g.reset
	return g
}

// renew gives the link another device.
func (g *rig) renew(tags uint8) {
	g.dev = newChatty(g.t, g.r)
	g.dev.odd, g.dev.tags = true, tags
	g.bench.dev = g.dev
}

// reset resets link and device in some clocks, most of them at the end of a tick, or when the
// link takes a header, or has just got a frame in a session, if the rig is restless.
func (g *rig) reset() {
	now := g.line.both.Clocks()
	often := 12_000
	if (now-g.from)%g.tick < 4 {
		often = 1500
	}
	restless := g.restless && (!g.begins || g.broken < room)
	if _, takes, _ := g.line.Takes(); takes && restless {
		often = 60
	}
	if up := g.line.LEDs()&1 != 0; up && restless && len(g.line.line) == 0 && g.line.past >= 1 && g.line.past < 6 {
		often = 30
	}
	if g.r.IntN(often) != 0 {
		return
	}
	g.broken++
	if restless {
		g.storms++
	}
	g.line.both.Reset()
	g.line.line, g.line.sent, g.frame = nil, nil, nil
	g.line.enc.Break()
	g.line.dec = newFrames()
	g.ended += g.dev.ended
	g.renew(g.dev.tags)
	g.from = now
}

// newSeqRig returns a rig of the sequencer, with the tags of one node.
func newSeqRig(t *testing.T, e end, both clocked) *rig {
	r := newRig(t, newByteEnd(e, both, 2), seqTick)
	r.dev.tags = 0x2f
	return r
}

// TestHostileSequencer: frames of any kind, resets and bytes that are lost break no rule of the
// GPU's ports, and a session can be begun after them.
func TestHostileSequencer(t *testing.T) {
	tooltest.Long(t)
	m := freshSeq().(*link.Module)
	g := newSeqRig(t, m, &alone{link: m})
	g.run(*hostileFlag/8, 4)
	t.Log(g.ended+g.dev.ended, "reads of the device,", g.storms, "resets of a restless rig")
	require.Greater(t, g.ended+g.dev.ended, *hostileFlag/40)
	require.Greater(t, g.storms, *hostileFlag/40)
}

// TestHostileHard: the same for the hardwired link.
func TestHostileHard(t *testing.T) {
	m := freshHard().(*hard.Module)
	g := newRig(t, newByteEnd(m, &alone{link: m}, 1), int(busy.TickClocks))
	g.run(*hostileFlag, 1)
	require.Greater(t, g.ended+g.dev.ended, *hostileFlag/40)
}

// framesOf returns the frames of the host in a traffic.
func framesOf(first bool) int {
	if first {
		return 1000
	}
	return 15_000
}

// run is the traffic with a number of frames. pace is the clocks of the link for one of the
// bench.
func (g *rig) run(frames, pace int) {
	g.pace = pace
	g.hostile(g.r, frames, func(n int) bool {
		g.disturb(n)
		if g.line.LEDs()&1 != 0 && g.r.IntN(100) != 0 {
			return false
		}
		g.greeting = g.hello(uint32(n) + 1)
		g.begins, g.broken = true, 0
		g.begin(g.greeting)
		g.begins = false
		return true
	})
}

// hello returns a hello of a host of any kind.
func (g *rig) hello(nonce uint32) []byte {
	h := hello(nonce)
	if h[7] = 64; g.r.IntN(2) == 0 {
		h[7] = byte(1 + g.r.IntN(16))
	}
	h[8+g.r.IntN(2)] = byte(g.r.IntN(3)) // frames kept out of order
	binary.BigEndian.PutUint16(h[12:], busy.Datagram-1000+uint16(g.r.IntN(2000)))
	for i := range 3 * g.r.IntN(2) {
		binary.BigEndian.PutUint16(h[30+2*i:], uint16(g.r.IntN(100)))
	}
	return h
}

// disturb is what happens besides frames.
func (g *rig) disturb(n int) {
	g.slow, g.restless = n/50%3 == 2, n/100%5 == 3
	switch g.r.IntN(200) {
	case 0:
		g.bench.run(g.r.IntN(7000))
	case 1:
		g.line.put(piece(g.r)...)
	case 15: // of no session
		f := g.hello(g.r.Uint32() | 1<<31)
		f[0] = byte(g.r.IntN(16)) << 4
		g.send(f, helloWord, g.r.IntN(300))
	case 13:
		if g.greeting != nil { // repeated
			g.send(g.greeting, helloWord, g.r.IntN(300))
		}
	case 14: // of another host, which gets no session, while the answer to one is sent
		for range 2 {
			g.send(g.hello(g.r.Uint32()|1<<31), helloWord, g.r.IntN(60))
		}
	case 2:
		for range 1 + g.r.IntN(3) {
			g.line.line = append(g.line.line, linkport.Byte{Valid: g.line.gap == 1 && g.r.IntN(2) == 0, Broken: true, Data: byte(g.r.Uint32())})
		}
	case 3, 4, 5, 6, 7, 8, 9, 10, 11, 12:
		f := make([]byte, 14)
		f[0] = 2 << 4
		for i := range 6 {
			binary.BigEndian.PutUint16(f[2+2*i:], uint16(g.r.IntN(200)+n/10))
		}
		g.send(f, g.epoch, g.r.IntN(100))
	default:
	}
}

// piece returns bytes of all kinds.
func piece(r *rand.Rand) []byte {
	all := stream(r, 152, true)
	at := r.IntN(len(all))
	return append(bytes.Clone(all[at:min(len(all), at+r.IntN(600))]), 0)
}
