module fifo_count #(
  parameter DEPTH = 2,
  parameter ADDR = 1
) (
  input clk,
  input rst,
  input begun,
  input clear0,
  input clear1,
  input push,
  input pop,
  input [ADDR:0] count
);
  reg [ADDR:0] pushed;
  reg [ADDR:0] popped;
  wire [ADDR:0] held = clear0 ? 0 : count;

  // The numbers of pushes and pops since the queue was empty, modulo 2 * DEPTH.
  always @(posedge clk) begin
    if (rst || clear1) begin
      pushed <= 0;
      popped <= 0;
    end else begin
      pushed <= (clear0 ? 0 : pushed) + push;
      popped <= (clear0 ? 0 : popped) + pop;
    end
  end

  always @* begin
    assume (!push || held != DEPTH);
    assume (!pop || held != 0);
    if (begun) begin
      assert (count == ((pushed - popped) & (2 * DEPTH - 1)));
      assert (count <= DEPTH);
    end
  end
endmodule
