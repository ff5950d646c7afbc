package pins

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/colorlighti5"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/hard"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
	"github.com/hilgpu/hilgpu/rtl/link/rate"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
	"github.com/hilgpu/hilgpu/rtl/uart"
)

var (
	campaignFlag = flag.Uint64("pins.packets", 2000, "packets of TestFaultsAndCuts at each byte port and on Ethernet, and a hundredth of them, but at least 600, at the pins of each UART")
	cutsFlag     = flag.Uint64("pins.cuts", 2, "cuts in each run of TestFaultsAndCuts")
)

// A talker is the host of a recorder: it writes, reads and answers.
type talker struct {
	w       *Wire
	dev     *recorder
	up      ledger // writes of the device
	r       *rand.Rand
	p       rootport.Port
	reads   map[uint8]read
	answers [][]byte // completions that wait
	packets uint64   // that have arrived
	dialed  uint64   // clocks without a session
}

// A read is one of the host that is not complete.
type read struct {
	number uint64
	words  int
	got    []byte
}

// dial begins a session. It loses what was in flight: reads of the device may fail until a
// packet of the session arrives.
func (h *talker) dial() (err error) {
	h.dev.cut, h.dev.begun, h.dev.down.base, h.up.gap = true, false, h.dev.down.made, true
	h.reads, h.answers = map[uint8]read{}, nil
	at := h.w.Clocks()
	h.p, err = h.w.Dial()
	h.dialed += h.w.Clocks() - at
	return err
}

// send sends a packet, and reports whether it was taken.
func (h *talker) send(p tlp.Packet) (bool, error) {
	b, err := p.Append(nil)
	if err == nil {
		err = h.p.Send(b)
	}
	if errors.Is(err, datalink.ErrFull) {
		return false, nil
	}
	return err == nil, err
}

// maxWaiting is the number of packets that wait at the host before it writes and reads no more.
const maxWaiting = 4

// talk sends until enough packets wait.
func (h *talker) talk() error {
	for {
		for len(h.answers) > 0 {
			err := h.p.Send(h.answers[0])
			if errors.Is(err, datalink.ErrFull) {
				return nil
			}
			if err != nil {
				return err
			}
			h.answers = h.answers[1:]
		}
		if _, waiting := h.w.link.InFlight(); waiting >= maxWaiting {
			return nil
		}
		n := 1 + min(h.r.IntN(16), h.r.IntN(16), h.r.IntN(16))
		p := tlp.Packet{Kind: tlp.MWr32, Len: 2 * n, First: 15, Last: 15, Addr: 0xd0000000, Data: data64(h.dev.down.made, n)}
		tag := uint8(h.r.IntN(4 * maxReads))
		if _, ok := h.reads[tag]; !ok && tag < maxReads {
			number := uint64(h.r.IntN(1 << 20))
			p = tlp.Packet{Kind: tlp.MRd32, Len: 2 * n, First: 15, Last: 15, Addr: 128 * number, Tag: uint16(tag)}
		}
		taken, err := h.send(p)
		if !taken || err != nil {
			return err
		}
		if p.Kind == tlp.MRd32 {
			h.reads[tag] = read{number: p.Addr / 128, words: n}
			continue
		}
		h.dev.down.made++
	}
}

// take takes a packet of the device.
func (h *talker) take(b []byte) error {
	var p tlp.Packet
	if err := p.Decode(b); err != nil {
		return err
	}
	h.packets++
	h.dev.begun = true
	switch p.Kind {
	case tlp.MWr32, tlp.MWr64:
		h.up.begin(binary.LittleEndian.Uint64(p.Data))
		for i := range len(p.Data) / 8 {
			h.up.word(uint64(i), binary.LittleEndian.Uint64(p.Data[8*i:]))
		}
		return h.up.err
	case tlp.MRd32, tlp.MRd64:
		c := tlp.Packet{Kind: tlp.CplD, Len: p.Len, Requester: p.Requester, Tag: p.Tag, ByteCount: 4 * p.Len, Data: data64(p.Addr/128, p.Len/2)}
		a, err := c.Append(nil)
		h.answers = append(h.answers, a)
		return err
	case tlp.CplD:
		q, ok := h.reads[uint8(p.Tag)]
		q.got = append(q.got, p.Data...)
		if want := data64(q.number, q.words); !ok || !bytes.HasPrefix(want, q.got) {
			return fmt.Errorf("completion %v of read %+v", p, q)
		}
		if h.reads[uint8(p.Tag)] = q; len(q.got) == 8*q.words {
			delete(h.reads, uint8(p.Tag))
		}
		return nil
	default:
		return fmt.Errorf("packet %v of the device", p)
	}
}

// run exchanges packets until there were n, with cuts. It returns the clocks of a session for
// a packet.
func (h *talker) run(n, cuts uint64) (float64, error) {
	if err := h.dial(); err != nil {
		return 0, err
	}
	done, last := uint64(0), h.w.Clocks()
	for at := n / (cuts + 1); done < n; done = h.packets + h.dev.down.arrived + h.dev.done {
		if cuts > 0 && done >= at {
			h.w.Cut()
			at += n / (cuts + 1)
			if err := h.dial(); err != nil {
				return 0, err
			}
		}
		if err := h.talk(); err != nil {
			return 0, err
		}
		b, err := h.p.Receive(time.Millisecond)
		if err != nil {
			return 0, err
		}
		if b != nil {
			last = h.w.Clocks()
			if err := h.take(b); err != nil {
				return 0, err
			}
		}
		if h.dev.down.err != nil {
			return 0, h.dev.down.err
		}
		if h.w.Clocks()-last > hangClocks {
			return 0, fmt.Errorf("nothing arrives for %d clocks after %d packets", uint64(hangClocks), done)
		}
	}
	return float64(h.w.Clocks()-h.dialed) / float64(done), nil
}

// hangClocks is how long nothing may arrive.
const hangClocks = 10_000_000

// A path is a link with a recorder at the end of a line.
type path struct {
	name    string
	pins    bool
	reorder bool // the line can
	open    func(t *testing.T, dev *recorder, f fault.Config) (*Wire, error)
}

// A pace is the clocks of a byte on a line, 80 at the rate that the times of the links are for.
type pace uint64

// of scales a number of clocks.
func (p pace) of(clocks uint64) uint64 { return clocks * uint64(p) / 80 }

// seqOf returns the sequencer with the times of a line.
func seqOf(t *testing.T, p pace) boardLink {
	prog, err := seq.Program(seq.Options{Replay: 4})
	require.NoError(t, err)
	m := link.New(prog.Words, uint32(p.of(25_000)))
	return &m
}

// hardOf returns the hardwired link with the times of a line.
func hardOf(_ *testing.T, p pace) boardLink {
	c := hardConfig
	c.TickClocks = uint32(p.of(uint64(c.TickClocks)))
	m := hard.New(c, rate.Config{})
	return &m
}

// atBytes returns a path at the byte port of a link.
func atBytes(name string, p pace, link func(*testing.T, pace) boardLink) path {
	return path{name: name + " at bytes", open: func(t *testing.T, dev *recorder, f fault.Config) (*Wire, error) {
		return New(&device{link: link(t, p), dev: dev}, Options{Clocks: uint64(p), Hz: p.of(serialHz), Faults: f})
	}}
}

// atUART returns a path at the pins of a UART.
func atUART(name string, link func(*testing.T, pace) boardLink) path {
	return path{name: name + " at a UART", pins: true, open: func(t *testing.T, dev *recorder, f fault.Config) (*Wire, error) {
		s := NewSerial(&serialBoard{uart: uart.New(), link: link(t, 80), dev: dev}, serialHz, []int{serialBaud}, 0)
		return New(s, Options{Hz: serialHz, Faults: f})
	}}
}

// atEthernet returns a path at the PHY of a board.
func atEthernet(name string, c dlink.Config) path {
	return path{name: name, reorder: true, open: func(_ *testing.T, dev *recorder, f fault.Config) (*Wire, error) {
		return NewEtherWire(NewEther(EtherClocked(newEtherBoard(dev, c)), EtherFaults{}), etherAddress, Options{Faults: f})
	}}
}

// paths are all of them.
func paths() []path {
	return []path{
		atBytes("sequencer", 16, seqOf), atBytes("hardwired", 4, hardOf),
		atEthernet("hardwired on Ethernet", etherConfig),
		atEthernet("hardwired on Ethernet, large windows", colorlighti5.Link()),
		atUART("sequencer", seqOf), atUART("hardwired", hardOf),
	}
}

// leastGoodput is the part of the clocks of a packet without faults in those with faults.
const leastGoodput = 0.6

// TestFaultsAndCuts: with five faults of the frames, 1 % each, and with cuts, each packet
// arrives exactly once, in order and unchanged, and nothing hangs. A session begins after each
// cut. In the sessions, the clocks of a packet without faults are at least leastGoodput of those with
// faults.
func TestFaultsAndCuts(t *testing.T) {
	for _, p := range paths() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			n := *campaignFlag
			if p.pins {
				n = max(600, n/100)
			}
			f := fault.Config{Loss: 0.01, Dup: 0.01, Flip: 0.01, Truncate: 0.01, Seed: 5}
			if p.reorder {
				f.Reorder = 0.01
			}
			clean, _ := p.exchange(t, fault.Config{Seed: 5}, min(n, 20_000), 0)
			bad, h := p.exchange(t, f, n, *cutsFlag)
			st := h.w.Stats()
			t.Logf("%d packets and %d cuts: %.1f clocks a packet, %.1f without faults: goodput %.2f; %d clocks until a session begins again; %d writes down, %d up, %d and %d lost with a session, %d reads of the device; frames of the board: %d damaged, %d twice, %d out of order; %d replays, %d Naks received, %d sent",
				n, *cutsFlag, bad, clean, clean/bad, h.dialed/(*cutsFlag+1), h.dev.down.arrived, h.up.arrived, h.dev.down.missing, h.up.missing, h.dev.done,
				st.BadCheck, st.Duplicates, st.OutOfOrder, st.Replays, st.NaksReceived, st.NaksSent)
			assert.GreaterOrEqual(t, clean/bad, leastGoodput)
		})
	}
}

// exchange makes a run.
func (p path) exchange(t *testing.T, f fault.Config, n, cuts uint64) (float64, *talker) {
	h := &talker{r: rand.New(rand.NewPCG(f.Seed, 21)), dev: &recorder{r: rand.New(rand.NewPCG(f.Seed, 22))}}
	h.dev.up = &h.up
	var err error
	h.w, err = p.open(t, h.dev, f)
	require.NoError(t, err)
	clocks, err := h.run(n, cuts)
	require.NoError(t, err)
	require.Greater(t, h.dev.down.arrived, n/10)
	require.Greater(t, h.up.arrived, n/10)
	require.Greater(t, h.dev.done, n/100)
	return clocks, h
}
