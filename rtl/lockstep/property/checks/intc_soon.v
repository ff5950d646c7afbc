module intc_soon (
  input clk,
  input rst,
  input begun,
  input enable,
  input functionMask,
  input reqReady,
  input beatReady,
  input [1:0] regs_Op,
  input rst_Whole,
  input rst_Function,
  input [2:0] Message_req_Kind_2,
  input Message_beat_Valid_2,
  input [9:0] mask,
  input [9:0] status,
  input [9:0] due,
  input [9:0] sent,
  input masked_0,
  input masked_1,
  input [23:0] wait_clocks
);
  wire on = enable && !functionMask;
  wire done = on && !masked_0 && wait_clocks == 0 && (due[1:0] & mask[1:0]) != 0;
  wire fault = on && !masked_1 && (due[9:8] & mask[9:8]) != 0;
  wire quiet = reqReady && beatReady && regs_Op == 0 && !rst_Whole && !rst_Function;
  reg [3:0] waited; // clocks in which an event could be sent and no message was offered

  always @(posedge clk)
    waited <= rst || !quiet || !(done || fault) || Message_req_Kind_2 != 0 || Message_beat_Valid_2 ? 4'd0 : waited + 4'd1;

  always @* if (begun) begin
    assert (waited <= 9);
    assert (((due | mask | sent | status) & ~10'h303) == 0); // lemma
  end
endmodule
