module port_hold (
  input clk,
  input rst,
  input begun,
`include "sources_ports.vh"
  input [7:0] Initiator_req_Kind_2,
  input [7:0] Initiator_req_Tag_2,
  input [7:0] Initiator_req_Len_2,
  input [63:0] Initiator_req_Addr_2
);
`include "sources.vh"

  wire [87:0] offer = {Initiator_req_Kind_2, Initiator_req_Tag_2, Initiator_req_Len_2, Initiator_req_Addr_2};
  reg [87:0] was;
  reg held;
  always @(posedge clk) begin
    was <= offer;
    held <= !rst && Initiator_req_Kind_2 != 0 && !reqReady;
  end

  always @* if (begun) begin
    assert (!held || offer == was);
    // Lemmas: the header that holds the grant is the one that was offered.
    assert (initiator_State_Turn_Hold == held);
  end
endmodule
