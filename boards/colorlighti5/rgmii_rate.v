// Reports whether the clock of a PHY is that of a gigabit link: 125 MHz, and not 25 or
// 2.5 MHz (RGMII 2.0). The status that a PHY may give between frames is not needed.
//
//   In      clk, 25 MHz; phy_clk
//   Out     gigabit, of clk
//   Timing  64 to 128 clocks after a change
//   Reset   none; a gigabit link at configuration
//   Order   none
//   Faults  none; a clock that has stopped is not that of a gigabit link
//
// mark changes after 16 clocks of the PHY: in 64 clocks 20 times at 125 MHz, and 4 times at
// 25 MHz.
module rgmii_rate (
  input  wire clk,
  input  wire phy_clk,
  output reg  gigabit
);
  localparam LEAST = 12; // changes in 64 clocks

  reg [4:0] divider = 5'd0;
  always @(posedge phy_clk) divider <= divider + 5'd1;

  wire mark;
  asyncfifo_sync #(.WIDTH(1)) sync (.clk(clk), .rst(1'b0), .d(divider[4]), .q(mark));

  reg       old = 1'b0;
  reg [5:0] clocks = 6'd0;
  reg [4:0] changes = 5'd0;
  initial gigabit = 1'b1;
  wire changed = mark != old;
  always @(posedge clk) begin
    old <= mark;
    clocks <= clocks + 6'd1;
    if (&clocks) begin
      gigabit <= changes >= LEAST;
      changes <= {4'd0, changed};
    end else if (changed) changes <= changes + 5'd1;
  end
endmodule
