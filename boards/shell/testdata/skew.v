// asyncfifo_sync with bits that arrive at different times. The last change of d may be seen or
// not at the edge after it, each bit for itself.
module asyncfifo_sync #(
  parameter WIDTH = 1
) (
  input  wire             clk,
  input  wire             rst,
  input  wire [WIDTH-1:0] d,
  output reg  [WIDTH-1:0] q
);
  reg [WIDTH-1:0] meta;
  reg [WIDTH-1:0] now, before; // d, and its value before a change that no edge has seen
  always @(d) begin
    before = now;
    now = d;
  end
  always @(posedge clk) begin
    if (rst) begin
      meta <= 0;
      q <= 0;
    end else begin
      meta <= pick(d, before, $random);
      q <= meta;
    end
    before = d;
    now = d;
  end
  function [WIDTH-1:0] pick(input [WIDTH-1:0] a, input [WIDTH-1:0] b, input [31:0] r);
    pick = (a & r[WIDTH-1:0]) | (b & ~r[WIDTH-1:0]);
  endfunction
endmodule
