package regs_test

import (
	"fmt"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
)

// Registers have names, on any board.
func ExampleOpen() {
	link, _, err := boards.Open("emu", regs.NoMemory{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer link.Close()
	gpu, err := regs.Open(link, regs.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gpu.Close()
	targets, err := gpu.Find("id.scratch0", "cp0.status.idle")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := gpu.Write(targets[0], 0x1234); err != nil {
		fmt.Println(err)
		return
	}
	values, _, err := gpu.ReadAll(targets)
	for _, v := range values {
		fmt.Printf("%s is %#x\n", v.Target.Name(), v.Value)
	}
	fmt.Println(err)
	// Output:
	// id.scratch0 is 0x1234
	// cp0.status.idle is 0x1
	// <nil>
}
