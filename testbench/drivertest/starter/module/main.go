// The program tests the two drivers of this module: see its help, and README.md.
package main

import (
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/drivertest"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/miniport"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/umd"
)

// drivers returns the entry points of the drivers. testbench.HostDrivers has
// complete ones, with which either can be combined if it keeps their private data.
func drivers() testbench.Drivers {
	return testbench.Drivers{UserMode: umd.OpenAdapter, KernelMode: miniport.DriverEntry}
}

func main() { drivertest.Main(drivers()) }
