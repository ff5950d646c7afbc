// Package verilog translates RTL written in the subset of Go that docs/rtl.md
// describes to Verilog-2001.
//
// The construction of a module may use all of Go and has already run: parameters,
// depths and the hierarchy are read from a live object. Only the bodies of Tick,
// Reset and the output methods, and the functions they call, are translated from
// source.
//
// [Translate] returns a [Design]: its files and its [Manifest]. A refused construct is
// an [Error] with position, code and rewrite. Package
// [github.com/hilgpu/hilgpu/rtl/verilog/sim] simulates a design, and
// [github.com/hilgpu/hilgpu/rtl/lockstep] compares it with the Go.
package verilog

// A Design is the Verilog of a module and of everything it contains.
type Design struct {
	Files    []File // primitives first, then the modules, the top last
	Manifest Manifest
}

// A File is one Verilog file; Name has no directory.
type File struct {
	Name string
	Text []byte
}

// A Manifest describes the ports, registers and memories of a Design. With it a
// test bench can drive and compare any design.
//
//	Top        name of the top module
//	MapHash    regmap.Hash of the GPU, 0 for another module
//	Ports      clk and rst, the inputs of Tick in order, then the outputs
//	Registers  of the top and all its instances; a clock with rst set gives each
//	           its value after Reset
//	Memories   the storage of the primitives, which rst keeps
type Manifest struct {
	Top       string
	MapHash   uint32
	Ports     []Port
	Registers []Register
	Memories  []Memory
}

// A Port is a scalar port of the top module.
//
//	Go  path from the parameter of Tick ("req.Kind"), or method, result name or
//	    index, and path ("Target.cpl.Status", "Time"); empty for clk and rst
type Port struct {
	Name  string
	Input bool
	Width int // bits, 1 to 64
	Go    string
}

// A Register is a scalar that the clock changes. Its Go value never exceeds Width
// bits, though its Go type may be wider.
//
//	Instance  hierarchical name of the instance below the top ("cp0"), empty
//	          for the top's own registers
//	Name      of the Verilog register in its module
//	Verilog   hierarchical name below the top ("cp0.decode_state", "dma.queue.count")
//	Go        path of the field from the top's struct ("cp0.decode.state", "intc.masked[1]")
//	Pos       file:line of the field's declaration, relative to the module root
//	Elem      index in its array, or -1
type Register struct {
	Instance string
	Name     string
	Width    int // bits, 1 to 64
	Verilog  string
	Go       string
	Pos      string
	Elem     int
}

// A Memory is the storage of a primitive: in Verilog an array of Words words of
// Width bits, in Go a slice of Words elements. The fields of a struct element are
// packed, the first field in the lowest bits. A word of a RAM or ROM is the low bits of its
// element. A ROM is never written, and has its words from the start.
type Memory struct {
	Instance string
	Verilog  string
	Go       string
	Width    int // bits, may be above 64
	Words    int
	ROM      bool `json:",omitempty"`
}
