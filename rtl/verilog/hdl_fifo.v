// A queue of DEPTH values, a power of two. The oldest value is at head without a
// clock of delay. clear0 empties the queue before this clock's push and pop,
// clear1 and rst after them.
module hdl_fifo #(
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

  reg [WIDTH-1:0] slots [0:DEPTH-1];
  reg [ADDR-1:0]  first;

  wire [ADDR-1:0] from  = clear0 ? {ADDR{1'b0}} : first;
  wire [ADDR:0]   held  = clear0 ? {(ADDR+1){1'b0}} : count;
  wire [ADDR-1:0] place = (from + held[ADDR-1:0]) & MASK;
  wire            empty = rst || clear1;

`ifndef SYNTHESIS
  integer i;
  initial for (i = 0; i < DEPTH; i = i + 1) slots[i] = {WIDTH{1'b0}};
`endif

  assign head = slots[first];

  always @(posedge clk) begin
    if (empty) first <= {ADDR{1'b0}};
    else first <= (pop ? from + 1'b1 : from) & MASK;
    if (empty) count <= {(ADDR+1){1'b0}};
    else if (push && !pop) count <= held + 1'b1;
    else if (pop && !push) count <= held - 1'b1;
    else count <= held;
  end

  always @(posedge clk) begin
    if (push && !rst) slots[place] <= data;
  end
endmodule
