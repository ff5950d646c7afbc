// Two registers for each bit of a Gray code of another clock. The first one may be
// metastable, and has settled when the second one samples it.
module asyncfifo_sync #(
  parameter WIDTH = 1
) (
  input  wire             clk,
  input  wire             rst,
  input  wire [WIDTH-1:0] d,
  output reg  [WIDTH-1:0] q
);
  (* async_reg = "true" *) reg [WIDTH-1:0] meta;
  always @(posedge clk) begin
    if (rst) begin
      meta <= 0;
      q <= 0;
    end else begin
      meta <= d;
      q <= meta;
    end
  end
endmodule
