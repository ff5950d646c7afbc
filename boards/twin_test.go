package boards

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// vramWork starts node 0 with work that stays in VRAM, its ring too, after a write that is
// still on the wire.
func vramWork(t *testing.T, selector string) (*twinned, *pc) {
	h := new(pc)
	link, _, err := Open(selector, h)
	require.NoError(t, err)
	enumerate(t, link)
	var b []byte
	for _, p := range []interface{ Append([]byte) ([]byte, error) }{
		pkt.Fill{Dst: 4096, Bytes: 4096, Value: 0x0123456789abcdef}, pkt.Copy{Src: 4096, Dst: 8192, Bytes: 4096},
		pkt.Copy{Src: 8192, Dst: 12000, Bytes: 300}, pkt.Fence{Addr: 1<<63 | fenceAt, ID: 7, IRQ: true},
	} {
		b, err = p.Append(b)
		require.NoError(t, err)
	}
	require.NoError(t, link.Write(2, 0, b))
	const node = cpreg.Base
	write32(t, link, node+cpreg.RingLo, 0)
	write32(t, link, node+cpreg.RingSize, 10)
	write32(t, link, node+cpreg.Ctl, cpreg.CtlRun)
	write32(t, link, node+cpreg.Wptr, uint32(len(b)/4))
	return link.(*twinned), h
}

// nodeRegisters reads the registers of node 0 that have no read effect.
func nodeRegisters(t *testing.T, link bus.Link) [nodeBytes]byte {
	var p [nodeBytes]byte
	assert.NoError(t, link.Read(0, cpreg.Base, p[:]))
	return p
}

// nodeBytes is the length of the registers of a node without a read effect.
const nodeBytes = 0x48

const twinBoard = "emu?vram=16KiB"

// A read of a twin has the values that the read of the GPU has, at any time of its work.
func TestTwinReadsWhatTheGPUWouldAnswer(t *testing.T) {
	for _, selector := range []string{twinBoard, twinBoard + "&vramports=1", twinBoard + "&config=full"} {
		states := map[[nodeBytes]byte]bool{}
		for stop := range uint64(30) {
			e, _ := vramWork(t, selector)
			for deadline := e.Now() + 50*stop; e.Now() < deadline; {
				_, err := e.Wait(deadline)
				require.NoError(t, err)
			}
			var twin [nodeBytes]byte
			e.Twin(func(l bus.Link, _ func(uint64, []byte) error) { twin = nodeRegisters(t, l) })
			require.Equal(t, nodeRegisters(t, e), twin, "%s after %d clocks", selector, e.Now())
			states[twin] = true
		}
		assert.Greater(t, len(states), 3, "the node of %s works meanwhile", selector)
	}
}

// A twin changes nothing: not the state, VRAM, the time, the messages or what the host counts.
func TestTwinChangesNothing(t *testing.T) {
	e, h := vramWork(t, twinBoard)
	f, g := vramWork(t, twinBoard)
	reads := 0
	for deadline := e.Now() + 3000; e.Now() < deadline; {
		for range 2 {
			e.Twin(func(l bus.Link, _ func(uint64, []byte) error) {
				nodeRegisters(t, l)
				assert.NoError(t, l.Write(2, 64, make([]byte, 64)), "even a write of VRAM stays in the twin")
				assert.NoError(t, l.Read(2, 0, make([]byte, 256)))
				reads++
			})
		}
		next := e.Now() + 50
		for _, l := range []*twinned{e, f} {
			_, err := l.Wait(next)
			require.NoError(t, err)
		}
		require.Equal(t, f.Now(), e.Now())
		require.Equal(t, f.dev.gpu.Hash(), e.dev.gpu.Hash(), "at %d", e.Now())
	}
	assert.Greater(t, reads, 100)
	assert.Equal(t, f.Counters(), e.Counters())
	assert.Equal(t, *g, *h)
	assert.EqualValues(t, 7, binary.LittleEndian.Uint64(h.mem[fenceAt-memBase:]), "the work is done")
}

// A GPU with injected faults has no twin, since the faults are not in the GPU.
func TestNoTwinOfAFaultyGPU(t *testing.T) {
	for selector, want := range map[string]bool{"emu": true, "emu?fault=stuck-register:D3=0": false, "emu?fault=lost-doorbell": false, "line": false} {
		link, _, err := Open(selector, new(pc))
		require.NoError(t, err)
		_, ok := link.(Twinned)
		assert.Equal(t, want, ok, selector)
		require.NoError(t, link.Close())
	}
}

// BenchmarkTwin measures one read of 17 registers on a twin of the default GPU.
func BenchmarkTwin(b *testing.B) {
	link, _, err := Open("emu", new(pc))
	require.NoError(b, err)
	for off, v := range map[int]uint32{0x10: base0, 0x04: 6} {
		require.NoError(b, link.WriteConfig(off, v))
	}
	p := make([]byte, 68)
	for b.Loop() {
		link.(Twinned).Twin(func(l bus.Link, _ func(uint64, []byte) error) { assert.NoError(b, l.Read(0, cpreg.Base, p)) })
	}
}
