module watchdog_hang (
  input clk,
  input rst,
  input begun,
  input n0_Busy,
  input n0_Moved,
  input n1_Busy,
  input n1_Moved,
  input [1:0] regs_Op,
  input [15:0] regs_Off,
  input [31:0] regs_Data,
  input rst_2,
  input Hang_node0_2,
  input Hang_node1_2,
  input [31:0] limit,
  input [31:0] age0,
  input [31:0] age1
);
  wire sets = regs_Op == 2 && regs_Off == 16'h300;
  reg [31:0] most; // LIMIT
  reg [31:0] stalled0, stalled1; // clocks without progress, up to LIMIT
  reg hangs0, hangs1;
  wire stops0 = n0_Busy && !n0_Moved;
  wire stops1 = n1_Busy && !n1_Moved;

  always @(posedge clk) begin
    hangs0 <= stops0 && stalled0 < most && stalled0 + 1 == most && !sets;
    hangs1 <= stops1 && stalled1 < most && stalled1 + 1 == most && !sets;
    stalled0 <= !stops0 ? 0 : stalled0 < most ? stalled0 + 1 : stalled0;
    stalled1 <= !stops1 ? 0 : stalled1 < most ? stalled1 + 1 : stalled1;
    if (sets) begin
      most <= regs_Data;
      stalled0 <= 0;
      stalled1 <= 0;
    end
    if (rst || rst_2) begin
      most <= 0;
      hangs0 <= 0;
      hangs1 <= 0;
      stalled0 <= 0;
      stalled1 <= 0;
    end
  end

  always @* if (begun) begin
    assert (Hang_node0_2 == hangs0);
    assert (Hang_node1_2 == hangs1);
    // Lemmas.
    assert (limit == most && stalled0 <= most && stalled1 <= most);
    assert (age0 == stalled0 && age1 == stalled1);
  end
endmodule
