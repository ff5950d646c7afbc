// Any one tag is followed.
module tag_once (
  input clk,
  input rst,
  input begun,
`include "sources_ports.vh"
  input [63:0] flying,
  input initiator_State_Spare_Used,
  input [1:0] initiator_State_Spare_Next,
  input [7:0] Initiator_req_Kind_2,
  input [7:0] Initiator_req_Tag_2,
  input [7:0] cpl_Tag,
  input [7:0] cpl_Status,
  input cpl_Last
);
`include "sources.vh"

  wire [5:0] tag = $anyconst;
  wire sends = Initiator_req_Kind_2 == 1 && Initiator_req_Tag_2 == tag;
  wire ends = cpl_Status[1:0] != 0 && cpl_Last && cpl_Tag == tag;
  reg inFlight; // a read with the tag was taken and its last completion has not arrived
  reg stale; // the readers were reset since

  always @(posedge clk) begin
    inFlight <= !rst && (sends && reqReady || inFlight && !ends);
    stale <= !rst && (initiator_rst_2 || stale && !(sends && reqReady));
  end

  wire [63:0] known = initiator_Awaited | initiator_Busy;

  always @* if (begun) begin
    assert (!sends || !inFlight);
    assert (!(initiator_Awaited >> tag & 64'd1) || inFlight && !stale);
    // Lemmas.
    assert ((flying >> tag & 64'd1) == inFlight);
    assert (!inFlight || !stale || initiator_Busy >> tag & 64'd1);
    assert (!(known >> {4'h3, initiator_State_Spare_Next} & 64'd1) || !initiator_State_Spare_Free && !initiator_State_Spare_Used);
  end
endmodule
