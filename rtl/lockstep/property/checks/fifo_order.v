// Any one push is followed until its value is popped.
module fifo_order #(
  parameter WIDTH = 1,
  parameter DEPTH = 2,
  parameter ADDR = 1
) (
  input clk,
  input rst,
  input begun,
  input clear0,
  input clear1,
  input push,
  input [WIDTH-1:0] data,
  input pop,
  input [WIDTH-1:0] head,
  input [ADDR:0] count,
  input [ADDR-1:0] first,
  input [WIDTH-1:0] slot,
  output [ADDR-1:0] where
);
  wire pick = $anyseq;
  wire [ADDR:0] held = clear0 ? 0 : count;
  reg followed;
  reg [WIDTH-1:0] value;
  reg [ADDR:0] ahead; // values that leave before it

  assign where = first + ahead[ADDR-1:0];

  always @(posedge clk) begin
    if (rst || clear1) begin
      followed <= 0;
    end else if (push && pick && (clear0 || !followed)) begin
      followed <= 1;
      value <= data;
      ahead <= held - pop;
    end else if (clear0) begin
      followed <= 0;
    end else if (pop && followed) begin
      followed <= ahead != 0;
      ahead <= ahead - 1;
    end
  end

  always @* begin
    assume (!push || held != DEPTH);
    assume (!pop || held != 0);
    if (begun) begin
      assert (!followed || ahead != 0 || head == value);
      // Lemmas: the value is in the queue, at its place.
      assert (count <= DEPTH);
      assert (!followed || ahead < count && slot == value);
    end
  end
endmodule
