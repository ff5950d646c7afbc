package pcie

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

const (
	vramSize = 1 << 14
	bar0     = 0xd0000000
	bar2     = 0x12_40000000
)

// bench is a test bench with a register file, a VRAM and a host that obeys the
// rules of the target port.
type bench struct {
	t    *testing.T
	m    Module
	regs map[uint16]uint32
	vram []byte

	latency int                  // of VRAM, in clocks
	stall   func(clock int) bool // of every ready input, if not nil
	clock   int
	master  Master
	rsp     regbus.Rsp
	reads   []timedCpl
	owed    bool // VRAM waits for the beats of a write
	writes  []port.Request
	beats   []port.Beat
	errs    []ident.Error
	ops     []regbus.Req
	order   []string // effects in order: register writes and beats into VRAM
	hold    func() bool
	retries int // number of retries of each access
	retried int // retries of this access so far
}

type timedCpl struct {
	at  int
	cpl port.Completion
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, m: New(vramSize, caps.Aperture, 0), regs: map[uint16]uint32{}, vram: make([]byte, vramSize), latency: 3}
	for i := range b.vram {
		b.vram[i] = byte(i*7 + i>>8)
	}
	return b
}

// mapped returns a bench with both BARs mapped.
func mapped(t *testing.T) *bench {
	b := newBench(t)
	b.config(pcicfg.BAR0, bar0)
	b.config(pcicfg.BAR2, bar2&0xffffffff)
	b.config(pcicfg.BAR3, bar2>>32)
	b.config(pcicfg.Command, pcicfg.CommandMemory)
	return b
}

func (b *bench) ready() bool { return b.stall == nil || !b.stall(b.clock) }

// tick advances one clock and returns the completion that was taken.
func (b *bench) tick(in Target) (cpl port.Completion, reqTaken, beatTaken bool) {
	cplReady := b.ready()
	cpl, reqReady, dataReady := b.m.Target()
	again, _, _ := b.m.Target()
	require.Equal(b.t, cpl, again)
	if !cplReady {
		cpl = port.Completion{}
	}
	rsp := b.rsp
	share := Share{Held: b.hold != nil && b.hold()}
	access := Carry(b.m.Regs(), in.Beat)
	if share.Held {
		access.Op = regbus.None
	}
	b.register(access)
	v, streams := b.memory(Takes(b.m.Full(), cplReady), in.Beat)
	was, sleeps := b.m, b.m.Sleeps(in, b.master, false)
	b.m.Tick(in, cplReady, rsp, v, b.master, share, false)
	if sleeps {
		require.Equal(b.t, was, b.m, "a clock of sleep")
	}
	b.clock++
	if e := b.m.Err(); e.Cause != 0 {
		b.errs = append(b.errs, e)
	}
	return cpl, reqReady && in.Req.Kind != port.None, (dataReady || streams) && in.Beat.Valid
}

func (b *bench) register(r regbus.Req) {
	b.rsp = regbus.Rsp{}
	if r.Op == regbus.None {
		return
	}
	b.ops = append(b.ops, r)
	v, hit := b.regs[r.Off]
	b.rsp.Hit = hit
	if hit && b.retried < b.retries {
		b.retried++
		b.rsp.Retry = true
		return
	}
	b.retried = 0
	if hit && r.Op == regbus.Read {
		b.rsp.Data = v
	}
	if hit && r.Op == regbus.Write {
		b.regs[r.Off] = r.Data
		b.order = append(b.order, "register")
	}
}

// memory is VRAM's side in a clock in which the host offers a beat. streams
// reports whether VRAM takes it.
func (b *bench) memory(takes bool, fromHost port.Beat) (v VRAM, streams bool) {
	if req := b.m.VRAM(); req.Kind != port.None && b.ready() {
		v.ReadReady = true
		n := int(port.Beats(req.Addr, req.Len))
		for i := range n {
			at := req.Addr&^7 + uint64(i)*8
			c := port.Completion{Tag: req.Tag, Status: port.CplSuccess, Last: i == n-1, Data: word(b.vram[at:])}
			b.reads = append(b.reads, timedCpl{b.clock + b.latency + i, c})
		}
	}
	if len(b.reads) != 0 && b.reads[0].at <= b.clock {
		v.Cpl = b.reads[0].cpl
		if takes {
			b.reads = b.reads[1:]
		}
	}
	streams = b.owed && b.ready()
	if v.BeatTaken = streams && fromHost.Valid; v.BeatTaken {
		b.beats = append(b.beats, fromHost)
		b.order = append(b.order, "vram")
		b.owed = !fromHost.Last
	}
	if req := b.m.VRAMWrite(); req.Kind != port.None {
		b.writes = append(b.writes, req)
		b.owed = true
	}
	return v, streams
}

func word(p []byte) uint64 {
	var v uint64
	for i := range 8 {
		v |= uint64(p[i]) << (8 * i)
	}
	return v
}

// request sends a request with its beats and returns the completions that arrive
// within the time limit.
func (b *bench) request(req port.Request, beats ...port.Beat) []port.Completion {
	var got []port.Completion
	posted := req.Kind == port.MemWrite
	for range 600 {
		in := Target{Req: req}
		if len(beats) != 0 {
			in.Beat = beats[0]
		}
		cpl, taken, beatTaken := b.tick(in)
		if taken {
			req = port.Request{}
		}
		if beatTaken {
			beats = beats[1:]
		}
		if cpl.Status != port.CplNone {
			got = append(got, cpl)
		}
		_, idle, _ := b.m.Target()
		done := posted || len(got) != 0 && got[len(got)-1].Last
		if req.Kind == port.None && len(beats) == 0 && idle && done {
			return got
		}
	}
	b.t.Fatal("the request does not end")
	return nil
}

// lanes places a dword and its byte enables in a beat.
func lanes(off uint64, v uint32, enable uint8) port.Beat {
	b := port.Beat{Valid: true, Last: true, Enable: enable, Data: uint64(v)}
	if off&4 != 0 {
		b.Enable, b.Data = enable<<4, uint64(v)<<32
	}
	return b
}

func (b *bench) config(off uint64, v uint32) { b.configBytes(off, v, 0xf) }

func (b *bench) configBytes(off uint64, v uint32, enable uint8) {
	got := b.request(port.Request{Kind: port.CfgWrite, Tag: 9, Len: 1, Addr: off}, lanes(off, v, enable))
	require.Len(b.t, got, 1)
	got[0].Data = 0 // not compared
	require.Equal(b.t, port.Completion{Tag: 9, Status: port.CplSuccess, Last: true}, got[0])
}

func (b *bench) readConfig(off uint64) uint32 {
	got := b.request(port.Request{Kind: port.CfgRead, Tag: 5, Len: 1, Addr: off})
	require.Len(b.t, got, 1)
	want := port.Completion{Tag: 5, Status: port.CplSuccess, Last: true, Data: got[0].Data}
	require.Equal(b.t, want, got[0])
	if off&4 != 0 {
		return uint32(got[0].Data >> 32)
	}
	return uint32(got[0].Data)
}
