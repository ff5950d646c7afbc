package miniport_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// escape sends an escape to the miniport, and returns the results.
func (k *kernel) escape(t *testing.T, op privdata.Op, argument uint32) [5]uint32 {
	t.Helper()
	data := privdata.Escape{Op: op, Argument: argument}.Append(nil)
	require.Equal(t, success, k.table.Escape(k.thread, k.adapter, kmddi.Escape{PrivateDriverData: data}))
	e, err := privdata.DecodeEscape(data)
	require.NoError(t, err)
	assert.Equal(t, []any{op, argument}, []any{e.Op, e.Argument})
	return e.Result
}

func TestEscapeReadsRegisters(t *testing.T) {
	k := started(t, 2)
	assert.Equal(t, [5]uint32{0x47504c48}, k.escape(t, privdata.ReadRegister, 0), "ID.MAGIC")
	k.gpu.regs[cp0Rptr] = 12
	assert.Equal(t, [5]uint32{12}, k.escape(t, privdata.ReadRegister, cp0Rptr))
}

func TestEscapeReadsNodes(t *testing.T) {
	k := started(t, 2)
	assert.Equal(t, privdata.Node{}, privdata.NodeOf(k.escape(t, privdata.ReadNode, 0)))
	k.submit(t, 1, 0, 4, 7)
	assert.Equal(t, privdata.Node{Submitted: 7, Reported: 6, Busy: true}, privdata.NodeOf(k.escape(t, privdata.ReadNode, 1)))
	k.gpu.complete(1, 7)
	k.answered(t)
	assert.Equal(t, privdata.Node{Submitted: 7, Reported: 7}, privdata.NodeOf(k.escape(t, privdata.ReadNode, 1)))
}

// A bad escape changes nothing.
func TestEscapeRefuses(t *testing.T) {
	k := started(t, 1)
	good := privdata.Escape{Op: privdata.ReadNode}.Append(nil)
	edit := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	register := func(off uint32) []byte {
		return privdata.Escape{Op: privdata.ReadRegister, Argument: off}.Append(nil)
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "short": good[:privdata.EscapeBytes-1], "long": append(bytes.Clone(good), 0),
		"magic": edit(0, 0), "no operation": edit(4, 0), "unknown operation": edit(4, 3), "node": edit(8, 1),
		"no register": register(0xffc), "between registers": register(2), "another node": register(cp0Rptr + cpStride),
	} {
		before := bytes.Clone(data)
		assert.Equal(t, ddi.StatusInvalidParameter, k.table.Escape(k.thread, k.adapter, kmddi.Escape{PrivateDriverData: data}), name)
		assert.Equal(t, before, data, name)
	}
	k.dead = true
	assert.Equal(t, ddi.StatusIODeviceError, k.table.Escape(k.thread, k.adapter, kmddi.Escape{PrivateDriverData: register(0)}))
	assert.Equal(t, ddi.StatusInvalidHandle, k.table.Escape(k.thread, kmddi.HAdapter{}, kmddi.Escape{PrivateDriverData: good}))
}

// Mutated escapes are answered if and only if they are legal, and keep their size.
//
// docs/validator.md: V29.
func TestEscapeRandom(t *testing.T) {
	k := started(t, 2)
	r := rand.New(rand.NewPCG(1, 2))
	answered := 0
	for range 20_000 {
		e := privdata.Escape{Op: privdata.Op(r.Uint32N(4)), Argument: []uint32{r.Uint32N(4), 4 * r.Uint32N(0x500), r.Uint32()}[r.IntN(3)]}
		data := e.Append(nil)
		if r.IntN(4) == 0 {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		if r.IntN(8) == 0 {
			data = append(data, make([]byte, 8)...)[:r.IntN(len(data)+8)]
		}
		before := bytes.Clone(data)
		s := k.table.Escape(k.thread, k.adapter, kmddi.Escape{PrivateDriverData: data})
		word := func(i int) uint32 { return binary.LittleEndian.Uint32(before[4*i:]) }
		switch {
		case s == success:
			answered++
			require.Len(t, before, 32)
			require.Equal(t, uint32(0x31454748), word(0))
			require.True(t, word(1) == 1 && word(2)%4 == 0 && word(2) < 0x1200 || word(1) == 2 && word(2) < 2, "%x", before)
			require.Equal(t, before[:12], data[:12])
		default:
			require.Equal(t, ddi.StatusInvalidParameter, s)
			require.Equal(t, before, data)
		}
	}
	assert.Greater(t, answered, 1000)
}
