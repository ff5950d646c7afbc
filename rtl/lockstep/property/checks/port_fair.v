// Any one source is followed while it may be granted.
module port_fair (
  input clk,
  input rst,
  input begun,
  input [7:0] initiator_o_Sources,
  input [2:0] initiator_o_Source,
  input initiator_taken,
  input initiator_State_Turn_Hold,
  input [2:0] initiator_State_Turn_At
);
  wire [2:0] source = $anyconst;
  wire waits = initiator_o_Sources[source];
  reg [3:0] passed; // headers of other sources that were taken while it waited

  always @(posedge clk) begin
    if (rst || !waits || initiator_taken && initiator_o_Source == source) passed <= 0;
    else if (initiator_taken && initiator_o_Sources != 0) passed <= passed + 1;
  end

  // The other sources that come before it in the order of the turn.
  wire [7:0] before = (8'd1 << source) - 8'd1;
  wire [7:0] upTo = (8'd1 << initiator_State_Turn_At) - 8'd1;
  wire [7:0] ahead = (initiator_State_Turn_At <= source ? before & ~upTo : before | ~upTo) & 8'hf7 & ~(8'd1 << source);
  wire [3:0] many = ahead[0] + ahead[1] + ahead[2] + ahead[3] + ahead[4] + ahead[5] + ahead[6] + ahead[7];

  always @* begin
    assume (source != 3 && !initiator_o_Sources[3]);
    assume (initiator_o_Sources == 0 || initiator_o_Sources[initiator_o_Source]); // port.grant
    if (begun) begin
      assert (passed <= 6);
      // Lemma.
      assert (passed + many <= 6);
    end
  end
endmodule
