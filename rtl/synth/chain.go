package synth

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// chainText is a shift register with in bits that drive a block, and out bits that take its
// outputs while shift is 0. So a block with any number of ports has four pins.
const chainText = `module chain (
	input  wire clk,
	input  wire shift,
	input  wire in,
	output wire out,
	output wire [%[1]d:0] drive,
	input  wire [%[2]d:0] take
);
	reg [%[1]d:0] ins;
	reg [%[2]d:0] outs;
	assign drive = ins;
	assign out = outs[%[2]d];
	always @(posedge clk) begin
		if (shift) ins <= {ins, in};
		outs <= shift ? {outs, ins[%[1]d]} : take;
	end
endmodule
`

// onChain returns a block connected to a chain, as module board, and the chain alone. The
// chain does not change an input while shift is 0, so the paths are those of the block and of
// flip-flops next to it.
func onChain(d *verilog.Design) (board, chain Source) {
	ins, outs := 0, 0
	var ports strings.Builder
	for _, p := range d.Manifest.Ports {
		if p.Go == "" { // clk, rst
			continue
		}
		net, at := "take", &outs
		if p.Input {
			net, at = "drive", &ins
		}
		fmt.Fprintf(&ports, ",\n\t\t.%s(%s[%d:%d])", p.Name, net, *at+p.Width-1, *at)
		*at += p.Width
	}
	text := verilog.File{Name: "chain.v", Text: fmt.Appendf(nil, chainText, ins-1, outs-1)}
	top := fmt.Appendf(nil, `module board (
	input  wire clk,
	input  wire rst,
	input  wire shift,
	input  wire in,
	output wire out
);
	wire [%d:0] drive;
	wire [%d:0] take;
	chain chain (
		.clk(clk),
		.shift(shift),
		.in(in),
		.out(out),
		.drive(drive),
		.take(take)
	);

	%s block (
		.clk(clk),
		.rst(rst)%s
	);
endmodule
`, ins-1, outs-1, d.Manifest.Top, ports.String())
	files := append([]verilog.File{text, {Name: "board.v", Text: top}}, d.Files...)
	return Source{Files: files, Top: "board"}, Source{Files: []verilog.File{text}, Top: "chain"}
}
