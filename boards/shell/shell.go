// Package shell has the hand-written Verilog that the shells of several boards need: modules
// with two clocks, which the RTL cannot express.
package shell

import _ "embed" // the Verilog

// AsyncFIFO is a queue between two clocks, module asyncfifo. It needs AsyncFIFOSync.
//
//go:embed asyncfifo.v
var AsyncFIFO []byte

// AsyncFIFOSync is the synchronizer of its pointers, module asyncfifo_sync.
//
//go:embed asyncfifo_sync.v
var AsyncFIFOSync []byte
