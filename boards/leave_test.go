package boards

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// found reads the state of a board that survives all resets of a node.
func found(t *testing.T, link bus.Link) []uint32 {
	var all []uint32
	for _, off := range []int{pcicfg.BAR0, pcicfg.BAR2, pcicfg.BAR3, pcicfg.IntLine} {
		v, err := link.ReadConfig(off)
		require.NoError(t, err)
		all = append(all, v)
	}
	enumerate(t, link)
	for _, off := range []uint64{idreg.Scratch0, idreg.Scratch1, cpreg.Base + cpreg.Fence, cpreg.Base + cpreg.LineHi} {
		all = append(all, read32(t, link, off))
	}
	p := make([]byte, 4)
	require.NoError(t, link.Read(2, 0x1000, p))
	return append(all, uint32(p[0])|uint32(p[1])<<8|uint32(p[2])<<16|uint32(p[3])<<24)
}

// The same seed gives the same earlier use on every emulated board, whatever
// its hardware faults and its wire. Without a seed a board is clean.
func TestDirty(t *testing.T) {
	open := func(selector string) []uint32 {
		link, _, err := Open(selector, new(pc))
		require.NoError(t, err)
		defer link.Close()
		return found(t, link)
	}
	clean, one := open("emu"), open("emu?dirty=1")
	assert.Equal(t, []uint32{0, pcicfg.BARMem64 | pcicfg.BARPrefetchable, 0, 0, 0, 0, 0, 0, 0}, clean)
	for i := range clean {
		if i != 7 { // TIMELINE_HI reads as last latched
			assert.NotEqual(t, clean[i], one[i], "%d", i)
		}
	}
	assert.Equal(t, one, open("emu?dirty=1&latency=77"))
	assert.Equal(t, one, open("emu?dirty=1&fault=bit-flip:0"))
	assert.Equal(t, one, open("line?dirty=1"))
	assert.NotEqual(t, one, open("emu?dirty=2"))
	dev, err := Device("emu?dirty=1")
	require.NoError(t, err)
	link, err := inproc.New(dev, new(pc), inproc.Options{})
	require.NoError(t, err)
	assert.Equal(t, one, found(t, link))
}
