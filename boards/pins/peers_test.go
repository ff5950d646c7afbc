package pins

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// helloWord is the word of the check of frames that belong to no session.
const helloWord = 0x48494c47

// A peer is one of two boards that are connected to each other.
type peer struct {
	dev    *device
	rec    *recorder
	clocks uint64 // of a byte
	epoch  uint32 // word of its session
	nonce  uint32 // of the host that has begun it

	enc        frame.Encoder
	dec        *frame.Decoder
	queue      []byte // for the board
	next, free uint64
	frames     [][]byte // of the board
	faults     *fault.Injector
}

// Frame implements frame.Sink.
func (p *peer) Frame(f []byte) { p.frames = append(p.frames, append([]byte(nil), f...)) }

// Text implements frame.Sink.
func (p *peer) Text([]byte) {}

// Damaged implements frame.Sink.
func (p *peer) Damaged(int) {}

// clock is a clock of the board and its line.
func (p *peer) clock(now uint64) {
	in, valid := byte(0), false
	if len(p.queue) > 0 && now >= p.next {
		in, valid, p.queue, p.next = p.queue[0], true, p.queue[1:], now+p.clocks
	}
	if out, sent := p.dev.Tick(in, valid, now >= p.free); sent {
		p.free = now + p.clocks
		p.dec.Feed([]byte{out}, p)
	}
}

// send puts a frame on the line to the board, without faults.
func (p *peer) send(body []byte, word uint32) {
	p.queue = p.enc.Append(p.queue, binary.BigEndian.AppendUint32(append([]byte(nil), body...), crc32.ChecksumIEEE(body)^word))
}

// greet makes the board offer a session, of a host with the window of a board and no limits
// that keeps frames out of order.
func (p *peer) greet(window byte) {
	h := make([]byte, 42)
	copy(h, []byte{5 << 4, datalink.Version, 40, 0, 0, 144, 0, window, 0, window - 1})
	binary.BigEndian.PutUint32(h[22:], p.nonce)
	p.send(h, helloWord)
}

// welcomed takes the word of the session from a Welcome.
func (p *peer) welcomed(t *testing.T) {
	require.Len(t, p.frames, 1)
	f := p.frames[0]
	require.Equal(t, byte(6), f[0]>>4)
	require.Equal(t, p.nonce, binary.BigEndian.Uint32(f[22:]))
	p.epoch, p.frames = crc32.ChecksumIEEE(f[22:30]), nil
}

// forward carries the frames of a board to the other one, with faults. The check has the word
// of the session of the receiver then; nothing else of a frame is changed.
func (p *peer) forward(to *peer) {
	for _, f := range p.frames {
		at := len(f) - 4
		binary.BigEndian.PutUint32(f[at:], binary.BigEndian.Uint32(f[at:])^p.epoch^to.epoch)
		p.faults.Apply(f, func(f []byte) { to.queue = to.enc.Append(to.queue, f) })
	}
	p.frames = nil
}

// TestPeers: two hardwired links at the ends of one line, also one on which each fault of the
// frames happens. Each board writes to the other one and reads from it all the time: each write
// arrives once, in order and unchanged, and each read gets its data. A link in hardware cannot
// begin a session, so Hello and Welcome of both are exchanged with the test; numbers,
// acknowledgements, Naks, replays and Pings are those of the two links.
func TestPeers(t *testing.T) {
	for name, f := range map[string]fault.Config{"clean": {Seed: 1}, "faults": bad(2)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const clocks = 16
			var peers [2]*peer
			for i := range peers {
				rec := &recorder{r: rand.New(rand.NewPCG(uint64(i), 3)), cut: true}
				peers[i] = &peer{
					dev: &device{link: hardOf(t, clocks), dev: rec}, rec: rec, clocks: clocks, nonce: uint32(i) + 7,
					dec: frame.NewDecoder(datalink.MinFrame, datalink.LargestFrame(280)), faults: fault.New(f, uint64(i)),
				}
			}
			meet(t, peers)
		})
	}
}

// peerWrites is the number of writes of a board on their way, and one more than that of its
// reads. With the answers to those of the other one they fill no window. If they did, each
// board could wait for the other one: it acknowledges a read when it has room for the answer.
const peerWrites = 3

// meet begins the sessions of both, and lets them exchange writes and reads.
func meet(t *testing.T, peers [2]*peer) {
	now := uint64(0)
	run := func(clocks uint64) {
		for range clocks {
			peers[0].clock(now)
			peers[1].clock(now)
			now++
		}
	}
	for i, p := range peers {
		p.rec.up = &peers[1-i].rec.down
		p.rec.down.gap = true // writes before the session are lost
	}
	run(1000)
	for _, p := range peers {
		p.greet(uint8(hardConfig.Window))
	}
	run(20_000)
	for _, p := range peers {
		p.welcomed(t)
		p.send([]byte{3 << 4, 0}, p.epoch)
	}
	for _, p := range peers {
		p.rec.begun = true
	}
	for round := range 40_000 {
		run(100)
		for i, p := range peers {
			if round == 100 { // both sessions have begun
				p.rec.most, p.rec.start = peerWrites, p.rec.up.made
			}
			p.forward(peers[1-i])
			require.NoError(t, p.rec.down.err, "board %d, clock %d", i, now)
		}
	}
	for i, p := range peers {
		st := p.faults.Stats()
		t.Logf("board %d: %d writes arrived, %d reads done, %d of its frames, of which %d lost, %d twice, %d damaged, %d cut, %d late",
			i, p.rec.down.arrived, p.rec.done, st.Frames, st.Lost, st.Repeated, st.Flipped, st.Truncated, st.Reordered)
		require.Greater(t, p.rec.down.arrived, uint64(300))
		require.Greater(t, p.rec.done, uint64(50))
	}
}
