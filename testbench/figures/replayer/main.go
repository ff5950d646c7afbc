// Command replayer replays a recording of package figures each time it is asked. It is
// built with tags that package figures compares.
package main

import (
	"fmt"
	"os"

	"github.com/hilgpu/hilgpu/testbench/figures"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: replayer FILE")
		os.Exit(2)
	}
	if err := figures.Serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "replayer:", err)
		os.Exit(1)
	}
}
