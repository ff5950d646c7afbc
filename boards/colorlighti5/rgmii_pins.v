// The DDR registers of RGMII (RGMII 2.0) in the pins of an ECP5. The PHY's receive
// clock is the clock of both directions.
//
//   In      the pins; tx_en, tx_low, tx_high: what is sent on both edges of a clock
//   Out     the pins; rx_dv, rx_er, rx_low, rx_high: what arrived on both edges of a clock
//   Timing  1 clock more than the registers at the pins
//   Reset   none
//   Order   as received
//
// rgmii_txc is rgmii_rxc, back to the PHY. So it has the right frequency at all three rates,
// without a PLL, and there is no third clock.
//
// Delays are in steps of 25 ps, at most 127. It is assumed that the PHY delays both clocks by
// about 2 ns, so that their edges are in the middle of the data, and that the clock takes
// about RX_DELAY from its pin to the registers, so that the data must be delayed too. The
// values are those that LiteX-Boards has for this board. They are not tried.
module rgmii_pins #(
  parameter RX_DELAY  = 80, // of the received data
  parameter TXC_DELAY = 0   // of rgmii_txc
) (
  output wire       clk,
  input  wire       rgmii_rxc,
  input  wire       rgmii_rx_ctl,
  input  wire [3:0] rgmii_rxd,
  output wire       rgmii_txc,
  output wire       rgmii_tx_ctl,
  output wire [3:0] rgmii_txd,
  output reg        rx_dv,
  output reg        rx_er,
  output reg  [3:0] rx_low,
  output reg  [3:0] rx_high,
  input  wire       tx_en,
  input  wire [3:0] tx_low,
  input  wire [3:0] tx_high
);
  assign clk = rgmii_rxc;

  // RX_CTL is RX_DV on the rising edge, and RX_DV xor RX_ER on the falling edge.
  wire [4:0] from = {rgmii_rx_ctl, rgmii_rxd};
  wire [4:0] late, rise, fall;
  wire [4:0] to_rise = {tx_en, tx_low};
  wire [4:0] to_fall = {tx_en, tx_high};
  wire [4:0] to, out;
  assign {rgmii_tx_ctl, rgmii_txd} = out;

  genvar i;
  generate
    for (i = 0; i < 5; i = i + 1) begin : pin
      DELAYG #(.DEL_MODE("SCLK_ALIGNED"), .DEL_VALUE(RX_DELAY)) rx_delay (.A(from[i]), .Z(late[i]));
      IDDRX1F iddr (.D(late[i]), .SCLK(clk), .RST(1'b0), .Q0(rise[i]), .Q1(fall[i]));
      ODDRX1F oddr (.D0(to_rise[i]), .D1(to_fall[i]), .SCLK(clk), .RST(1'b0), .Q(to[i]));
      DELAYG #(.DEL_MODE("SCLK_ALIGNED"), .DEL_VALUE(0)) tx_delay (.A(to[i]), .Z(out[i]));
    end
  endgenerate

  wire txc;
  ODDRX1F txc_oddr (.D0(1'b1), .D1(1'b0), .SCLK(clk), .RST(1'b0), .Q(txc));
  DELAYG #(.DEL_MODE("SCLK_ALIGNED"), .DEL_VALUE(TXC_DELAY)) txc_delay (.A(txc), .Z(rgmii_txc));

  always @(posedge clk) begin
    rx_dv <= rise[4];
    rx_er <= rise[4] ^ fall[4];
    rx_low <= rise[3:0];
    rx_high <= fall[3:0];
  end
endmodule
