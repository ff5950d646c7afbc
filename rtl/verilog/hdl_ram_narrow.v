// A memory of words of 8, 16 or 32 bits with one read and one write port. Bit i of
// enable writes byte i. A read of the word that is being written has no defined value.
module hdl_ram_narrow #(
  parameter WIDTH = 8,
  parameter WORDS = 2,
  parameter ADDR  = 1
) (
  input  wire               clk,
  input  wire               rst,
  input  wire               read,
  input  wire [ADDR-1:0]    raddr,
  input  wire [WIDTH/8-1:0] enable,
  input  wire [ADDR-1:0]    waddr,
  input  wire [WIDTH-1:0]   data,
  output reg  [WIDTH-1:0]   q
);
  (* no_rw_check *) reg [WIDTH-1:0] mem [0:WORDS-1];

  integer lane;

`ifdef LOCKSTEP
  // The last write, for comparison.
  reg [31:0] last_writes;
  reg [39:0] last_where;
  reg [63:0] last_what;
  integer    part;
  initial begin
    last_writes = 32'd0;
    last_where = 40'd0;
    last_what = 64'd0;
  end
  always @(posedge clk) begin
    if (!rst && enable != {(WIDTH/8){1'b0}}) begin
      last_writes <= last_writes + 32'd1;
      last_where <= {{(32-ADDR){1'b0}}, waddr, {(8-WIDTH/8){1'b0}}, enable};
      last_what <= 64'd0;
      for (part = 0; part < WIDTH/8; part = part + 1) begin
        if (enable[part]) last_what[8*part +: 8] <= data[8*part +: 8];
      end
    end
  end
`endif

`ifndef SYNTHESIS
  integer i;
  initial begin
    q = {WIDTH{1'b0}};
    for (i = 0; i < WORDS; i = i + 1) mem[i] = {WIDTH{1'b0}};
  end
`endif

  always @(posedge clk) begin
    if (read && !rst) q <= mem[raddr];
  end

  always @(posedge clk) begin
    for (lane = 0; lane < WIDTH/8; lane = lane + 1) begin
      if (enable[lane] && !rst) mem[waddr][8*lane +: 8] <= data[8*lane +: 8];
    end
  end
endmodule
