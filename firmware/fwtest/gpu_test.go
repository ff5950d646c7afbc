package fwtest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

const (
	bar0    = 0xd000_0000
	memBase = 0x12_3400_0000
	memSize = 64 << 10

	// longest is how many clocks an access of the host may take.
	longest = 100_000
)

// A complete is the complete GPU, with a host at its ports.
type complete struct {
	t *testing.T
	*hostbfm.Bus
}

// newComplete returns a GPU with a microcontroller, whose reads of host memory take latency clocks.
func newComplete(t *testing.T, size int, latency uint64) complete {
	t.Helper()
	c := gpu.Full()
	c.MCUBytes = size
	return newConfigured(t, c, latency)
}

// newConfigured returns a GPU of a configuration.
func newConfigured(t *testing.T, c gpu.Config, latency uint64) complete {
	t.Helper()
	g, err := gpu.New(c)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	m := complete{t, &hostbfm.Bus{Dev: g, Rng: rng, Mem: make([]byte, memSize), Base: memBase, BARs: hostbfm.BARs{BAR0: bar0}}}
	m.Latency = latency
	for i := range m.Mem {
		m.Mem[i] = byte(rng.Uint32())
	}
	m.SetConfig(pcicfg.BAR0, bar0)
	m.SetConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
	m.end()
	return m
}

// end waits until the accesses of the host are complete.
func (m complete) end() {
	m.t.Helper()
	for n := 0; m.Busy(); n++ {
		require.Less(m.t, n, longest)
		m.Step()
		require.NoError(m.t, m.Err)
	}
}

// Read reads a register.
func (m complete) Read(off uint32) (v uint32, err error) {
	for range hostClocks {
		m.Step()
	}
	m.Reg(uint64(off), func(got uint32) { v = got })
	m.end()
	return v, nil
}

// Write writes a register.
func (m complete) Write(off, v uint32) error {
	m.SetReg(uint64(off), v)
	m.end()
	return nil
}

// The image boots in the complete GPU: with a window in VRAM, within the limit of clocks, and with
// one in host memory that answers late. It writes nothing outside of its window.
func TestGPU(t *testing.T) {
	for _, tt := range []struct {
		name    string
		base    uint64
		blocks  uint32
		latency uint64
		most    uint64
	}{
		{"VRAM, latency 1", 0x10000, 1, 1, mostClocks},
		{"host memory, latency 1", 1<<63 | memBase + 0x1000, 0, 1, mostClocks},
		{"host memory, latency 1000", 1<<63 | memBase + 0x1000, 0, 1000, 300_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newComplete(t, 32<<10, tt.latency)
			before := bytes.Clone(m.Mem)
			o := firmware.Options{Blocks: tt.blocks, Limit: 1 << 18, Test: true, TestWindow: 3, Clocks: 1 << 20}
			o.Windows[3] = firmware.Window{Base: tt.base, Bytes: 0x800, Write: true}
			b, err := firmware.Load(m, firmware.Default(), o)
			require.NoError(t, err)
			assert.Equal(t, "READY", b.Outcome())
			assert.LessOrEqual(t, b.Clocks, tt.most)
			assert.Equal(t, before[:0x1000], m.Mem[:0x1000])
			assert.Equal(t, before[0x1800:], m.Mem[0x1800:])
			if tt.base>>63 != 0 {
				assert.Equal(t, []byte{0x11, 0x22, 0x33, 0x44}, m.Mem[0x1000:0x1004])
				assert.Equal(t, before[0x100c:0x1010], m.Mem[0x100c:0x1010], "no power of two")
			}
			status, err := m.Read(mcureg.Base + mcureg.Status)
			require.NoError(t, err)
			assert.EqualValues(t, mcureg.StatusAsleep, status)
			errors, err := m.Read(idreg.Base + idreg.ErrCount)
			require.NoError(t, err)
			assert.Zero(t, errors, "what the self-test is refused is not counted")
			t.Logf("%d clocks from RUN to ready", b.Clocks)
		})
	}
}

// Without bus mastering, host memory refuses writes, which is a failed self-test.
func TestGPUWithoutBusMaster(t *testing.T) {
	m := newComplete(t, 32<<10, 1)
	m.SetConfig(pcicfg.Command, pcicfg.CommandMemory)
	m.end()
	o := firmware.Options{Test: true, Clocks: 1 << 20}
	o.Windows[0] = firmware.Window{Base: 1<<63 | memBase, Bytes: 0x100, Write: true}
	b, err := firmware.Load(m, firmware.Default(), o)
	require.ErrorIs(t, err, firmware.ErrFailed)
	assert.Equal(t, "WINDOW", b.Stage())
	assert.Equal(t, "WINDOW_FAULT", b.Outcome())
}
