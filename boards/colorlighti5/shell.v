// The shell of the Colorlight i5 7.0: its resets, PHY 0, and the queues between the clock of
// the PHY and that of the design, which is the clock of the board. board.vh has the names of
// the ports of the design.
//
// The design takes a byte in a clock at most, a fifth of what a gigabit link brings. So the
// queue of received words has room for a burst of 5 KiB. A frame to send waits in the other
// queue until it is complete, and the gap after it is made at the PHY.
//
// MDIO of the PHYs is not connected, so that they have the settings of their pins. A link
// must have full duplex.
`include "board.vh"
module shell #(
  parameter RESET_LOG = 18 // reset has 2^RESET_LOG clocks, 10 ms
) (
  input  wire       clk25,
  input  wire       button_n,
  output wire       led_n,
  output wire       phy_rst_n,
  output wire       mdc,
  input  wire       rgmii_rxc,
  input  wire       rgmii_rx_ctl,
  input  wire [3:0] rgmii_rxd,
  output wire       rgmii_txc,
  output wire       rgmii_tx_ctl,
  output wire [3:0] rgmii_txd
);
  assign mdc = 1'b0;

  // The pad has a pull-up, as in LiteX-Boards, since the board may have none.
  wire button;
  IBPU button_pad (.I(button_n), .O(button));

  // The design and the PHYs are in reset after configuration and after the button is released.
  reg [RESET_LOG:0] count = 0;
  reg               rst   = 1'b1;
  wire              released;
  asyncfifo_sync #(.WIDTH(1)) button_sync (.clk(clk25), .rst(1'b0), .d(button), .q(released));
  always @(posedge clk25) begin
    if (!released) count <= 0;
    else if (!count[RESET_LOG]) count <= count + 1'b1;
    rst <= !count[RESET_LOG];
  end
  assign phy_rst_n = !rst;

  // Both sides of the queues are in reset together, until the PHY's side has seen 4 clocks in
  // it. The PHY gives no clock while it is in reset, or none at all. The design then runs
  // without a link.
  wire clk; // of the PHY
  reg  crst = 1'b1;
  (* async_reg = "true" *) reg [1:0] psync = 2'b11;
  wire       prst = psync[1];
  reg  [3:0] pdone = 4'd0;
  wire       done;
  asyncfifo_sync #(.WIDTH(1)) done_sync (.clk(clk25), .rst(rst), .d(pdone[3]), .q(done));
  always @(posedge clk) begin
    psync <= {psync[0], crst};
    pdone <= prst ? {pdone[2:0], 1'b1} : 4'd0;
  end
  always @(posedge clk25) crst <= rst || (crst && !done);

  wire gigabit, pgigabit;
  rgmii_rate rate (.clk(clk25), .phy_clk(clk), .gigabit(gigabit));
  asyncfifo_sync #(.WIDTH(1)) rate_sync (.clk(clk), .rst(1'b0), .d(gigabit), .q(pgigabit));

  wire       rx_dv, rx_er, tx_en;
  wire [3:0] rx_low, rx_high, tx_low, tx_high;
  rgmii_pins pins (
    .clk(clk),
    .rgmii_rxc(rgmii_rxc), .rgmii_rx_ctl(rgmii_rx_ctl), .rgmii_rxd(rgmii_rxd),
    .rgmii_txc(rgmii_txc), .rgmii_tx_ctl(rgmii_tx_ctl), .rgmii_txd(rgmii_txd),
    .rx_dv(rx_dv), .rx_er(rx_er), .rx_low(rx_low), .rx_high(rx_high),
    .tx_en(tx_en), .tx_low(tx_low), .tx_high(tx_high)
  );

  // From the PHY: a word is a byte, or with bit 8 the end of a carrier.
  wire       in_valid, in_ready, in_low, rx_valid;
  wire [8:0] in, rx;
  rgmii_rx receiver (
    .clk(clk), .rst(prst), .gigabit(pgigabit),
    .dv(rx_dv), .er(rx_er), .low(rx_low), .high(rx_high),
    .wready(in_ready), .wlow(in_low), .wvalid(in_valid), .wdata(in)
  );
  asyncfifo #(.WIDTH(9), .LOG(12), .BLOCK(1)) rx_queue (
    .wclk(clk), .wrst(prst), .wvalid(in_valid), .wdata(in), .wready(in_ready), .wlow(in_low),
    .rclk(clk25), .rrst(crst), .rready(1'b1), .rvalid(rx_valid), .rdata(rx)
  );

  // To the PHY: a word is a byte, with bit 8 the last one of a frame. Idle symbols are dropped.
  wire       there, enable, last, room, low;
  wire [7:0] data;
  wire       write = !crst && there && enable;
  wire       taken = !crst && (room || !enable);
  reg  [5:0] frames, frames_gray;
  wire [5:0] frames_next = frames + 6'd1;
  always @(posedge clk25) begin
    if (crst) begin
      frames <= 6'd0;
      frames_gray <= 6'd0;
    end else if (write && room && last) begin
      frames <= frames_next;
      frames_gray <= frames_next ^ (frames_next >> 1);
    end
  end

  wire       out_valid, out_ready;
  wire [8:0] out;
  wire [5:0] complete;
  asyncfifo #(.WIDTH(9), .LOG(11), .BLOCK(1)) tx_queue (
    .wclk(clk25), .wrst(crst), .wvalid(write), .wdata({last, data}), .wready(room), .wlow(low),
    .rclk(clk), .rrst(prst), .rready(out_ready), .rvalid(out_valid), .rdata(out)
  );
  asyncfifo_sync #(.WIDTH(6)) frames_sync (.clk(clk), .rst(prst), .d(frames_gray), .q(complete));
  rgmii_tx transmitter (
    .clk(clk), .rst(prst), .gigabit(pgigabit), .frames(complete),
    .rvalid(out_valid), .rdata(out), .rready(out_ready),
    .en(tx_en), .low(tx_low), .high(tx_high)
  );

  wire [7:0] lights;
  assign led_n = !lights[0];

  colorlighti5 top (
    .clk(clk25),
    .rst(rst),
    .`TOP_rx_Valid (rx_valid),
    .`TOP_rx_End (rx[8]),
    .`TOP_rx_Error (rx[8] && rx[0]),
    .`TOP_rx_Data (rx[7:0]),
    .`TOP_ready (taken),
    .`TOP_Symbol_valid (there),
    .`TOP_Symbol_s_Enable (enable),
    .`TOP_Symbol_s_Last (last),
    .`TOP_Symbol_s_Data (data),
    .`TOP_LEDs (lights)
  );
endmodule
