// The shell of the iCE40HX8K-B-EVN: its clock, its reset and its pins. The PLL makes the
// clock of the 12 MHz of the board: 12 MHz * (DIVF+1) / 2^DIVQ. board.vh has the
// numbers, and the names of the ports of the design.
`include "board.vh"
module shell (
  input  wire       clk12,
  input  wire       uart_rx,
  output wire       uart_tx,
  output wire [7:0] led
);
  wire clk;
  wire locked;

`ifdef SIMULATION
  assign clk = clk12;
  assign locked = 1'b1;
`else
  SB_PLL40_CORE #(
    .FEEDBACK_PATH("SIMPLE"),
    .DIVR(4'd0),
    .DIVF(`DIVF),
    .DIVQ(`DIVQ),
    .FILTER_RANGE(3'd1)
  ) pll (
    .REFERENCECLK(clk12),
    .PLLOUTCORE(clk),
    .LOCK(locked),
    .RESETB(1'b1),
    .BYPASS(1'b0)
  );
`endif

  // Block RAMs have their contents 10 us after configuration at the earliest: the reset
  // ends 512 clocks, 24 us, after the PLL has locked.
  reg [9:0] count = 10'd0;
  reg       rst   = 1'b1;
  always @(posedge clk) begin
    if (!locked) count <= 10'd0;
    else if (!count[9]) count <= count + 10'd1;
    rst <= !count[9];
  end

  wire [7:0] lights;
  assign led = lights;

  ice40hx8k top (
    .clk(clk),
    .rst(rst),
    .`TOP_rx (uart_rx),
    .`TOP_Line (uart_tx),
    .`TOP_LEDs (lights)
  );
endmodule
