package pkt_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// words returns the little-endian bytes of dwords.
func words(ds ...uint32) []byte {
	var b []byte
	for _, d := range ds {
		b = binary.LittleEndian.AppendUint32(b, d)
	}
	return b
}

// golden has encodings that were written by hand from the layouts in the doc
// comments.
var golden = []struct {
	name string
	p    pkt.Packet
	b    []byte
}{
	{"NOP", pkt.NOP{}, []byte{0x00, 0x00, 0x00, 0x01}},
	{"NOP with a body", pkt.NOP{Skip: 2}, []byte{0x02, 0x00, 0x00, 0x01, 0, 0, 0, 0, 0, 0, 0, 0}},
	{"INDIRECT", pkt.Indirect{Addr: 0x8000_0001_2345_6788, Dwords: 0xfffff}, []byte{
		0x03, 0x00, 0x00, 0x02,
		0x88, 0x67, 0x45, 0x23, 0x01, 0x00, 0x00, 0x80,
		0xff, 0xff, 0x0f, 0x00,
	}},
	{"SET_STATE", pkt.SetState{Surface: pkt.Dest, Base: 0x0102030405060708, Pitch: 0xabcde, Format: pkt.Format128, X0: 1, Y0: 0x203, X1: 0x4000, Y1: 0x3fff}, []byte{
		0x07, 0x00, 0x00, 0x03,
		0x01, 0x00, 0x00, 0x00,
		0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
		0xde, 0xbc, 0x0a, 0x00,
		0x04, 0x00, 0x00, 0x00,
		0x01, 0x00, 0x03, 0x02,
		0x00, 0x40, 0xff, 0x3f,
	}},
	{"COPY", pkt.Copy{Src: 0x1122334455667788, Dst: 0x99aabbccddeeff00, Bytes: 0xfedcba98}, []byte{
		0x05, 0x00, 0x00, 0x04,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99,
		0x98, 0xba, 0xdc, 0xfe,
	}},
	{"COPY_2D", pkt.Copy2D{SrcX: 0x0102, SrcY: 0x0304, DstX: 0x0506, DstY: 0x0708, W: 0x090a, H: 0x0b0c}, []byte{
		0x03, 0x00, 0x00, 0x05,
		0x02, 0x01, 0x04, 0x03,
		0x06, 0x05, 0x08, 0x07,
		0x0a, 0x09, 0x0c, 0x0b,
	}},
	{"FILL", pkt.Fill{Dst: 0x1001, Bytes: 7, Value: 0x0807060504030201}, []byte{
		0x05, 0x00, 0x00, 0x06,
		0x01, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x07, 0x00, 0x00, 0x00,
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
	}},
	{"FILL_2D", pkt.Fill2D{X: 0x0102, Y: 0x0304, W: 0x0506, H: 0x4000, Value: 0x0807060504030201}, []byte{
		0x04, 0x00, 0x00, 0x07,
		0x02, 0x01, 0x04, 0x03,
		0x06, 0x05, 0x00, 0x40,
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
	}},
	{"WRITE_REG", pkt.WriteReg{Off: 0xfffc, Value: 0xcafef00d}, []byte{
		0x02, 0x00, 0x00, 0x08,
		0xfc, 0xff, 0x00, 0x00,
		0x0d, 0xf0, 0xfe, 0xca,
	}},
	{"TIMESTAMP", pkt.Timestamp{Addr: 0x8000000000000ff8}, []byte{
		0x02, 0x00, 0x00, 0x09,
		0xf8, 0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
	}},
	{"PREDICATE", pkt.Predicate{Addr: 0x8000000000001008, Dwords: 0x1234, NonZero: true}, []byte{
		0x03, 0x00, 0x00, 0x0a,
		0x08, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
		0x34, 0x12, 0x01, 0x00,
	}},
	{"SIGNAL", pkt.Signal{Addr: 0x8000000000001008, Value: 0x0123456789abcdef, IRQ: true}, []byte{
		0x05, 0x00, 0x00, 0x0b,
		0x08, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
		0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
		0x01, 0x00, 0x00, 0x00,
	}},
	{"SIGNAL without interrupt", pkt.Signal{Value: 1}, words(0x0b000005, 0, 0, 1, 0, 0)},
	{"PREDICATE on zero", pkt.Predicate{Addr: 8, Dwords: 0xffff}, words(0x0a000003, 8, 0, 0xffff)},
	{"FENCE", pkt.Fence{Addr: 0x8000000000001008, ID: 0x12345678, IRQ: true}, []byte{
		0x04, 0x00, 0x00, 0x10,
		0x08, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
		0x78, 0x56, 0x34, 0x12,
		0x01, 0x00, 0x00, 0x00,
	}},
	{"FENCE without interrupt", pkt.Fence{ID: 1}, words(0x10000004, 0, 0, 1, 0)},
	{"SET_WINDOW", pkt.SetWindow{Index: 2, Writable: true, Base: 0x8000000000001001, Size: 0x0123456789abcdef}, []byte{
		0x05, 0x00, 0x00, 0x11,
		0x06, 0x00, 0x00, 0x00,
		0x01, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
		0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
	}},
	{"INDIRECT that resumes", pkt.Indirect{Addr: 4, Dwords: 5, Resume: true}, words(0x02000003, 4, 0, 0x100005)},
	{"SAVE_STATE", pkt.SaveState{Addr: 0x8000000000001080}, words(0x13000002, 0x1080, 0x80000000)},
	{"RESTORE_STATE", pkt.RestoreState{Addr: 0x8000000000001080}, words(0x14000002, 0x1080, 0x80000000)},
	{"WAIT_FENCE", pkt.WaitFence{Node: 1, Value: 0x0123456789abcdef}, []byte{
		0x03, 0x00, 0x00, 0x12,
		0x01, 0x00, 0x00, 0x00,
		0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
	}},
	{"SET_WINDOW to read", pkt.SetWindow{Index: 3, Base: 8}, words(0x11000005, 3, 8, 0, 0, 0)},
}

func TestGolden(t *testing.T) {
	for _, tt := range golden {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.b[3], tt.p.Op())
			got, err := tt.p.Append([]byte{0xee})
			require.NoError(t, err)
			assert.Equal(t, append([]byte{0xee}, tt.b...), got)

			tail := []byte{1, 2, 3}
			p, rest, err := pkt.Decode(append(bytes.Clone(tt.b), tail...))
			require.NoError(t, err)
			assert.Equal(t, tt.p, p)
			assert.Equal(t, tail, rest)

			p, rest, err = decodeTyped(tt.p, append(bytes.Clone(tt.b), tail...))
			require.NoError(t, err)
			assert.Equal(t, tt.p, p)
			assert.Equal(t, tail, rest)
		})
	}
}

// decodeTyped decodes b with the decode function for the type of like.
func decodeTyped(like pkt.Packet, b []byte) (p pkt.Packet, rest []byte, err error) {
	switch like.(type) {
	case pkt.NOP:
		p, rest, err = pkt.DecodeNOP(b)
	case pkt.Indirect:
		p, rest, err = pkt.DecodeIndirect(b)
	case pkt.SetState:
		p, rest, err = pkt.DecodeSetState(b)
	case pkt.Copy:
		p, rest, err = pkt.DecodeCopy(b)
	case pkt.Copy2D:
		p, rest, err = pkt.DecodeCopy2D(b)
	case pkt.Fill:
		p, rest, err = pkt.DecodeFill(b)
	case pkt.Fill2D:
		p, rest, err = pkt.DecodeFill2D(b)
	case pkt.WriteReg:
		p, rest, err = pkt.DecodeWriteReg(b)
	case pkt.Timestamp:
		p, rest, err = pkt.DecodeTimestamp(b)
	case pkt.Predicate:
		p, rest, err = pkt.DecodePredicate(b)
	case pkt.Signal:
		p, rest, err = pkt.DecodeSignal(b)
	case pkt.Fence:
		p, rest, err = pkt.DecodeFence(b)
	case pkt.SetWindow:
		p, rest, err = pkt.DecodeSetWindow(b)
	case pkt.WaitFence:
		p, rest, err = pkt.DecodeWaitFence(b)
	case pkt.SaveState:
		p, rest, err = pkt.DecodeSaveState(b)
	case pkt.RestoreState:
		p, rest, err = pkt.DecodeRestoreState(b)
	}
	return p, rest, err
}

func TestTypedDecodeRefusesOtherPackets(t *testing.T) {
	for _, want := range golden {
		for _, other := range golden {
			if want.p.Op() == other.p.Op() {
				continue
			}
			_, rest, err := decodeTyped(want.p, other.b)
			assert.ErrorIs(t, err, pkt.ErrOpcode, "%s as %s", other.name, want.name)
			assert.Equal(t, other.b, rest)
		}
	}
	_, _, err := pkt.DecodeFence(golden[0].b)
	assert.EqualError(t, err, "pkt: unknown opcode: NOP, want opcode 0x10")
}

func TestShortBuffers(t *testing.T) {
	for _, tt := range golden {
		for n := range len(tt.b) {
			p, rest, err := pkt.Decode(tt.b[:n])
			assert.ErrorIs(t, err, pkt.ErrLength, "%s of %d bytes", tt.name, n)
			assert.Nil(t, p)
			assert.Equal(t, tt.b[:n], rest)
		}
	}
}

func TestOtherBodies(t *testing.T) {
	for _, tt := range golden {
		if tt.p.Op() == pkt.OpNOP {
			continue
		}
		h := binary.LittleEndian.Uint32(tt.b)
		for _, body := range []uint32{0, h&0xffff - 1, h&0xffff + 1, 0xffff} {
			b := append(words(h&^0xffff|body), make([]byte, 4*0xffff)...)
			_, _, err := pkt.Decode(b)
			assert.ErrorIs(t, err, pkt.ErrLength, "%s with a body of %d", tt.name, body)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    []byte
		is   error
		text string
	}{
		{"nothing", nil, pkt.ErrLength, "pkt: bad length: 0 bytes left, want a header of 4"},
		{"half a header", []byte{0, 0, 0}, pkt.ErrLength, "pkt: bad length: 3 bytes left, want a header of 4"},
		{"opcode 0", words(0), pkt.ErrOpcode, "pkt: unknown opcode: 0x0 in header 0x00000000"},
		{"opcode above SIGNAL", words(0x0c000000), pkt.ErrOpcode, "pkt: unknown opcode: 0xc in header 0x0c000000"},
		{"opcode above RESTORE_STATE, before reserved bits", words(0x15ff0000), pkt.ErrOpcode, "pkt: unknown opcode: 0x15 in header 0x15ff0000"},
		{"lowest reserved bit of the header", words(0x01010000), pkt.ErrReserved, "pkt: reserved bit set: NOP header 0x01010000, want 23..16 zero"},
		{"highest reserved bit, before the length", words(0x02800001, 0), pkt.ErrReserved, "pkt: reserved bit set: INDIRECT header 0x02800001, want 23..16 zero"},
		{"body too short", words(0x10000003, 0, 0, 0), pkt.ErrLength, "pkt: bad length: FENCE with a body of 3 dwords, want 4"},
		{"buffer ends inside", words(0x10000004, 0, 0, 0), pkt.ErrLength, "pkt: bad length: FENCE of 20 bytes, but 16 are left"},
		{"NOP longer than the buffer", words(0x01000002, 0), pkt.ErrLength, "pkt: bad length: NOP of 12 bytes, but 8 are left"},
		{"INDIRECT bit 21", words(0x02000003, 0, 0, 1<<21), pkt.ErrReserved, "pkt: reserved bit set: INDIRECT dword 3 has 0x200000, want these bits zero"},
		{"INDIRECT at 2", words(0x02000003, 2, 0, 1), pkt.ErrAlign, "pkt: misaligned address: INDIRECT Addr 0x2, want a multiple of 4"},
		{"reserved before alignment", words(0x02000003, 2, 0, 1<<31), pkt.ErrReserved, "pkt: reserved bit set: INDIRECT dword 3 has 0x80000000, want these bits zero"},
		{"SET_STATE surface 2", words(0x03000007, 2, 0, 0, 0, 0, 0, 0), pkt.ErrReserved, "pkt: reserved bit set: SET_STATE dword 1 has 0x2, want these bits zero"},
		{"SET_STATE pitch 2^20", words(0x03000007, 0, 0, 0, 1<<20, 0, 0, 0), pkt.ErrReserved, "pkt: reserved bit set: SET_STATE dword 4 has 0x100000, want these bits zero"},
		{"SET_STATE format 5", words(0x03000007, 0, 0, 0, 0, 5, 0, 0), pkt.ErrRange, "pkt: field out of range: SET_STATE Format 5, want at most 4"},
		{"SET_STATE format 8", words(0x03000007, 0, 0, 0, 0, 8, 0, 0), pkt.ErrReserved, "pkt: reserved bit set: SET_STATE dword 5 has 0x8, want these bits zero"},
		{"SET_STATE X0", words(0x03000007, 0, 0, 0, 0, 0, 0x4001, 0), pkt.ErrRange, "pkt: field out of range: SET_STATE X0 16385, want at most 16384"},
		{"SET_STATE Y1", words(0x03000007, 0, 0, 0, 0, 0, 0, 0x40010000), pkt.ErrRange, "pkt: field out of range: SET_STATE Y1 16385, want at most 16384"},
		{"COPY_2D SrcY", words(0x05000003, 0x40014000, 0x40004000, 0x40004000), pkt.ErrRange, "pkt: field out of range: COPY_2D SrcY 16385, want at most 16384"},
		{"COPY_2D W", words(0x05000003, 0, 0, 0xffff), pkt.ErrRange, "pkt: field out of range: COPY_2D W 65535, want at most 16384"},
		{"FILL_2D H", words(0x07000004, 0, 0x40010000, 0, 0), pkt.ErrRange, "pkt: field out of range: FILL_2D H 16385, want at most 16384"},
		{"WRITE_REG above BAR0", words(0x08000002, 0x10020, 0), pkt.ErrReserved, "pkt: reserved bit set: WRITE_REG dword 1 has 0x10000, want these bits zero"},
		{"WRITE_REG at 0x22", words(0x08000002, 0x22, 0), pkt.ErrAlign, "pkt: misaligned address: WRITE_REG Off 0x22, want a multiple of 4"},
		{"TIMESTAMP at 4", words(0x09000002, 4, 0), pkt.ErrAlign, "pkt: misaligned address: TIMESTAMP Addr 0x4, want a multiple of 8"},
		{"FENCE at 4", words(0x10000004, 4, 0x80000000, 0, 0), pkt.ErrAlign, "pkt: misaligned address: FENCE Addr 0x8000000000000004, want a multiple of 8"},
		{"FENCE with IRQ 2", words(0x10000004, 0, 0, 0, 2), pkt.ErrReserved, "pkt: reserved bit set: FENCE dword 4 has 0x2, want these bits zero"},
		{"SAVE_STATE at 64", words(0x13000002, 64, 0), pkt.ErrAlign, "pkt: misaligned address: SAVE_STATE Addr 0x40, want a multiple of 128"},
		{"RESTORE_STATE at 8", words(0x14000002, 8, 0), pkt.ErrAlign, "pkt: misaligned address: RESTORE_STATE Addr 0x8, want a multiple of 128"},
		{"WAIT_FENCE node 2", words(0x12000003, 2, 0, 0), pkt.ErrReserved, "pkt: reserved bit set: WAIT_FENCE dword 1 has 0x2, want these bits zero"},
		{"SET_WINDOW bit 3", words(0x11000005, 8, 0, 0, 0, 0), pkt.ErrReserved, "pkt: reserved bit set: SET_WINDOW dword 1 has 0x8, want these bits zero"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, rest, err := pkt.Decode(tt.b)
			assert.ErrorIs(t, err, tt.is)
			assert.EqualError(t, err, tt.text)
			assert.Nil(t, p)
			assert.Equal(t, tt.b, rest)
		})
	}
}

func TestDecodeAcceptsTheLimits(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    []byte
		want pkt.Packet
	}{
		{"a NOP's body is not checked", words(0x01000001, 0xffffffff), pkt.NOP{Skip: 1}},
		{"INDIRECT of nothing at the last dword", words(0x02000003, 0xfffffffc, 0xffffffff, 0), pkt.Indirect{Addr: 0xfffffffffffffffc}},
		{"clip at MaxCoord", words(0x03000007, 0, 0, 0, 0, 4, 0x40004000, 0x40004000), pkt.SetState{Format: pkt.Format128, X0: 0x4000, Y0: 0x4000, X1: 0x4000, Y1: 0x4000}},
		{"rectangle at MaxCoord", words(0x05000003, 0x40004000, 0x40004000, 0x40004000), pkt.Copy2D{SrcX: 0x4000, SrcY: 0x4000, DstX: 0x4000, DstY: 0x4000, W: 0x4000, H: 0x4000}},
		{"last register", words(0x08000002, 0xfffc, 1), pkt.WriteReg{Off: 0xfffc, Value: 1}},
		{"TIMESTAMP at 8", words(0x09000002, 8, 0), pkt.Timestamp{Addr: 8}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, rest, err := pkt.Decode(tt.b)
			require.NoError(t, err)
			assert.Equal(t, tt.want, p)
			assert.Empty(t, rest)
		})
	}
}

// TestAppendErrors trips each check of the encoders and its boundary.
func TestAppendErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    pkt.Packet
		is   error
	}{
		{"INDIRECT at 4", pkt.Indirect{Addr: 4, Dwords: pkt.MaxIndirect}, nil},
		{"INDIRECT at 2", pkt.Indirect{Addr: 2}, pkt.ErrAlign},
		{"INDIRECT of 2^20", pkt.Indirect{Dwords: 1 << 20}, pkt.ErrRange},
		{"SET_STATE surface", pkt.SetState{Surface: 2}, pkt.ErrRange},
		{"SET_STATE pitch", pkt.SetState{Pitch: 1 << 20}, pkt.ErrRange},
		{"SET_STATE format", pkt.SetState{Format: 5}, pkt.ErrRange},
		{"SET_STATE X0", pkt.SetState{X0: 0x4001}, pkt.ErrRange},
		{"SET_STATE Y0", pkt.SetState{Y0: 0x4001}, pkt.ErrRange},
		{"SET_STATE X1", pkt.SetState{X1: 0x4001}, pkt.ErrRange},
		{"SET_STATE Y1", pkt.SetState{Y1: 0x4001}, pkt.ErrRange},
		{"COPY_2D SrcX", pkt.Copy2D{SrcX: 0x4001}, pkt.ErrRange},
		{"COPY_2D SrcY", pkt.Copy2D{SrcY: 0x4001}, pkt.ErrRange},
		{"COPY_2D DstX", pkt.Copy2D{DstX: 0x4001}, pkt.ErrRange},
		{"COPY_2D DstY", pkt.Copy2D{DstY: 0x4001}, pkt.ErrRange},
		{"COPY_2D W", pkt.Copy2D{W: 0x4001}, pkt.ErrRange},
		{"COPY_2D H", pkt.Copy2D{H: 0x4001}, pkt.ErrRange},
		{"FILL_2D X", pkt.Fill2D{X: 0x4001}, pkt.ErrRange},
		{"FILL_2D Y", pkt.Fill2D{Y: 0x4001}, pkt.ErrRange},
		{"FILL_2D W", pkt.Fill2D{W: 0x4001}, pkt.ErrRange},
		{"FILL_2D H", pkt.Fill2D{H: 0x4001}, pkt.ErrRange},
		{"WRITE_REG last", pkt.WriteReg{Off: 0xfffc}, nil},
		{"WRITE_REG above", pkt.WriteReg{Off: 0x10000}, pkt.ErrRange},
		{"WRITE_REG between", pkt.WriteReg{Off: 0x22}, pkt.ErrAlign},
		{"TIMESTAMP at 4", pkt.Timestamp{Addr: 4}, pkt.ErrAlign},
		{"PREDICATE at 4", pkt.Predicate{Addr: 4}, pkt.ErrAlign},
		{"SIGNAL at 4", pkt.Signal{Addr: 4}, pkt.ErrAlign},
		{"FENCE at 4", pkt.Fence{Addr: 4}, pkt.ErrAlign},
		{"SAVE_STATE at 64", pkt.SaveState{Addr: 64}, pkt.ErrAlign},
		{"RESTORE_STATE at 64", pkt.RestoreState{Addr: 64}, pkt.ErrAlign},
		{"WAIT_FENCE node 1", pkt.WaitFence{Node: 1}, nil},
		{"WAIT_FENCE node 2", pkt.WaitFence{Node: 2}, pkt.ErrRange},
		{"SET_WINDOW 3", pkt.SetWindow{Index: 3}, nil},
		{"SET_WINDOW 4", pkt.SetWindow{Index: 4}, pkt.ErrRange},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := tt.p.Append([]byte{7})
			assert.ErrorIs(t, err, tt.is)
			if tt.is != nil {
				assert.Equal(t, []byte{7}, b)
			}
		})
	}
}
