// Command frames composes frames on emu without a log, as many as its argument says, and prints the number of heap objects
// that the last one allocated.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

func main() {
	n, err := strconv.Atoi(os.Args[1])
	var objects uint64
	for ; n > 0 && err == nil; n-- {
		objects, err = frame()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "frames:", err)
		os.Exit(1)
	}
	fmt.Println(objects)
}

// frame composes a frame and returns the number of heap objects that it allocated.
func frame() (uint64, error) {
	sources, err := compose.Samples()
	if err != nil {
		return 0, err
	}
	plan, err := compose.NewPlan(compose.Options{Width: 320, Height: 240, Contexts: 2, Seed: 1, Sources: sources})
	if err != nil {
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := testbench.Open("emu", testbench.HostDrivers(), testbench.Options{})
	if err != nil {
		return 0, err
	}
	if _, err = compose.Run(s, plan); err != nil {
		return 0, err
	}
	err = s.Close()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, err
}
