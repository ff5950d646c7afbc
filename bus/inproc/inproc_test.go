package inproc_test

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// rig is a link to an enumerated reference device.
type rig struct {
	*inproc.Link
	dev  *bustest.Device
	host *bustest.Host
}

func newRig(t *testing.T, opt inproc.Options, dev bustest.DeviceOptions) rig {
	d, host := bustest.NewDevice(dev), bustest.NewHost(1<<16)
	link, err := inproc.New(d, host, opt)
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	require.NoError(t, link.Read(0, bustest.RegMagic, make([]byte, 4)))
	return rig{link, d, host}
}

func (r rig) reg(t *testing.T, off uint64) uint32 {
	p := make([]byte, 4)
	require.NoError(t, r.Read(0, off, p))
	return binary.LittleEndian.Uint32(p)
}

// job runs a job to completion.
func (r rig) job(t *testing.T, job uint32, host uint64, mem, n uint32) {
	before := len(r.host.Messages())
	require.NoError(t, bustest.StartJob(r, job, host, mem, n))
	deadline := r.Now() + 1<<30
	for len(r.host.Messages()) == before {
		require.Less(t, r.Now(), deadline)
		_, err := r.Wait(deadline)
		require.NoError(t, err)
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		opt inproc.Options
		ok  bool
	}{
		{inproc.Options{}, true},
		{inproc.Options{Latency: 65536, BytesPerClock: 64, Tags: 64}, true},
		{inproc.Options{Latency: -1}, false},
		{inproc.Options{Latency: 65537}, false},
		{inproc.Options{BytesPerClock: 65}, false},
		{inproc.Options{Tags: 65}, false},
	} {
		_, err := inproc.New(bustest.NewDevice(bustest.DeviceOptions{}), bustest.NewHost(0), tt.opt)
		if tt.ok {
			assert.NoError(t, err)
		} else {
			assert.ErrorIs(t, err, inproc.ErrOptions)
		}
	}
}

// TestLatency measures a read: twice the latency of the wire, and 1 clock from
// header to completion in the reference device.
func TestLatency(t *testing.T) {
	for _, latency := range []int{1, 2, 16, 100} {
		r := newRig(t, inproc.Options{Latency: latency}, bustest.DeviceOptions{})
		start := r.Now()
		r.reg(t, bustest.RegMagic)
		assert.EqualValues(t, 2*latency+2, r.Now()-start, "latency %d", latency)
	}
}

// TestWriteTime measures posted writes: one clock per beat, or more if the
// bandwidth is smaller.
func TestWriteTime(t *testing.T) {
	for _, tt := range []struct {
		rate, bytes int
		clocks      uint64
	}{
		{8, 4, 1},
		{8, 128, 16},
		{8, 1024, 128},
		{1, 128, 127}, // 7 bytes of saved bandwidth for the first beat, then 8 clocks a beat
		{4, 128, 32},
		{64, 128, 2},
	} {
		r := newRig(t, inproc.Options{BytesPerClock: tt.rate, Latency: 200}, bustest.DeviceOptions{})
		_, err := r.Wait(r.Now() + 1000)
		require.NoError(t, err)
		start := r.Now()
		require.NoError(t, r.Write(2, 0, make([]byte, tt.bytes)))
		assert.InDelta(t, tt.clocks, r.Now()-start, 8/float64(tt.rate)+1, "%d bytes at %d a clock", tt.bytes, tt.rate)
	}
}

// TestDeviceWrites makes the device write every small range.
func TestDeviceWrites(t *testing.T) {
	r := newRig(t, inproc.Options{}, bustest.DeviceOptions{Stall: 5})
	src := make([]byte, 512)
	for i := range src {
		src[i] = byte(i*7 + 1)
	}
	require.NoError(t, r.Write(2, 0, src))
	for off := range 12 {
		for n := 1; n < 20; n++ {
			clear(r.host.Mem)
			r.job(t, bustest.JobWrite, r.host.Base+120+uint64(off), uint32(off*3), uint32(n))
			want := make([]byte, len(r.host.Mem))
			copy(want[120+off:], src[off*3:off*3+n])
			require.Equal(t, want[:512], r.host.Mem[:512], "%d bytes at %d", n, off)
		}
	}
}

func TestDeviceReads(t *testing.T) {
	for _, opt := range []inproc.Options{{}, {Latency: 1}, {Latency: 70, BytesPerClock: 2}} {
		r := newRig(t, opt, bustest.DeviceOptions{Stall: 9})
		for i := range r.host.Mem {
			r.host.Mem[i] = byte(i ^ i>>8)
		}
		r.job(t, bustest.JobRead, r.host.Base+36, 8, 1000)
		got := make([]byte, 1000)
		require.NoError(t, r.Read(2, 8, got))
		assert.Equal(t, r.host.Mem[36:1036], got)
		assert.Zero(t, r.reg(t, bustest.RegErrors))
	}
}

// TestRefused makes the device access addresses outside host memory.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		job    uint32
		n      uint32
		errors uint32
	}{
		{"a read fails", bustest.JobRead, 128, 1},
		{"a write is dropped", bustest.JobWrite, 100, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, inproc.Options{}, bustest.DeviceOptions{})
			r.job(t, tt.job, 0x4000_0000, 0, tt.n)
			assert.Equal(t, tt.errors, r.reg(t, bustest.RegErrors))
			assert.EqualValues(t, 1, r.Stats().Refused)
			r.job(t, bustest.JobRead, r.host.Base, 0, 128)
			assert.Equal(t, tt.errors, r.reg(t, bustest.RegErrors))
		})
	}
}

// TestSampling changes host memory during a device read. The read returns the
// contents at the time it arrives at the host.
func TestSampling(t *testing.T) {
	const latency = 50
	r := newRig(t, inproc.Options{Latency: latency}, bustest.DeviceOptions{})
	require.NoError(t, bustest.StartJob(r, bustest.JobRead, r.host.Base, 0, 4))
	_, err := r.Wait(r.Now() + latency + 20)
	require.NoError(t, err)
	r.host.Mem[0] = 1
	_, err = r.Wait(r.Now() + latency)
	require.NoError(t, err)
	r.host.Mem[0] = 2
	_, err = r.Wait(r.Now() + 1000)
	require.NoError(t, err)
	p := make([]byte, 4)
	require.NoError(t, r.Read(2, 0, p))
	assert.Equal(t, byte(1), p[0])
}

// TestSkip checks on the device's clock counter that no clock is lost or
// doubled.
func TestSkip(t *testing.T) {
	r := newRig(t, inproc.Options{}, bustest.DeviceOptions{})
	first, at := r.reg(t, bustest.RegTime), r.Now()
	const far = 2_000_000_000
	event, err := r.Wait(at + far)
	require.NoError(t, err)
	assert.False(t, event)
	assert.Equal(t, at+far, r.Now())
	second := r.reg(t, bustest.RegTime)
	assert.EqualValues(t, r.Now()-at, second-first)
}

// TestDelay makes the device wake up by itself.
func TestDelay(t *testing.T) {
	r := newRig(t, inproc.Options{}, bustest.DeviceOptions{})
	start := r.Now()
	require.NoError(t, bustest.StartJob(r, bustest.JobDelay, 0, 0, 1_000_000_000))
	event, err := r.Wait(start + 3_000_000_000)
	require.NoError(t, err)
	assert.True(t, event)
	assert.InDelta(t, 1_000_000_000, r.Now()-start, 100)
}

// TestWaitLatch: a message that arrives during a read ends the next wait, and
// only that one.
func TestWaitLatch(t *testing.T) {
	r := newRig(t, inproc.Options{}, bustest.DeviceOptions{})
	require.NoError(t, bustest.StartJob(r, bustest.JobNone, 0, 0, 0))
	for len(r.host.Messages()) == 0 {
		r.reg(t, bustest.RegMagic)
	}
	now := r.Now()
	event, err := r.Wait(now + 1000)
	require.NoError(t, err)
	assert.True(t, event)
	assert.Equal(t, now, r.Now())
	event, err = r.Wait(now + 1000)
	require.NoError(t, err)
	assert.False(t, event)
	assert.Equal(t, now+1000, r.Now())
}

func TestWaitForEver(t *testing.T) {
	r := newRig(t, inproc.Options{}, bustest.DeviceOptions{})
	event, err := r.Wait(math.MaxUint64)
	require.NoError(t, err)
	assert.False(t, event)
	start := r.Now()
	r.reg(t, bustest.RegMagic)
	assert.Less(t, start, r.Now())
}

// TestBARs checks which BARs can be accessed, and their addresses after a move.
func TestBARs(t *testing.T) {
	r := newRig(t, inproc.Options{}, bustest.DeviceOptions{})
	p := make([]byte, 4)
	err := r.Read(3, 0, p)
	assert.ErrorIs(t, err, bus.ErrArgument)
	assert.ErrorContains(t, err, "BAR 3")
	assert.ErrorIs(t, r.Read(4, 0, p), bus.ErrUnsupported)

	want := []byte{1, 2, 3, 4}
	require.NoError(t, r.Write(2, 8, want))
	require.NoError(t, r.WriteConfig(pcicfg.BAR3, 0x77))
	require.NoError(t, r.WriteConfig(pcicfg.BAR0, 0xd0000000))
	require.NoError(t, r.Read(2, 8, p))
	assert.Equal(t, want, p)
	assert.EqualValues(t, bustest.MagicValue, r.reg(t, bustest.RegMagic))

	require.NoError(t, r.WriteConfig(pcicfg.BAR3, 0xffffffff))
	require.NoError(t, r.WriteConfig(pcicfg.BAR2, 0xffff0000))
	require.NoError(t, r.Read(2, 0xfff8, p))
	assert.ErrorIs(t, r.Read(2, 0xfffc, make([]byte, 8)), bus.ErrArgument)

	io := newRig(t, inproc.Options{}, bustest.DeviceOptions{Config: map[int]uint32{pcicfg.BAR4: 0xc001}})
	assert.ErrorContains(t, io.Read(4, 0, p), "not memory")
}

// TestErrorsNameTheAccess expects the first failed request of several.
func TestErrorsNameTheAccess(t *testing.T) {
	r := newRig(t, inproc.Options{}, bustest.DeviceOptions{})
	err := r.Read(2, 0x10000-256, make([]byte, 1024))
	assert.ErrorIs(t, err, bus.ErrUnsupported)
	assert.ErrorContains(t, err, "BAR 2 offset 0x10000")
	err = r.Read(0, 0x2000, make([]byte, 4))
	assert.ErrorIs(t, err, bus.ErrAbort)
	assert.ErrorContains(t, err, "BAR 0 offset 0x2000")
}

func TestBreak(t *testing.T) {
	r := newRig(t, inproc.Options{}, bustest.DeviceOptions{})
	cause := errors.New("unplugged")
	r.Break(cause)
	r.Break(errors.New("later"))
	for range 2 {
		err := r.Write(0, bustest.RegScratch, make([]byte, 4))
		assert.ErrorIs(t, err, bus.ErrLinkDown)
		assert.ErrorIs(t, err, cause)
	}
}

// TestNoAllocation: accesses and clocks do not allocate.
func TestNoAllocation(t *testing.T) {
	host := bustest.NewHost(4096)
	link, err := inproc.New(&quietDevice{}, host, inproc.Options{})
	require.NoError(t, err)
	p := make([]byte, 256)
	assert.NoError(t, link.Read(0, 0, p))
	n := testing.AllocsPerRun(100, func() {
		_ = link.Read(0, 0, p)
		_ = link.Write(0, 0, p)
		_, _ = link.ReadConfig(0)
		_, _ = link.Wait(link.Now() + 100)
	})
	assert.Zero(t, n)
}

// quietDevice completes reads with zeros, and its outputs depend on registers
// only.
type quietDevice struct {
	req  port.Request
	left uint8
}

func (d *quietDevice) Target() (port.Completion, bool, bool) {
	if d.left == 0 {
		return port.Completion{}, true, true
	}
	return port.Completion{Tag: d.req.Tag, Status: port.CplSuccess, Last: d.left == 1}, false, true
}

func (d *quietDevice) Initiator() (port.Request, port.Beat) { return port.Request{}, port.Beat{} }

func (d *quietDevice) Tick(req port.Request, _ port.Beat, cplReady bool, _ port.Completion, _, _ bool) {
	switch {
	case d.left > 0 && cplReady:
		d.left--
	case d.left == 0 && req.Kind == port.MemRead:
		d.req, d.left = req, port.Beats(req.Addr, req.Len)
	case d.left == 0 && (req.Kind == port.CfgRead || req.Kind == port.CfgWrite):
		d.req, d.left = req, 1
	}
}

func (d *quietDevice) IdleFor() uint64 { return 0 }
func (d *quietDevice) Skip(uint64)     {}

// TestObserver checks one transaction of each kind.
func TestObserver(t *testing.T) {
	type seen struct {
		dir    inproc.Dir
		kind   port.Kind
		addr   uint64
		status port.Status
		data   string
	}
	var got []seen
	r := newRig(t, inproc.Options{Observer: func(x inproc.Transaction) {
		got = append(got, seen{x.Dir, x.Req.Kind, x.Req.Addr, x.Status, string(x.Data)})
	}}, bustest.DeviceOptions{})
	got = nil
	copy(r.host.Mem, "host")
	require.NoError(t, r.Write(2, 4, []byte("wire")))
	require.NoError(t, r.Read(2, 4, make([]byte, 4)))
	_, err := r.ReadConfig(pcicfg.ID)
	require.NoError(t, err)
	assert.ErrorIs(t, r.Read(0, 0x2000, make([]byte, 4)), bus.ErrAbort)
	const mem = bustest.Base2 + 4
	assert.Equal(t, []seen{
		{inproc.Down, port.MemWrite, mem, port.CplNone, "wire"},
		{inproc.Down, port.MemRead, mem, port.CplNone, ""},
		{inproc.Up, port.MemRead, mem, port.CplSuccess, "wire"},
		{inproc.Down, port.CfgRead, 0, port.CplNone, ""},
		{inproc.Up, port.CfgRead, 0, port.CplSuccess, "\x34\x12\x47\x48"},
		{inproc.Down, port.MemRead, bustest.Base0 + 0x2000, port.CplNone, ""},
		{inproc.Up, port.MemRead, bustest.Base0 + 0x2000, port.CplAbort, ""},
	}, got)

	got = nil
	r.job(t, bustest.JobRead, r.host.Base, 0, 4)
	r.job(t, bustest.JobRead, 0x4000_0000, 0, 4)
	assert.Equal(t, []seen{
		{inproc.Up, port.MemRead, r.host.Base, port.CplNone, ""},
		{inproc.Down, port.MemRead, r.host.Base, port.CplSuccess, "host"},
		{inproc.Up, port.MemWrite, bustest.MessageBase, port.CplNone, "\x00\x00\x00\x00"},
	}, got[1:4])
	assert.Equal(t, seen{inproc.Down, port.MemRead, 0x4000_0000, port.CplUnsupported, ""}, got[6])
}
