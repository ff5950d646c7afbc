package boards_test

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// A selector names a board. The link accesses it, and the clock is the board's. A host
// without memory is enough for registers.
func ExampleOpen() {
	link, clock, err := boards.Open("emu?nodes=1&vram=8KiB", regs.NoMemory{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer link.Close()
	id, err := link.ReadConfig(pcicfg.ID)
	fmt.Printf("vendor %#04x, device %#04x, %v\n", id&0xffff, id>>16, err)
	fmt.Println(clock.Hz(), "Hz")

	_, _, err = boards.Open("emu?nodes=3", regs.NoMemory{})
	fmt.Println(errors.Is(err, boards.ErrSelector))
	// Output:
	// vendor 0x1234, device 0x4847, <nil>
	// 100000000 Hz
	// true
}
