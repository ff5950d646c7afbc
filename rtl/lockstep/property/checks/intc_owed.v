// The ledger owes a message for each event. Bits 0 and 1 are DONE of node 0 and 1, bits 2
// and 3 are FAULT.
module intc_owed (
  input clk,
  input rst,
  input begun,
  input ev_Done0,
  input ev_Done1,
  input ev_Fault0,
  input ev_Fault1,
  input enable,
  input functionMask,
  input reqReady,
  input beatReady,
  input refused,
  input [1:0] regs_Op,
  input [15:0] regs_Off,
  input [31:0] regs_Data,
  input rst_Whole,
  input rst_Function,
  input [2:0] Message_req_Kind_2,
  input Message_beat_Valid_2,
  input [9:0] status,
  input [9:0] mask,
  input [9:0] due,
  input [9:0] sent,
  input masked_0,
  input masked_1,
  input vector
);
  wire header = Message_req_Kind_2 != 0;
  wire beat = Message_beat_Valid_2;
  wire write = regs_Op == 2;
  wire [3:0] host = {regs_Data[9:8], regs_Data[1:0]};
  wire [3:0] raised = {ev_Fault1, ev_Fault0, ev_Done1, ev_Done0} | (write && regs_Off == 16'h108 ? host : 4'd0);
  wire [3:0] acked = write && regs_Off == 16'h100 ? host : 4'd0;
  wire [3:0] passes = {mask[9:8], mask[1:0]};
  wire on = enable && !functionMask;
  wire [3:0] open = passes & {{2{on && !masked_1}}, {2{on && !masked_0}}};

  reg [3:0] ledger; // owed at the end of the previous clock, before its message started
  reg [3:0] told; // events of the message that is offered or was offered last
  reg [3:0] raisedEver; // STATUS
  reg pending; // a part of a message was offered and not taken
  reg wasOn;

  wire starts = (header || beat) && !pending;
  wire [3:0] ours = vector ? 4'b1100 : 4'b0011;
  wire [3:0] tells = starts ? ledger & ours & passes : 4'd0;
  wire [3:0] owed = ledger & ~tells;
  wire [3:0] again = refused ? (starts ? tells : told) & raisedEver : 4'd0;
  wire resets = rst || rst_Whole || rst_Function;

  always @(posedge clk) begin
    pending <= !resets && (header && !reqReady || beat && !beatReady);
    wasOn <= on;
    ledger <= resets ? 4'd0 : (owed | again) & ~(acked & ~open) | raised;
    told <= resets ? 4'd0 : starts ? tells : told;
    raisedEver <= resets ? 4'd0 : raisedEver & ~acked | raised;
  end

  always @* begin
    assume (!rst_Function || rst_Whole);
    assume (!rst_Whole || regs_Op == 0);
    if (begun) begin
      // A message reports an event that is owed, of a vector that is not masked.
      assert (!starts || tells != 0);
      assert (!starts || header && beat);
      assert (!starts || wasOn && !(vector ? masked_1 : masked_0));
      // What is owed stays due.
      assert ({due[9:8], due[1:0]} == owed);
      // Lemmas.
      assert (((due | mask | sent | status) & ~10'h303) == 0);
      assert ({status[9:8], status[1:0]} == raisedEver);
      assert ({sent[9:8], sent[1:0]} == (starts ? tells : told));
    end
  end
endmodule
