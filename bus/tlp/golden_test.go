package tlp

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// golden is written by hand from the header diagrams in PCIe 3.0: figure 2-5
// and §2.2.1 for the first dword, §2.2.4.1 for addresses, §2.2.5 for byte
// enables, §2.2.7 for memory and configuration requests, §2.2.8 for messages,
// §2.2.9 for completions. A group of hexadecimal digits is a dword.
var golden = []struct {
	name string
	hex  string
	text string
	p    Packet
}{
	{
		// Fmt 000 Type 00000, Length 1; requester 0, tag 5, last 0 first f.
		"read of one dword", "00000001 0000050f fe001010",
		"MRd32 addr=0xfe001010 len=1 be=f/0 req=00:00.0 tag=0x05",
		Packet{Kind: MRd32, Len: 1, Tag: 5, First: 15, Addr: 0xfe001010},
	},
	{
		// No byte enabled: a flush (§2.2.5).
		"read of zero length", "00000001 0100ff00 00001000",
		"MRd32 addr=0x1000 len=1 be=0/0 req=01:00.0 tag=0xff",
		Packet{Kind: MRd32, Len: 1, Requester: 0x100, Tag: 255, Addr: 0x1000},
	},
	{
		// Fmt 001: four dwords; Length 0 means 1024. Attr 01 is no snoop, TC 3.
		"read of 4 KiB above 4 GiB", "20301000 010820ff 00000001 40000000",
		"MRd64 addr=0x140000000 len=1024 be=f/f req=01:01.0 tag=0x20 tc=3 NS",
		Packet{Kind: MRd64, Len: 1024, TC: 3, Attr: NoSnoop, Requester: 0x108, Tag: 0x20, First: 15, Last: 15, Addr: 0x1_4000_0000},
	},
	{
		// Fmt 010: with data. Bytes 1 to 6 of two dwords: first 1110, last 0111.
		"write of six bytes", "40000002 0000007e 80000004 00112233 44556677",
		"MWr32 addr=0x80000004 len=2 be=e/7 req=00:00.0 tag=0x00",
		Packet{Kind: MWr32, Len: 2, First: 0xe, Last: 7, Addr: 0x80000004, Data: unhex("0011223344556677")},
	},
	{
		// EP is bit 6 of byte 2.
		"poisoned write", "60004001 0100000f 00000012 34567890 deadbeef",
		"MWr64 addr=0x1234567890 len=1 be=f/0 req=01:00.0 tag=0x00 POISONED",
		Packet{Kind: MWr64, Len: 1, EP: true, Requester: 0x100, First: 15, Addr: 0x1234567890, Data: unhex("deadbeef")},
	},
	{
		// TD is bit 7 of byte 2; a dword of digest follows the data.
		"write with a digest", "40008001 0000000f 00001000 01020304 cafef00d",
		"MWr32 addr=0x1000 len=1 be=f/0 req=00:00.0 tag=0x00 digest=0xcafef00d",
		Packet{Kind: MWr32, Len: 1, TD: true, First: 15, Addr: 0x1000, Data: unhex("01020304"), Digest: 0xcafef00d},
	},
	{
		// Type 00100; bus 1, device 0, function 0, register 0x10.
		"configuration read", "04000001 0000070f 01000010",
		"CfgRd0 fn=01:00.0 reg=0x10 len=1 be=f/0 req=00:00.0 tag=0x07",
		Packet{Kind: CfgRd0, Len: 1, Tag: 7, First: 15, Completer: 0x100, Addr: 0x10},
	},
	{
		// Extended register number 4, register number 1: offset 0x404.
		"configuration write of two bytes", "44000001 00000803 02130404 06040000",
		"CfgWr0 fn=02:02.3 reg=0x404 len=1 be=3/0 req=00:00.0 tag=0x08",
		Packet{Kind: CfgWr0, Len: 1, Tag: 8, First: 3, Completer: 0x213, Addr: 0x404, Data: unhex("06040000")},
	},
	{
		// Type 01010. Completer 1:0.0, status 000, byte count 4; lower address 0x10.
		"completion with data", "4a000001 01000004 00000510 78563412",
		"CplD cpl=01:00.0 SC bc=4 lower=0x10 len=1 req=00:00.0 tag=0x05",
		Packet{Kind: CplD, Len: 1, Completer: 0x100, ByteCount: 4, Tag: 5, Lower: 0x10, Data: unhex("78563412")},
	},
	{
		// Byte count 0 means 4096.
		"first completion of 4 KiB", "4a000002 00000000 01002000 0102030405060708",
		"CplD cpl=00:00.0 SC bc=4096 lower=0x00 len=2 req=01:00.0 tag=0x20",
		Packet{Kind: CplD, Len: 2, ByteCount: 4096, Requester: 0x100, Tag: 0x20, Data: unhex("0102030405060708")},
	},
	{
		// Status 001 in bits 15..13 of the second dword's low half.
		"unsupported request", "0a000000 01002004 00000500",
		"Cpl cpl=01:00.0 UR bc=4 lower=0x00 req=00:00.0 tag=0x05",
		Packet{Kind: Cpl, Completer: 0x100, Status: UR, ByteCount: 4, Tag: 5},
	},
	{
		"configuration request retry", "0a000000 01004004 00000500",
		"Cpl cpl=01:00.0 CRS bc=4 lower=0x00 req=00:00.0 tag=0x05",
		Packet{Kind: Cpl, Completer: 0x100, Status: CRS, ByteCount: 4, Tag: 5},
	},
	{
		// BCM is bit 12. TC 1, Attr2 in byte 1, Attr 10 in byte 2.
		"completer abort with attributes", "0a142000 01009080 0000057c",
		"Cpl cpl=01:00.0 CA bc=128 lower=0x7c req=00:00.0 tag=0x05 tc=1 RO IDO BCM",
		Packet{Kind: Cpl, TC: 1, Attr: RelaxedOrdering | IDOrdering, Completer: 0x100, Status: CA, BCM: true, ByteCount: 128, Tag: 5, Lower: 0x7c},
	},
	{
		// Type 10100: local. Code 0x21; bytes 8 to 15 reserved.
		"Assert_INTB", "34000000 01000021 00000000 00000000",
		"Msg Assert_INTB req=01:00.0 tag=0x00",
		Packet{Kind: Msg, Requester: 0x100, Code: AssertINTA + 1, Route: Local},
	},
	{
		"Deassert_INTA", "34000000 01000024 00000000 00000000",
		"Msg Deassert_INTA req=01:00.0 tag=0x00",
		Packet{Kind: Msg, Requester: 0x100, Code: DeassertINTA, Route: Local},
	},
	{
		// Type 10010: routed by the ID in bytes 8 and 9; vendor 0x1234.
		"vendor-defined message", "72000001 0100007f 02001234 00000042 11223344",
		"MsgD code=0x7f route=2 len=1 req=01:00.0 tag=0x00",
		Packet{Kind: MsgD, Len: 1, Requester: 0x100, Code: Vendor1, Route: ByID, Vendor: 0x0200_1234_0000_0042, Data: unhex("11223344")},
	},
	{
		// 10-bit tags (PCIe 4.0 §2.2.6.2): T9 is bit 7, T8 bit 3 of byte 1.
		"ten bits of tag", "00880001 0000010f 00001000",
		"MRd32 addr=0x1000 len=1 be=f/0 req=00:00.0 tag=0x301",
		Packet{Kind: MRd32, Len: 1, Tag: 0x301, First: 15, Addr: 0x1000},
	},
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func TestGolden(t *testing.T) {
	for _, tt := range golden {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(tt.hex)
			got, err := tt.p.Append([]byte{0xaa})
			require.NoError(t, err)
			assert.Equal(t, want, got[1:])
			assert.Equal(t, len(want), tt.p.Size())
			var p Packet
			require.NoError(t, p.Decode(want))
			assert.Equal(t, tt.p, p)
			assert.Equal(t, tt.text, p.String())
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		hex  string
		want error
	}{
		{"nothing", "", ErrMalformed},
		{"half a header", "00000001 0000050f", ErrMalformed},
		{"three dwords of four", "20000001 0000050f 00000001", ErrMalformed},
		{"a byte too many", "00000001 0000050f fe001010 00", ErrMalformed},
		{"data missing", "40000002 000000ff 00001000 00112233", ErrMalformed},
		{"data too long", "40000001 0000000f 00001000 00112233 44556677", ErrMalformed},
		{"digest missing", "40008001 0000000f 00001000 01020304", ErrMalformed},
		{"local prefix", "80000001 0000000f 00001000", ErrMalformed},
		{"end-to-end prefix", "90000001 0000000f 00001000", ErrMalformed},
		{"reserved type", "1f000001 0000000f 00001000", ErrMalformed},
		{"configuration request with a long header", "24000001 0000000f 00000000 00000000", ErrMalformed},
		{"reserved bit of byte 1", "00020001 0000000f 00001000", ErrMalformed},
		{"reserved bits of the address", "00000001 0000000f 00001002", ErrMalformed},
		{"reserved bit of the lower address", "0a000000 01000004 00000580", ErrMalformed},
		{"reserved length of a completion", "0a000001 01000004 00000500", ErrMalformed},
		{"poisoned without data", "00004001 0000000f 00001000", ErrMalformed},
		{"long address below 4 GiB", "20000001 0000000f 00000000 00001000", ErrMalformed},
		{"crosses 4 KiB", "00000002 000000ff 00000ffc", ErrMalformed},
		{"no first enables", "00000002 000000f0 00001000", ErrMalformed},
		{"no last enables", "00000002 0000000f 00001000", ErrMalformed},
		{"last enables of one dword", "00000001 0000001f 00001000", ErrMalformed},
		{"gap in two dwords across a quadword", "00000002 000000f5 00001004", ErrMalformed},
		{"gap at the end of three dwords", "00000003 0000005f 00001000", ErrMalformed},
		{"enables away from the second dword", "00000003 000000f7 00001000", ErrMalformed},
		{"enables away from the dword before the last", "00000003 000000ef 00001000", ErrMalformed},
		{"configuration of two dwords", "04000002 000000ff 01000010", ErrMalformed},
		{"configuration with a class", "04100001 0000000f 01000010", ErrMalformed},
		{"configuration with an attribute", "04001001 0000000f 01000010", ErrMalformed},
		{"configuration with address type", "04000401 0000000f 01000010", ErrMalformed},
		{"reserved bits above the register", "04000001 0000000f 01001010", ErrMalformed},
		{"data with a status", "4a000001 01002004 00000500 00000000", ErrMalformed},
		{"more data than the byte count", "4a000002 01000004 00000500 0000000000000000", ErrMalformed},
		{"INTx with data", "74000001 01000020 00000000 00000000 00000000", ErrMalformed},
		{"INTx to the root", "30000000 01000020 00000000 00000000", ErrMalformed},
		{"INTx with a class", "34100000 01000020 00000000 00000000", ErrMalformed},
		{"vendor message gathered", "35000000 0100007e 00000000 00000000", ErrMalformed},
		{"I/O read of two dwords", "02000002 000000ff 00001000", ErrMalformed},

		{"I/O read", "02000001 0000050f 00001000", ErrUnsupported},
		{"I/O write", "42000001 0000050f 00001000 00000000", ErrUnsupported},
		{"locked read", "01000001 0000050f 00001000", ErrUnsupported},
		{"locked read, long", "21000001 0000050f 00000001 00001000", ErrUnsupported},
		{"configuration type 1", "05000001 0000050f 02000010", ErrUnsupported},
		{"configuration write type 1", "45000001 0000050f 02000010 00000000", ErrUnsupported},
		{"fetch and add", "4c000001 0000050f 00001000 00000001", ErrUnsupported},
		{"compare and swap", "4e000002 0000050f 00001000 0000000100000002", ErrUnsupported},
		{"locked completion", "0b000000 01000004 00000500", ErrUnsupported},
		{"processing hint", "00010001 0000050f 00001000", ErrUnsupported},
		{"translation request", "00000401 0000050f 00001000", ErrUnsupported},
		{"ERR_COR", "30000000 01000030 00000000 00000000", ErrUnsupported},
		{"undefined message", "34000000 010000ff 00000000 00000000", ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Packet
			err := p.Decode(unhex(tt.hex))
			require.ErrorIs(t, err, tt.want)
		})
	}
}

// A refused request still yields the fields for its completion.
func TestDecodeUnsupportedHeader(t *testing.T) {
	for _, s := range []string{"02000001 0108050f 00001000", "00010001 0108050f 00001000"} {
		var p Packet
		require.ErrorIs(t, p.Decode(unhex(s)), ErrUnsupported)
		assert.Equal(t, NonPosted, p.Kind.Class())
		r := p.Reply(0x200, UR)
		got, err := r.Append(nil)
		require.NoError(t, err)
		assert.Equal(t, unhex("0a000000 02002004 01080500"), got)
	}
}

func TestBoundariesAccepted(t *testing.T) {
	for name, s := range map[string]string{
		"up to 4 KiB":                         "00000002 000000ff 00000ff8",
		"gaps in one dword":                   "00000001 00000005 00001004",
		"gaps in one quadword":                "00000002 000000a5 00001008",
		"two dwords across a quadword":        "00000002 00000018 00001004",
		"many dwords, one byte at either end": "00000003 00000018 00001004",
		"last below 4 GiB":                    "00000001 0000000f fffffffc",
		"last of configuration space":         "04000001 0000000f 01000ffc",
		"reserved status":                     "0a000000 0100e004 00000500",
	} {
		var p Packet
		assert.NoError(t, p.Decode(unhex(s)), name)
	}
}

// TestEnables checks the rule of enables for every pair against a reference
// model: the enabled bytes have no gap.
func TestEnables(t *testing.T) {
	for _, length := range []int{1, 2, 3, 8} {
		for _, addr := range []uint64{0x1000, 0x1004} {
			for be := 0; be < 256; be++ {
				p := Packet{Kind: MRd32, Len: length, Addr: addr, First: uint8(be & 15), Last: uint8(be >> 4)}
				on := make([]bool, 4*length)
				for i := range on {
					on[i] = i >= 4 && i < len(on)-4 || i < 4 && be>>i&1 != 0
					if length > 1 && i >= len(on)-4 {
						on[i] = be>>(4+i-(len(on)-4))&1 != 0
					}
				}
				edges := 0
				for i := range on {
					if on[i] && (i == 0 || !on[i-1]) {
						edges++
					}
				}
				want := edges == 1 || length == 2 && addr%8 == 0
				if length == 1 {
					want = p.Last == 0
				} else {
					want = want && p.First != 0 && p.Last != 0
				}
				assert.Equal(t, want, p.Check() == nil, "%v", &p)
			}
		}
	}
}
