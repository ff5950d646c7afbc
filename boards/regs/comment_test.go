package regs_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/capture"
)

// TestComment uses packets in the format of PCIe 3.0 §2.2, in the order of one
// link.
func TestComment(t *testing.T) {
	c := regs.NewCommenter()
	for _, tt := range []struct {
		dir    capture.Dir
		packet string
		want   string
	}{
		{capture.Down, "00000001 0000020f e0001004", "rd 0xe0001004, 4 bytes"},
		{capture.Down, "44000001 0000010f 01000010 000000e0", "wr config.bar0 = 0xe0000000"},
		{capture.Up, "0a000000 01000004 00000100", "completion of wr config.bar0"},
		{capture.Down, "04000001 0000010f 0100007c", "rd config+0x7c"},
		{capture.Up, "4a000001 01000004 00000100 01000000", "completion of rd config+0x7c = 0x1"},
		{capture.Down, "40000001 0000000f e0001018 40000000", "wr cp0.wptr = 0x40 (64 dwords)"},
		{capture.Down, "00000001 0000020f e0000100", "rd intc.status"},
		{capture.Up, "4a000001 01000004 00000200 01020000", "completion of rd intc.status = 0x201 (done0=1 done1=0 firmware=0 hung=0 fault0=0 fault1=1)"},
		{capture.Down, "00000002 000002ff e0001008", "rd cp0.ring_base_lo, cp0.ring_base_hi"},
		{capture.Up, "4a000001 01000008 00000208 00100000", "completion of rd cp0.ring_base_lo = 0x1000"},
		{capture.Up, "4a000001 01000004 0000020c 00000080", "completion of rd cp0.ring_base_hi = 0x80000000"},
		{capture.Down, "00000001 0000020f e00000fc", "rd bar0+0xfc"},
		{capture.Up, "0a000000 01008004 0000027c", "completion of rd bar0+0xfc: CA"},
		{capture.Down, "00000001 0000020f e0001020", "rd cp0.fault_info"},
		{capture.Up, "4a004001 01000004 00000220 0c000000", "completion of rd cp0.fault_info = 0xc (cause=WRITE_ERROR), poisoned"},
		{capture.Down, "00000001 00000200 e0001020", "flush at cp0.fault_info"},
		{capture.Down, "40000001 00000003 e0000020 05000000", "wr id.scratch0 = 0x5, byte enables 3/0"},
		{capture.Down, "40000003 000000ff e0008010 00f0eefe 00000000 01000000", "wr msix.addr_lo1 = 0xfeeef000, msix.addr_hi1 = 0x0, msix.data1 = 0x1"},
		{capture.Up, "40000001 0100000f feeef000 01000000", "MSI-X vector 1 (fault)"},
		{capture.Up, "40000001 0100000f feeef000 00000000", "DMA wr 0xfeeef000, 4 bytes"},
		{capture.Up, "40000002 0100007e 12345000 0102030405060708", "DMA wr 0x12345001, 6 bytes"},
		{capture.Up, "20000002 010002ff 00000001 00000040", "DMA rd 0x100000040, 8 bytes"},
		{capture.Down, "4a000001 00000008 01000240 01020304", "completion of DMA rd 0x100000040, 4 bytes"},
		{capture.Down, "4a000001 00000004 01000244 05060708", "completion of DMA rd 0x100000044, 4 bytes"},
		{capture.Up, "00000001 0100020f 00001000", "DMA rd 0x1000, 4 bytes"},
		{capture.Down, "0a000000 00002004 01000200", "completion of DMA rd 0x1000, 4 bytes: UR"},
		{capture.Down, "4a000001 00000004 01000200 01020304", "unexpected completion: CplD cpl=00:00.0 SC bc=4 lower=0x00 len=1 req=01:00.0 tag=0x02"},
		{capture.Up, "34000000 01000020 00000000 00000000", "Msg Assert_INTA req=01:00.0 tag=0x00"},
		{capture.Down, "44000001 0000010f 0100001c 01000000", "wr config.bar3 = 0x1"},
		{capture.Down, "44000001 0000010f 01000018 00000000", "wr config.bar2 = 0x0"},
		{capture.Down, "20000020 000002ff 00000001 00000100", "rd bar2+0x100, 128 bytes"},
		{capture.Down, "ff000000 00000000 00000000", "capture: bad packet: tlp: malformed: prefix 0xff"},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(tt.packet, " ", ""))
		require.NoError(t, err)
		assert.Equal(t, tt.want, c.Comment(tt.dir, b), tt.packet)
	}
}
