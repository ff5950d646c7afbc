module fence_line (
  input clk,
  input rst,
  input begun,
  input [1:0] req_Op,
  input [31:0] req_ID,
  input [1:0] regs_Op,
  input [15:0] regs_Off,
  input rst_2,
  input Write_beat_Valid_2,
  input [63:0] Write_beat_Data_2,
  input [63:0] Timeline,
  input Ready,
  input [2:0] state,
  input stamp,
  input signal,
  input [63:0] value
);
  localparam Fence = 1;
  reg [31:0] id; // of the request, which stays
  reg [1:0] op;
  reg [63:0] was;
  reg [63:0] data; // of the last beat offered
  reg free;
  wire host = regs_Op == 2;

  always @(posedge clk) begin
    was <= Timeline;
    free <= rst || rst_2 || host;
    id <= req_ID;
    if (Ready) op <= req_Op;
    if (Write_beat_Valid_2) data <= Write_beat_Data_2;
  end

  wire [63:0] step = Timeline - was;

  always @* begin
    assume (Ready || req_ID == id);
    assume (Ready || !host);
    if (begun) begin
      assert (free || step < 64'h80000000);
      assert (free || step == 0 || op == Fence && Timeline == data);
      // Lemmas.
      assert (Ready || stamp == (op == 2) || state == 0);
      assert (Ready || signal == (op == 3) || state == 0);
      assert (Ready || op != 0);
      assert (state != 2 && state != 3 || stamp || signal || value - Timeline < 64'h80000000 && value[31:0] == id);
      assert (state != 3 || data == value);
      assert (state != 2 || Write_beat_Valid_2 || data == value);
    end
  end
endmodule
