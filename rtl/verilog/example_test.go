package verilog_test

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A live GPU gives the hierarchy and the parameters, the source tree the bodies. Each
// block is a module in a file of its own.
func ExampleTranslate() {
	g, err := gpu.New(gpu.Small())
	if err != nil {
		fmt.Println(err)
		return
	}
	design, err := verilog.Translate("../..", g)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("top:", design.Summary().Top)
	fmt.Println("a file for the DMA engine:", slices.ContainsFunc(design.Files, func(f verilog.File) bool { return f.Name == "dma.v" }))
	// Output:
	// top: gpu
	// a file for the DMA engine: true
}
