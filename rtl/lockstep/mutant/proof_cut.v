// Cuts state out of a netlist for a proof: each register bit becomes a held cell, each
// unknown bit a free cell, and each memory port a reads or writes cell. The pins of
// these cells become ports.

(* techmap_celltype = "$dff" *)
module cut_dff (CLK, D, Q);
	parameter WIDTH = 1;
	parameter CLK_POLARITY = 1;
	input CLK;
	input [WIDTH-1:0] D;
	output [WIDTH-1:0] Q;
	genvar i;
	generate for (i = 0; i < WIDTH; i = i + 1) begin : bits
		held bit_i (.d(D[i]), .q(Q[i]));
	end endgenerate
endmodule

(* techmap_celltype = "$anyseq" *)
module cut_free (Y);
	parameter WIDTH = 1;
	output [WIDTH-1:0] Y;
	genvar i;
	generate for (i = 0; i < WIDTH; i = i + 1) begin : bits
		free bit_i (.q(Y[i]));
	end endgenerate
endmodule

// The read port is combinational; a register after it holds the word. While a write is
// not enabled, its address and data are 0.
(* techmap_celltype = "$mem_v2" *)
module cut_memory (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
	parameter MEMID = "";
	parameter SIZE = 4;
	parameter OFFSET = 0;
	parameter ABITS = 2;
	parameter WIDTH = 8;
	parameter INIT = 0;
	parameter RD_PORTS = 1;
	parameter RD_CLK_ENABLE = 0;
	parameter RD_CLK_POLARITY = 0;
	parameter RD_TRANSPARENCY_MASK = 0;
	parameter RD_COLLISION_X_MASK = 0;
	parameter RD_WIDE_CONTINUATION = 0;
	parameter RD_CE_OVER_SRST = 0;
	parameter RD_ARST_VALUE = 0;
	parameter RD_SRST_VALUE = 0;
	parameter RD_INIT_VALUE = 0;
	parameter WR_PORTS = 1;
	parameter WR_CLK_ENABLE = 1;
	parameter WR_CLK_POLARITY = 1;
	parameter WR_PRIORITY_MASK = 0;
	parameter WR_WIDE_CONTINUATION = 0;
	input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
	input [RD_PORTS*ABITS-1:0] RD_ADDR;
	output [RD_PORTS*WIDTH-1:0] RD_DATA;
	input [WR_PORTS-1:0] WR_CLK;
	input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA;
	input [WR_PORTS*ABITS-1:0] WR_ADDR;

	wire _TECHMAP_FAIL_ = RD_CLK_ENABLE != 0 || WIDTH > 64 || ABITS > 40;

	genvar i;
	generate
		for (i = 0; i < RD_PORTS; i = i + 1) begin : r
			wire [63:0] word;
			reads port (.addr({{(40-ABITS){1'b0}}, RD_ADDR[i*ABITS +: ABITS]}), .data(word));
			assign RD_DATA[i*WIDTH +: WIDTH] = word[WIDTH-1:0];
		end
		for (i = 0; i < WR_PORTS; i = i + 1) begin : w
			wire [WIDTH-1:0] enable = WR_EN[i*WIDTH +: WIDTH];
			writes port (
				.addr({{(40-ABITS){1'b0}}, WR_ADDR[i*ABITS +: ABITS] & {ABITS{|enable}}}),
				.data({{(64-WIDTH){1'b0}}, WR_DATA[i*WIDTH +: WIDTH] & enable}),
				.enable({{(64-WIDTH){1'b0}}, enable})
			);
		end
	endgenerate
endmodule
