// A memory of 64-bit words with one port. A clock writes the word at waddr if a
// bit of enable is set; otherwise it can read the word at raddr. Bit i of enable
// writes byte i.
module hdl_ram_single #(
  parameter WORDS = 2,
  parameter ADDR  = 1
) (
  input  wire            clk,
  input  wire            rst,
  input  wire            read,
  input  wire [ADDR-1:0] raddr,
  input  wire [7:0]      enable,
  input  wire [ADDR-1:0] waddr,
  input  wire [63:0]     data,
  output reg  [63:0]     q
);
  (* no_rw_check *) reg [63:0] mem [0:WORDS-1];

  wire write = enable != 8'd0;
  wire [ADDR-1:0] addr = write ? waddr : raddr;

`ifdef LOCKSTEP
  // The last write, for comparison.
  reg [31:0] last_writes;
  reg [39:0] last_where;
  reg [63:0] last_what;
  initial begin
    last_writes = 32'd0;
    last_where = 40'd0;
    last_what = 64'd0;
  end
  always @(posedge clk) begin
    if (!rst && enable != 8'd0) begin
      last_writes <= last_writes + 32'd1;
      last_where <= {{(32-ADDR){1'b0}}, waddr, enable};
      last_what <= data & {{8{enable[7]}}, {8{enable[6]}}, {8{enable[5]}}, {8{enable[4]}},
                           {8{enable[3]}}, {8{enable[2]}}, {8{enable[1]}}, {8{enable[0]}}};
    end
  end
`endif

`ifndef SYNTHESIS
  integer i;
  initial begin
    q = 64'd0;
    for (i = 0; i < WORDS; i = i + 1) mem[i] = 64'd0;
  end
`endif

  always @(posedge clk) begin
    if (read && !write && !rst) q <= mem[addr];
  end

  always @(posedge clk) begin
    if (!rst) begin
      if (enable[0]) mem[addr][7:0] <= data[7:0];
      if (enable[1]) mem[addr][15:8] <= data[15:8];
      if (enable[2]) mem[addr][23:16] <= data[23:16];
      if (enable[3]) mem[addr][31:24] <= data[31:24];
      if (enable[4]) mem[addr][39:32] <= data[39:32];
      if (enable[5]) mem[addr][47:40] <= data[47:40];
      if (enable[6]) mem[addr][55:48] <= data[55:48];
      if (enable[7]) mem[addr][63:56] <= data[63:56];
    end
  end
endmodule
