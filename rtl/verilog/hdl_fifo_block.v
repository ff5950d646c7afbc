// A queue like hdl_fifo, in a block RAM. Each clock reads the slot of the next
// head. A value that is pushed into that slot in the same clock bypasses the
// memory.
module hdl_fifo_block #(
  parameter WIDTH = 1,
  parameter DEPTH = 2,
  parameter ADDR  = 1
) (
  input  wire             clk,
  input  wire             rst,
  input  wire             clear0,
  input  wire             clear1,
  input  wire             push,
  input  wire [WIDTH-1:0] data,
  input  wire             pop,
  output wire [WIDTH-1:0] head,
  output reg  [ADDR:0]    count
);
  localparam [31:0]     LAST = DEPTH - 1;
  localparam [ADDR-1:0] MASK = LAST[ADDR-1:0];

  (* no_rw_check *) reg [WIDTH-1:0] slots [0:DEPTH-1];
  reg [ADDR-1:0]  first;
  reg [WIDTH-1:0] q;
  reg [WIDTH-1:0] fresh;
  reg             pass;

  wire [ADDR-1:0] from  = clear0 ? {ADDR{1'b0}} : first;
  wire [ADDR:0]   held  = clear0 ? {(ADDR+1){1'b0}} : count;
  wire [ADDR-1:0] place = (from + held[ADDR-1:0]) & MASK;
  wire            empty = rst || clear1;
  wire [ADDR-1:0] turn  = empty ? {ADDR{1'b0}} : (pop ? from + 1'b1 : from) & MASK;

`ifndef SYNTHESIS
  integer i;
  initial for (i = 0; i < DEPTH; i = i + 1) slots[i] = {WIDTH{1'b0}};
`endif

  assign head = pass ? fresh : q;

  always @(posedge clk) begin
    first <= turn;
    if (empty) count <= {(ADDR+1){1'b0}};
    else if (push && !pop) count <= held + 1'b1;
    else if (pop && !push) count <= held - 1'b1;
    else count <= held;
  end

  always @(posedge clk) begin
    fresh <= data;
    pass <= push && !rst && place == turn;
    q <= slots[turn];
  end

  always @(posedge clk) begin
    if (push && !rst) slots[place] <= data;
  end
endmodule
