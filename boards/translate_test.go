package boards

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// peeked is a host whose memory can be read without an access.
type peeked struct{ pc }

func (h *peeked) PeekMem(addr uint64, p []byte) error { return h.ReadMem(addr, p) }

// A page has the entry of a table in VRAM or in host memory. An address outside of the aperture's
// pages has none.
func TestTranslate(t *testing.T) {
	for _, inHost := range []bool{false, true} {
		h := new(peeked)
		link, _, err := Open("emu?vram=64KiB&gart=1", h)
		require.NoError(t, err)
		enumerate(t, link)
		table := uint64(0x8000)
		entry := binary.LittleEndian.AppendUint64(nil, 0x123000|gartreg.EntryValid)
		if inHost {
			table |= pkt.Host | memBase
			copy(h.mem[0x8000+3*gartreg.EntryBytes:], entry)
		} else {
			require.NoError(t, link.Write(vramBAR, table+3*gartreg.EntryBytes, entry))
		}
		write32(t, link, gartreg.Base+gartreg.TableLo, uint32(table))
		write32(t, link, gartreg.Base+gartreg.TableHi, uint32(table>>32))
		write32(t, link, gartreg.Base+gartreg.Pages, 4)
		write32(t, link, gartreg.Base+gartreg.Ctl, gartreg.CtlEnable)
		require.NoError(t, link.Read(0, gartreg.Base, make([]byte, 4)))
		for addr, want := range map[uint64]uint64{
			gartreg.Start + 3*gartreg.PageBytes:            0x123001,
			gartreg.Start + 4*gartreg.PageBytes - 1:        0x123001,
			gartreg.Start + 2*gartreg.PageBytes:            0,
			gartreg.Start + 4*gartreg.PageBytes:            0,
			3 * gartreg.PageBytes:                          0,
			pkt.Host | gartreg.Start | 3*gartreg.PageBytes: 0,
		} {
			got, ok := link.(Translator).Translate(addr)
			assert.True(t, ok)
			assert.Equal(t, want, got, "%#x", addr)
		}
		write32(t, link, gartreg.Base+gartreg.Ctl, 0)
		require.NoError(t, link.Read(0, gartreg.Base, make([]byte, 4)))
		got, ok := link.(Translator).Translate(gartreg.Start + 3*gartreg.PageBytes)
		assert.True(t, ok)
		assert.Zero(t, got, "an aperture that is not enabled")
		require.NoError(t, link.Close())
	}
}

// A table in the memory of a host that cannot be looked at is not known.
func TestTranslateUnknown(t *testing.T) {
	link, _, err := Open("emu?vram=64KiB&gart=1", new(pc))
	require.NoError(t, err)
	enumerate(t, link)
	write32(t, link, gartreg.Base+gartreg.TableLo, memBase)
	write32(t, link, gartreg.Base+gartreg.TableHi, 1<<31)
	write32(t, link, gartreg.Base+gartreg.Pages, 4)
	write32(t, link, gartreg.Base+gartreg.Ctl, gartreg.CtlEnable)
	require.NoError(t, link.Read(0, gartreg.Base, make([]byte, 4)))
	_, ok := link.(Translator).Translate(gartreg.Start)
	assert.False(t, ok)
	require.NoError(t, link.Close())
}
