package miniport_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// An application gives the miniport private data and queries. Each function checks that a refusal changes
// nothing, and returns the status.
type application struct {
	*client
	t *testing.T
}

// allocation gives CreateAllocation private data.
func (a application) allocation(data []byte) ddi.Status {
	al := kmddi.HAllocation{Root: &ddi.Root{}}
	info, s := a.k.table.CreateAllocation(a.k.thread, a.k.adapter, al, kmddi.CreateAllocation{PrivateDriverData: data})
	assert.Equal(a.t, s == success, al.Driver != nil)
	assert.Equal(a.t, s == success, info != kmddi.AllocationInfo{})
	return s
}

// described gives CreateAllocation a description without a mistake in its form.
func (a application) described(place uint32, size uint64, width, height, pitch, format uint32) ddi.Status {
	return a.allocation(words(0x31524748, place, uint32(size), uint32(size>>32), width, height, pitch, format, 0, 0))
}

// context gives CreateContext a node, engines and private data.
func (a application) context(node, engines uint32, data []byte) ddi.Status {
	ctx := kmddi.HContext{Root: &ddi.Root{}}
	info, s := a.k.table.CreateContext(a.k.thread, a.dev, ctx, kmddi.CreateContext{NodeOrdinal: node, EngineAffinity: engines, PrivateDriverData: data})
	assert.Equal(a.t, s == success, ctx.Driver != nil)
	assert.Equal(a.t, s == success, info != kmddi.ContextInfo{})
	return s
}

// query asks for information of a type.
func (a application) query(of kmddi.InfoType) ddi.Status {
	in := []byte{1, 2, 3}
	out, s := a.k.table.QueryAdapterInfo(a.k.thread, a.k.adapter, kmddi.QueryAdapterInfo{Type: of, InputData: in})
	assert.Equal(a.t, []byte{1, 2, 3}, in)
	if s != success {
		assert.Equal(a.t, kmddi.QueryAdapterInfoOut{}, out)
	}
	return s
}

// escape gives Escape an operation with its argument, and more dwords after the results.
func (a application) escape(op, argument uint32, more ...uint32) ddi.Status {
	data := words(append([]uint32{0x31454748, op, argument, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5}, more...)...)
	before := bytes.Clone(data)
	s := a.k.table.Escape(a.k.thread, a.k.adapter, kmddi.Escape{PrivateDriverData: data})
	assert.Equal(a.t, s != success, bytes.Equal(before, data))
	return s
}

// Private data and queries are refused beyond each limit, without an effect, and accepted at the limit.
//
// docs/validator.md: V29.
func TestV29(t *testing.T) {
	const most, coord, pitch = 1 << 40, 16384, 1<<20 - 1
	type verdict struct {
		name string
		got  ddi.Status
	}
	t.Run("refused", func(t *testing.T) {
		a := application{started(t, 2).client(t), t}
		for _, v := range []verdict{
			{"a byte less", a.allocation(words(0x31524748, 1, 1, 0, 0, 0, 0, 0, 0, 0)[:39])},
			{"a byte more", a.allocation(append(words(0x31524748, 1, 1, 0, 0, 0, 0, 0, 0, 0), 0))},
			{"another magic", a.allocation(words(0x31524749, 1, 1, 0, 0, 0, 0, 0, 0, 0))},
			{"a reserved bit", a.allocation(words(0x31524748, 1, 1, 0, 0, 0, 0, 0, 0, 1<<31))},
			{"no bytes", a.described(0, 0, 0, 0, 0, 0)}, {"too many bytes", a.described(0, most+1, 0, 0, 0, 0)},
			{"the place after the last", a.described(4, 1, 0, 0, 0, 0)}, {"the format after the last", a.described(0, most, 1, 1, 16, 5)},
			{"too wide", a.described(0, most, coord+1, 1, pitch, 0)}, {"too high", a.described(0, most, 1, coord+1, pitch, 0)},
			{"too large a pitch", a.described(0, most, 1, 1, pitch+1, 0)},
			{"a surface with a byte too many", a.described(0, 15*64+16-1, 4, 16, 64, 2)},
			{"the node after the last", a.context(2, 1, nil)}, {"two engines", a.context(0, 3, nil)},
			{"private data of a context", a.context(0, 1, []byte{0})},
			{"a node that the GPU lacks", a.escape(2, 2)}, {"a register that it lacks", a.escape(1, 0xffc)},
			{"operation 0", a.escape(0, 0)}, {"the operation after the last", a.escape(3, 0)}, {"a dword after the results", a.escape(2, 0, 0)},
		} {
			assert.Equal(t, parameter, v.got, v.name)
		}
		assert.Equal(t, ddi.StatusNotSupported, a.query(3), "the query after the last")
	})
	t.Run("accepted", func(t *testing.T) {
		a := application{started(t, 2).client(t), t}
		for _, v := range []verdict{
			{"all its bytes", a.allocation(words(0x31524748, 1, 1, 0, 0, 0, 0, 0, 0, 0))},
			{"one byte", a.described(0, 1, 0, 0, 0, 0)}, {"most bytes", a.described(0, most, 0, 0, 0, 0)},
			{"the last place", a.described(3, 1, 0, 0, 0, 0)}, {"the last format", a.described(0, most, 1, 1, 16, 4)},
			{"widest", a.described(0, most, coord, 1, pitch, 0)}, {"highest", a.described(0, most, 1, coord, pitch, 0)},
			{"the largest pitch", a.described(0, most, 1, 1, pitch, 0)},
			{"a surface to the last byte", a.described(0, 15*64+16, 4, 16, 64, 2)},
			{"the last node", a.context(1, 1, nil)}, {"one engine", a.context(0, 1, nil)}, {"no private data", a.context(0, 1, []byte{})},
			{"the state of the last node", a.escape(2, 1)}, {"the first register", a.escape(1, 0)}, {"the last query", a.query(2)},
		} {
			assert.Equal(t, success, v.got, v.name)
		}
	})
}
