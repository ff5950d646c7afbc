package pkt_test

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Packets are encoded one after the other and disassembled again.
func ExampleDisassemble() {
	var b []byte
	for _, p := range []pkt.Packet{
		pkt.Copy{Src: 0x100, Dst: pkt.Host | 0x4000, Bytes: 64},
		pkt.Fence{Addr: pkt.Host | 0x1000, ID: 7, IRQ: true},
	} {
		var err error
		if b, err = p.Append(b); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, line := range pkt.Disassemble(b, 0x2000) {
		fmt.Println(line)
	}
	// Output:
	// 0x0000000000002000 COPY src=VRAM+0x100 dst=HOST+0x4000 bytes=64
	// 0x0000000000002018 FENCE addr=HOST+0x1000 id=7 irq=1
}

// A decoded packet has its Go type. A packet that the table refuses is an error.
func ExampleDecode() {
	p, rest, err := pkt.Decode([]byte{0, 0, 0, 1})
	fmt.Printf("%T %d %v\n", p, len(rest), err)
	_, _, err = pkt.Decode([]byte{0, 0, 0, 0xff})
	fmt.Println(err)
	// Output:
	// pkt.NOP 0 <nil>
	// pkt: unknown opcode: 0xff in header 0xff000000
}
