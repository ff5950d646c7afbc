package inspect

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// work puts packets into a ring of 1024 bytes in VRAM, from a dword on, and starts node 0.
func work(t *testing.T, link bus.Link, from uint32, packets ...interface{ Append([]byte) ([]byte, error) }) {
	t.Helper()
	var b []byte
	for _, p := range packets {
		var err error
		b, err = p.Append(b)
		require.NoError(t, err)
	}
	const dwords = 256
	for i := 0; i < len(b); i += 4 {
		at := (from + uint32(i)/4) % dwords
		require.NoError(t, link.Write(2, 4*uint64(at), b[i:i+4]))
	}
	defer func() { // time passes in accesses
		for range 8 {
			require.NoError(t, link.Read(2, 0, make([]byte, 1024)))
		}
	}()
	for _, w := range [][2]uint32{
		{cpreg.RingSize, 10}, {cpreg.Wptr, from}, {cpreg.Ctl, cpreg.CtlRun}, {cpreg.Wptr, (from + uint32(len(b))/4) % dwords},
	} {
		require.NoError(t, link.Write(0, uint64(cpreg.Base+w[0]), binary.LittleEndian.AppendUint32(nil, w[1])))
	}
}

// A node that waits shows what it has done, and what is next. At the end of the ring the packets go on
// at its beginning.
func TestNodeThatWaits(t *testing.T) {
	for _, selector := range []string{"emu?vram=16KiB", "emu?vram=16KiB&trace=0", "line?vram=16KiB"} {
		for _, from := range []uint32{0, 244} {
			s, link := serve(t, selector)
			if from > 0 {
				var nops []interface{ Append([]byte) ([]byte, error) }
				for range from {
					nops = append(nops, pkt.NOP{})
				}
				work(t, link, 0, nops...)
			}
			work(t, link, from,
				pkt.Fill{Dst: 4096, Bytes: 8, Value: 1}, pkt.WaitFence{Node: 1, Value: 5}, pkt.Copy{Src: 4096, Dst: 8192, Bytes: 16})
			var all Nodes
			get(t, s, "/api/ring", &all)
			require.Len(t, all.Nodes, 2)
			n := all.Nodes[0]
			assert.Equal(t, "VRAM+0x0", n.Base)
			assert.EqualValues(t, 256, n.Dwords)
			assert.EqualValues(t, (from+16)%256, n.Wptr)
			assert.Contains(t, n.Status, "CP0.STATUS=")
			assert.Empty(t, n.Fault)
			assert.Equal(t, strings.Contains(selector, "trace=0"), n.NoTrace)
			assert.Equal(t, n.NoTrace, len(n.Packets) == 0)
			if !n.NoTrace {
				assert.Equal(t, "FILL", n.Packets[0].Name)
			}
			if strings.HasPrefix(selector, "line") {
				assert.Empty(t, n.Next)
				continue
			}
			require.Len(t, n.Next, 2, "%v", n)
			assert.Contains(t, n.Next[0], "WAIT_FENCE")
			assert.Contains(t, n.Next[1], "COPY")
			assert.Empty(t, all.Nodes[1].Next)
		}
	}
}

// A node that stopped shows its fault, and nothing of a ring that may not be its own any more.
func TestNodeWithAFault(t *testing.T) {
	s, link := serve(t, "emu?vram=16KiB")
	work(t, link, 0, pkt.Copy{Src: 4096, Dst: 1 << 40, Bytes: 16})
	var all Nodes
	get(t, s, "/api/ring", &all)
	assert.Equal(t, "CP0.FAULT_INFO=0x5 (CAUSE=ADDRESS) at VRAM+0x0", all.Nodes[0].Fault)
	assert.Empty(t, all.Nodes[0].Next)
}
