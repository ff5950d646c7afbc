package main

import (
	"flag"
	"testing"

	"github.com/hilgpu/hilgpu/testbench/drivertest"
)

// flags are those of the command test: go test . -board SELECTOR -filter NAME …
var flags = drivertest.Flags(flag.CommandLine)

// TestDrivers runs the cases of the suite.
func TestDrivers(t *testing.T) { drivertest.Test(t, drivers(), flags) }

// TestCompose composes a frame and compares every pixel.
func TestCompose(t *testing.T) { drivertest.Run(t, drivers(), "run", "compose", "--check") }
