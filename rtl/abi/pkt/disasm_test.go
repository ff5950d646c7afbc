package pkt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

func TestDisassemble(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    []byte
		want []string
	}{
		{"nothing", nil, nil},
		{"NOP", words(0x01000001, 0xffffffff), []string{"NOP skip=1"}},
		{"INDIRECT", words(0x02000003, 0x1000, 0, 12), []string{"INDIRECT addr=VRAM+0x1000 dwords=12 resume=0"}},
		{"SET_STATE", words(0x03000007, 1, 0x2000, 0x80000000, 256, 2, 0x00020001, 0x00400030),
			[]string{"SET_STATE surface=DEST base=HOST+0x2000 pitch=256 format=FORMAT32 x0=1 y0=2 x1=48 y1=64"}},
		{"COPY", words(0x04000005, 0x1000, 0, 0x2000, 0x80000000, 64), []string{"COPY src=VRAM+0x1000 dst=HOST+0x2000 bytes=64"}},
		{"COPY_2D", words(0x05000003, 0x20001, 0x40003, 0x60005), []string{"COPY_2D srcx=1 srcy=2 dstx=3 dsty=4 w=5 h=6"}},
		{"FILL", words(0x06000005, 0x10, 0, 100, 0xff00ff00, 0xa), []string{"FILL dst=VRAM+0x10 bytes=100 value=0xaff00ff00"}},
		{"FILL_2D", words(0x07000004, 0x20001, 0x40003, 0, 0), []string{"FILL_2D x=1 y=2 w=3 h=4 value=0x0"}},
		{"WRITE_REG", words(0x08000002, 0x20, 0xcafe), []string{"WRITE_REG off=0x20 value=0xcafe"}},
		{"TIMESTAMP", words(0x09000002, 0x18, 0), []string{"TIMESTAMP addr=VRAM+0x18"}},
		{"FENCE", words(0x10000004, 0x40, 0x80000000, 7, 1), []string{"FENCE addr=HOST+0x40 id=7 irq=1"}},
		{"SET_WINDOW", words(0x11000005, 5, 0x1000, 0x80000000, 0x2000, 0), []string{"SET_WINDOW index=1 writable=1 base=HOST+0x1000 size=8192"}},
		{"WAIT_FENCE", words(0x12000003, 1, 7, 1), []string{"WAIT_FENCE node=1 value=4294967303"}},
		{"SAVE_STATE", words(0x13000002, 0x80, 0), []string{"SAVE_STATE addr=VRAM+0x80"}},
		{"RESTORE_STATE", words(0x14000002, 0x80, 0x80000000), []string{"RESTORE_STATE addr=HOST+0x80"}},
		{"illegal fields are shown with the error", words(0x10000004, 0x44, 0, 7, 0),
			[]string{"FENCE addr=VRAM+0x44 id=7 irq=0 ; pkt: misaligned address: FENCE Addr 0x44, want a multiple of 8"}},
		{"a value without a name is a number", words(0x03000007, 0, 0, 0, 0, 7, 0, 0),
			[]string{"SET_STATE surface=SOURCE base=VRAM+0x0 pitch=0 format=7 x0=0 y0=0 x1=0 y1=0 ; pkt: field out of range: SET_STATE Format 7, want at most 4"}},
		{"an unknown word", words(0xdeadbeef), []string{".word 0xdeadbeef ; pkt: unknown opcode: 0xde in header 0xdeadbeef"}},
		{"a header with too long a body", words(0x01000002), []string{".word 0x01000002 ; pkt: bad length: NOP of 12 bytes, but 4 are left"}},
		{"bytes at the end", []byte{0xab, 0x01}, []string{".byte ab 01"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []string
			for _, w := range tt.want {
				want = append(want, "0x8000000000012340 "+w)
			}
			assert.Equal(t, want, pkt.Disassemble(tt.b, 0x8000000000012340))
		})
	}
}

func TestDisassembleGoesOn(t *testing.T) {
	b := words(
		0x04000005, 0x1000, 0, 0x2000, 0x80000000, 64,
		0x00000000,
		0x01000000,
		0x10000004, 1, 2,
	)
	b = append(b, 9)
	assert.Equal(t, []string{
		"0x0000000000000100 COPY src=VRAM+0x1000 dst=HOST+0x2000 bytes=64",
		"0x0000000000000118 .word 0x00000000 ; pkt: unknown opcode: 0x0 in header 0x00000000",
		"0x000000000000011c NOP skip=0",
		"0x0000000000000120 .word 0x10000004 ; pkt: bad length: FENCE of 20 bytes, but 13 are left",
		"0x0000000000000124 .word 0x00000001 ; pkt: unknown opcode: 0x0 in header 0x00000001",
		"0x0000000000000128 .word 0x00000002 ; pkt: unknown opcode: 0x0 in header 0x00000002",
		"0x000000000000012c .byte 09",
	}, pkt.Disassemble(b, 0x100))
}

func TestFormatAddr(t *testing.T) {
	assert.Equal(t, "VRAM+0x0", pkt.FormatAddr(0))
	assert.Equal(t, "VRAM+0x7fffffffffffffff", pkt.FormatAddr(1<<63-1))
	assert.Equal(t, "VRAM+0xffffffffff", pkt.FormatAddr(1<<40-1))
	assert.Equal(t, "APERTURE+0x0", pkt.FormatAddr(gartreg.Start))
	assert.Equal(t, "APERTURE+0xffffffffff", pkt.FormatAddr(1<<41-1))
	assert.Equal(t, "VRAM+0x20000000000", pkt.FormatAddr(1<<41))
	assert.Equal(t, "HOST+0x0", pkt.FormatAddr(1<<63))
	assert.Equal(t, "HOST+0x7fffffffffffffff", pkt.FormatAddr(1<<64-1))
}
