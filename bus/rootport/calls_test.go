package rootport_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

func TestOptions(t *testing.T) {
	for _, opt := range []rootport.Options{
		{Timeout: -1}, {Tags: -1}, {Tags: 257}, {TagBits: 6}, {TagBits: 5, Tags: 33},
		{MaxPayload: 64}, {MaxPayload: 192}, {MaxPayload: 8192}, {MaxReadRequest: 100},
	} {
		_, err := rootport.New(func() (rootport.Port, error) { return newFake(t), nil }, bustest.NewHost(64), opt)
		assert.ErrorIs(t, err, rootport.ErrOptions, "%+v", opt)
	}
	cause := errors.New("no such port")
	_, err := rootport.New(func() (rootport.Port, error) { return nil, cause }, bustest.NewHost(64), rootport.Options{})
	assert.ErrorIs(t, err, cause)
}

// A part is the expected packet of a call: address, dwords, enables.
type part struct {
	addr        uint64
	dwords      int
	first, last uint8
}

// TestSplits lists the packets of some calls, written by hand: none crosses a
// multiple of 128 bytes.
func TestSplits(t *testing.T) {
	for _, tt := range []struct {
		name string
		bar  int
		off  uint64
		n    int
		want []part
	}{
		{"a register", 0, 0x10, 4, []part{{0xe0000010, 1, 0xf, 0}}},
		{"two dwords", 0, 0x10, 8, []part{{0xe0000010, 2, 0xf, 0xf}}},
		{"128 bytes", 2, 0x80, 128, []part{{0x200000080, 32, 0xf, 0xf}}},
		{"up to a boundary", 2, 0x7c, 4, []part{{0x20000007c, 1, 0xf, 0}}},
		{"over a boundary", 2, 0x7c, 8, []part{{0x20000007c, 1, 0xf, 0}, {0x200000080, 1, 0xf, 0}}},
		{"over 4 KiB", 2, 0xff8, 16, []part{{0x200000ff8, 2, 0xf, 0xf}, {0x200001000, 2, 0xf, 0xf}}},
		{"three blocks", 2, 0xfc, 264, []part{{0x2000000fc, 1, 0xf, 0}, {0x200000100, 32, 0xf, 0xf}, {0x200000180, 32, 0xf, 0xf}, {0x200000200, 1, 0xf, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			r, _ := f.open(rootport.Options{})
			p := make([]byte, tt.n)
			require.NoError(t, r.Read(tt.bar, tt.off, p))
			require.NoError(t, r.Write(tt.bar, tt.off, p))
			require.Len(t, f.sent, 2*len(tt.want))
			kinds := []tlp.Kind{tlp.MRd32, tlp.MWr32}
			if tt.bar == 2 {
				kinds = []tlp.Kind{tlp.MRd64, tlp.MWr64}
			}
			for i, got := range f.sent {
				want := tt.want[i%len(tt.want)]
				assert.Equal(t, want, part{got.Addr, got.Len, got.First, got.Last})
				assert.Equal(t, kinds[i/len(tt.want)], got.Kind)
				assert.Zero(t, got.Requester)
			}
		})
	}
}

// TestReadsAndWrites: any sequence of calls has the effect of the reference
// model, in any order of completions, with at most the allowed number of tags
// in flight.
func TestReadsAndWrites(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFake(t)
		opt := rootport.Options{
			Tags:           rapid.IntRange(1, 32).Draw(rt, "tags"),
			TagBits:        rapid.SampledFrom([]int{5, 8}).Draw(rt, "bits"),
			MaxReadRequest: rapid.SampledFrom([]int{128, 256, 4096}).Draw(rt, "request"),
		}
		model := slices.Clone(f.fill())
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var waiting [][]tlp.Packet // completions, by tag
		f.answer = func(req tlp.Packet, honest []tlp.Packet) (now []tlp.Packet) {
			if len(honest) == 0 {
				return nil
			}
			waiting = append(waiting, honest)
			if len(waiting) > opt.Tags {
				rt.Fatalf("%d requests in flight, want at most %d", len(waiting), opt.Tags)
			}
			return nil
		}
		f.full = func(tlp.Class) bool {
			for len(waiting) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(waiting))
				f.push(waiting[i][0])
				if waiting[i] = waiting[i][1:]; len(waiting[i]) == 0 {
					waiting = slices.Delete(waiting, i, i+1)
				}
			}
			return rng.IntN(4) == 0
		}
		idle := &idler{fake: f, more: func() bool { f.full(0); return len(waiting) > 0 }}
		r, err := rootport.New(func() (rootport.Port, error) { return idle, nil }, bustest.NewHost(64), opt)
		require.NoError(rt, err)
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			off := 4 * rapid.IntRange(0, 2000).Draw(rt, "offset")
			n := 4 * rapid.IntRange(0, 1500).Draw(rt, "length")
			p := make([]byte, n)
			if rapid.Bool().Draw(rt, "write") {
				for i := range p {
					p[i] = byte(rng.Uint32())
				}
				require.NoError(rt, r.Write(2, uint64(off), p))
				copy(model[off:], p)
				continue
			}
			require.NoError(rt, r.Read(2, uint64(off), p))
			require.Equal(rt, model[off:off+n], p)
		}
		require.Equal(rt, model, f.mem)
		st := r.Stats()
		require.Zero(rt, st.Refused, st.Refusal)
	})
}

// An idler runs the device when there is nothing to receive.
type idler struct {
	*fake
	more func() bool
}

func (i *idler) Receive(timeout time.Duration) ([]byte, error) {
	for len(i.inbox) == 0 && i.more() {
	}
	return i.fake.Receive(timeout)
}

// TestPayload: the payload of a packet to the device is limited by the option
// and by the device's setting, whichever is smaller.
func TestPayload(t *testing.T) {
	for _, tt := range []struct {
		name   string
		option int
		devCtl uint32
		cap    uint32
		want   []int
	}{
		{"default", 0, 1 << 5, 0x10, []int{32, 32, 32, 32}},
		{"device after reset", 256, 0, 0x10, []int{32, 32, 32, 32}},
		{"both 256", 256, 1 << 5, 0x10, []int{64, 64}},
		{"option is less", 256, 2 << 5, 0x10, []int{64, 64}},
		{"device is less", 512, 1 << 5, 0x10, []int{64, 64}},
		{"no PCI Express capability", 256, 1 << 5, 0x05, []int{32, 32, 32, 32}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			f.cfg[pcicfg.DevCtl], f.cfg[pcicfg.PCIe] = tt.devCtl, tt.cap
			r, _ := f.open(rootport.Options{MaxPayload: tt.option})
			require.NoError(t, r.Write(2, 0, make([]byte, 512)))
			var got []int
			for _, p := range f.sent {
				got = append(got, p.Len)
			}
			assert.Equal(t, tt.want, got)
		})
	}
	f := newFake(t)
	r, _ := f.open(rootport.Options{MaxPayload: 256})
	require.NoError(t, r.WriteConfig(pcicfg.DevCtl, 1<<5))
	f.sent = nil
	require.NoError(t, r.Write(0, 0, make([]byte, 256)))
	assert.Equal(t, 64, f.sent[len(f.sent)-1].Len, "a write of the register counts")
}

// TestBARs: the addresses of BARs come from configuration space.
func TestBARs(t *testing.T) {
	f := newFake(t)
	r, _ := f.open(rootport.Options{})
	p := make([]byte, 4)
	require.NoError(t, r.Read(0, 8, p))
	require.Equal(t, []tlp.Kind{tlp.MRd32}, f.kinds(), "known")

	require.NoError(t, r.WriteConfig(pcicfg.BAR0, 0x40000000))
	require.NoError(t, r.Write(0, 8, p))
	assert.EqualValues(t, 0x40000008, f.sent[len(f.sent)-1].Addr)
	f.cfg[pcicfg.BAR0] = 0x50000000 // as after a reset
	require.NoError(t, r.WriteConfig(pcicfg.Command, 0))
	require.NoError(t, r.Write(0, 8, p))
	assert.EqualValues(t, 0x50000008, f.sent[len(f.sent)-1].Addr)

	n := len(f.sent)
	for bar, says := range map[int]string{3: "high half", 4: "not memory"} {
		err := r.Read(bar, 0, p)
		assert.ErrorIs(t, err, bus.ErrArgument)
		assert.ErrorContains(t, err, says)
	}
	err := r.Read(2, 1<<64-base2-4, make([]byte, 8))
	assert.ErrorIs(t, err, bus.ErrArgument)
	assert.ErrorContains(t, err, "ends above the address space")
	assert.NoError(t, r.Read(5, 0, nil), "nothing to move")
	assert.Len(t, f.sent, n)
}

// TestFull: while the port accepts no request, the device's reads are answered.
// The error of a write that is not accepted in time gives the number of bytes
// accepted.
func TestFull(t *testing.T) {
	f := newFake(t)
	r, h := f.open(rootport.Options{Timeout: 10 * time.Millisecond})
	copy(h.Mem, "0123456789abcdef")
	stuck := true
	f.full = func(c tlp.Class) bool {
		if c == tlp.Completion {
			stuck = false
		}
		return stuck && c == tlp.Posted
	}
	f.push(tlp.Packet{Kind: tlp.MRd32, Len: 2, Requester: 0x100, Tag: 9, First: 15, Last: 15, Addr: h.Base + 4})
	require.NoError(t, r.Write(0, 0, make([]byte, 4)))
	require.Equal(t, []tlp.Kind{tlp.CplD, tlp.MWr32}, f.kinds())
	assert.Equal(t, []byte("456789ab"), f.sent[0].Data)

	writes := 0
	f.full = func(c tlp.Class) bool { writes++; return writes > 2 }
	err := r.Write(2, 0x80, make([]byte, 1024))
	assert.ErrorIs(t, err, bus.ErrTimeout)
	assert.ErrorContains(t, err, "write of 1024 bytes at BAR 2 offset 0x80, of which 256 were accepted")
	err = r.Read(0, 0, make([]byte, 4))
	assert.ErrorIs(t, err, bus.ErrTimeout)
	assert.ErrorContains(t, err, "accepts no packet for 10ms")
	f.full = nil
	assert.NoError(t, r.Read(0, 0, make([]byte, 4)))
}

// A sized port refuses packets that are longer than its session allows.
type sized struct{ *fake }

func (s sized) Send(packet []byte) error {
	if len(packet) > 100 {
		return datalink.ErrSize
	}
	return s.fake.Send(packet)
}

// TestSmallPackets: requests are cut to the packets of the session. A read of the
// device whose completion cannot be cut is aborted, and counted.
func TestSmallPackets(t *testing.T) {
	for _, tt := range []struct {
		packet   int
		payload  int // of a write of 256 bytes
		request  int
		reads    int // dwords of a read of the device that is answered
		aborts   int // and of one that is not
		complete int // dwords of its first completion
	}{
		{packet: 0, payload: 128, request: 256, reads: 64, complete: 32},
		{packet: 272, payload: 128, request: 256, reads: 64, complete: 32},
		{packet: 143, payload: 64, request: 64, reads: 64, complete: 16},
		{packet: 80, payload: 64, request: 64, reads: 64, complete: 16},
		{packet: 79, payload: 32, request: 32, reads: 8, aborts: 9, complete: 8},
		{packet: 20, payload: 4, request: 4, reads: 1, aborts: 2, complete: 1},
	} {
		t.Run(fmt.Sprint(tt.packet), func(t *testing.T) {
			f := newFake(t)
			f.packet = tt.packet
			r, h := f.open(rootport.Options{MaxReadRequest: 256})
			require.NoError(t, r.Write(2, 0, make([]byte, 256)))
			assert.Equal(t, tt.payload, 4*f.sent[0].Len)
			assert.Len(t, f.sent, 256/tt.payload)
			f.sent = nil
			require.NoError(t, r.Read(2, 0, make([]byte, 256)))
			assert.Equal(t, tt.request, 4*f.sent[0].Len)
			ask := func(n int) tlp.Packet {
				p := tlp.Packet{Kind: tlp.MRd32, Len: n, Requester: 0x100, First: 15, Addr: h.Base}
				if n > 1 {
					p.Last = 15
				}
				f.push(p)
				f.sent = nil
				_, err := r.Wait(r.Now() + 1000)
				require.NoError(t, err)
				return f.sent[0]
			}
			got := ask(tt.reads)
			assert.Equal(t, tlp.CplD, got.Kind)
			assert.Equal(t, tt.complete, got.Len)
			if tt.aborts > 0 {
				assert.Equal(t, tlp.CA, ask(tt.aborts).Status)
				assert.EqualValues(t, 1, r.Stats().Refused[rootport.TooLong])
			}
		})
	}
}

// TestTooLong: a packet that the port cannot carry is an error of the call.
func TestTooLong(t *testing.T) {
	f := newFake(t)
	r, err := rootport.New(func() (rootport.Port, error) { return sized{f}, nil }, bustest.NewHost(64), rootport.Options{})
	require.NoError(t, err)
	assert.ErrorIs(t, r.Write(2, 0, make([]byte, 128)), datalink.ErrSize)
	assert.NoError(t, r.Write(2, 0, make([]byte, 64)))
}
