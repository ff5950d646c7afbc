// The first clock of each trace is a reset. Registers may have any value before it.
module started (
  input clk,
  input rst,
  output begun
);
  reg past = 1'b0;
  assign begun = past;
  always @(posedge clk) past <= 1'b1;
  always @* assume (past || rst);
endmodule
