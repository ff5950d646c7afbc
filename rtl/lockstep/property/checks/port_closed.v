module port_closed (
  input clk,
  input rst,
  input begun,
`include "sources_ports.vh"
  input pcie_BusMaster,
  input reset_State_Whole,
  input reset_State_Function,
  input [7:0] Initiator_req_Kind_2
);
`include "sources.vh"

  reg held; // a header was offered and not taken
  always @(posedge clk) held <= !rst && Initiator_req_Kind_2 != 0 && !reqReady;

  always @* if (begun) begin
    assert (Initiator_req_Kind_2 == 0 || held || pcie_BusMaster && !reset_State_Whole && !reset_State_Function);
    // Lemmas: the header that holds the grant is the one that was offered.
    assert (initiator_State_Turn_Hold == held);
  end
endmodule
