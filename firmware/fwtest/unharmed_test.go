package fwtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// Places in VRAM of the work that the host does with node 1.
const (
	workRing   = 0x20_0000
	workTarget = 0x21_0000
	workLog2   = 12
	workBytes  = 0x1000
	workFills  = 60
)

// work makes node 1 fill its target with values, the last of which is last. It returns WPTR.
func (r *lockedRig) work(last uint64) (wptr uint32) {
	r.t.Helper()
	var b []byte
	for i := range uint64(workFills) {
		var err error
		b, err = pkt.Fill{Dst: workTarget, Bytes: workBytes, Value: last - (workFills - 1) + i}.Append(b)
		require.NoError(r.t, err)
	}
	g, ok := r.Dev.(guard)
	require.True(r.t, ok)
	g.PokeVRAM(workRing, b)
	wptr = uint32(len(b) / 4)
	for _, w := range [][2]uint32{
		{cpreg.Ctl, cpreg.CtlReset}, {cpreg.RingLo, workRing}, {cpreg.RingHi, 0}, {cpreg.RingSize, workLog2}, {cpreg.Wptr, wptr}, {cpreg.Ctl, cpreg.CtlRun},
	} {
		require.NoError(r.t, r.Write(cpreg.Base+cpreg.Stride+w[0], w[1]))
		if w[1] == cpreg.CtlReset {
			r.reads(cpreg.Ctl, 0)
		}
	}
	return wptr
}

// reads waits until a register of node 1 has a value.
func (r *lockedRig) reads(off, want uint32) {
	r.t.Helper()
	for n := 0; ; n++ {
		v, err := r.Read(cpreg.Base + cpreg.Stride + off)
		require.NoError(r.t, err)
		if v == want {
			return
		}
		require.Less(r.t, n, 20_000, "register %#x", off)
	}
}

// While damaged programs run, a node that belongs to the host completes its work, each fill with its value.
func TestDamagedProgramsAndWork(t *testing.T) {
	tooltest.Long(t)
	image, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(*damagedSeed, 4))
	r := newLockedRig(t, rng)
	g, ok := r.Dev.(guard)
	require.True(t, ok)
	fills := 0
	r.Bus.Dev = guard{g.GPU, func(off uint64) {
		if off-workTarget < workBytes {
			fills++
			return
		}
		g.wrote(off)
	}}
	r.o.TestWindow = 2
	busy := 0
	for i := range max(8, *damagedCount/5) {
		last := uint64(i+1) << 32
		wptr := r.work(last)
		before := fills
		_, err := firmware.Load(r, firmware.Append(nil, image.Header, damage(rng, image.Program)), r.o)
		var boot *firmware.BootError
		require.True(t, err == nil || errors.As(err, &boot), "image %d: %v", i, err)
		if fills-before > workBytes/8 {
			busy++
		}
		r.reads(cpreg.Rptr, wptr)
		r.reads(cpreg.Status, cpreg.StatusIdle)
		got := make([]byte, workBytes)
		g.PeekVRAM(workTarget, got)
		assert.Equal(t, bytes.Repeat(binary.LittleEndian.AppendUint64(nil, last), workBytes/8), got, "image %d", i)
	}
	assert.Positive(t, busy, "programs during which the node worked")
	assert.Equal(t, workFills*workBytes/8*max(8, *damagedCount/5), fills)
}
