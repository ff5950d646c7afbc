package verilog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
)

// A rom is the contents of ROMs. All ROMs with the same contents share it.
type rom struct {
	name  string // of the Verilog module
	sum   string // tells it from other contents and widths
	words []uint64
}

// romOf returns the contents of a live ROM with words of width bits.
func (d *designer) romOf(width int, live reflect.Value) *rom {
	r := &rom{}
	h := sha256.New()
	fmt.Fprintln(h, width)
	for i := range live.Len() {
		r.words = append(r.words, live.Index(i).Uint())
		fmt.Fprintln(h, r.words[i])
	}
	r.sum = hex.EncodeToString(h.Sum(nil))
	if same := d.roms[r.sum]; same != nil {
		return same
	}
	d.roms[r.sum] = r
	return r
}

// nameROMs sets the names of the ROMs. A number distinguishes different contents.
func nameROMs(ms []*module) {
	var all []*rom
	seen := map[*rom]bool{}
	for _, m := range ms {
		for _, p := range m.prims {
			if p.rom != nil && !seen[p.rom] {
				seen[p.rom] = true
				all = append(all, p.rom)
			}
		}
	}
	for i, r := range all {
		r.name = "hdl_rom"
		if len(all) > 1 {
			r.name = fmt.Sprintf("hdl_rom_%d", i)
		}
	}
}

// text returns the Verilog of r, which p is an instance of.
func (r *rom) text(p *primitive) []byte {
	w := &writer{}
	data, addr := dimension(p.width), dimension(p.addrBits())
	size := max(len(data), len(addr))
	w.line("// A memory with one read port that is never written. An FPGA loads its words with the")
	w.line("// bitstream.")
	w.line("module %s (", r.name)
	w.line("  input  wire %*sclk,", size, "")
	w.line("  input  wire %*srst,", size, "")
	w.line("  input  wire %*sread,", size, "")
	w.line("  input  wire %-*saddr,", size, addr)
	w.line("  output reg  %-*sq", size, data)
	w.line(");")
	w.line("  reg %smem [0:%d];", data, p.words-1)
	w.line("")
	w.line("  initial begin")
	for i, v := range r.words {
		w.line("    mem[%d] = %s;", i, literal(p.width, v))
	}
	w.line("  end")
	w.line("")
	w.line("`ifndef SYNTHESIS")
	w.line("  initial q = %s;", literal(p.width, 0))
	w.line("`endif")
	w.line("")
	w.line("  always @(posedge clk) begin")
	w.line("    if (read && !rst) q <= mem[addr];")
	w.line("  end")
	w.line("endmodule")
	return w.Bytes()
}
