package suite_test

import (
	"fmt"
	"regexp"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// The suite runs on any board, with any drivers. Filter selects cases by name.
func ExampleRun() {
	for _, r := range suite.Run(suite.Options{
		Selector: "emu",
		Drivers:  testbench.HostDrivers(),
		Filter:   regexp.MustCompile("^(staging-maps|order-flush)$"),
	}) {
		fmt.Println(r.Name, r.Outcome)
	}
	// Output:
	// staging-maps passed
	// order-flush passed
}
