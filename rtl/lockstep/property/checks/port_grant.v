module port_grant (
  input clk,
  input rst,
  input begun,
`include "sources_ports.vh"
  input [7:0] initiator_o_Sources,
  input [2:0] initiator_o_Source,
  input initiator_o_Refuse,
  input [7:0] Initiator_req_Kind_2,
  input [7:0] Initiator_req_Len_2,
  input [63:0] Initiator_req_Addr_2
);
`include "sources.vh"

  wire [7:0] takes = outward & ready;
  wire [82:0] granted =
    initiator_o_Source == 0 ? header0 : initiator_o_Source == 1 ? header1 : initiator_o_Source == 2 ? header2 :
    initiator_o_Source == 4 ? header4 : initiator_o_Source == 5 ? header5 : initiator_o_Source == 6 ? header6 : header7;

  always @* if (begun) begin
    assert ((initiator_o_Sources & ~outward) == 0);
    assert (Initiator_req_Kind_2 == (initiator_o_Sources != 0 && !initiator_o_Refuse ? granted[82:80] : 0));
    assert (Initiator_req_Kind_2 == 0 || Initiator_req_Addr_2 == granted[62:0] && Initiator_req_Len_2 == granted[71:64]);
    assert (takes == (initiator_o_Sources != 0 && (reqReady || initiator_o_Refuse) ? 8'd1 << initiator_o_Source : 8'd0));
    assert (initiator_o_Sources == 0 || initiator_o_Sources[initiator_o_Source]);
  end
endmodule
