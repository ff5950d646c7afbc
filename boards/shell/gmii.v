// A PHY with a GMII (IEEE 802.3-2018 clause 35), or with an RGMII and DDR registers, at the
// byte streams of rtl/eth. Each direction of the PHY has its clock.
//
//   In      clk, rst: those of the station; s_*: its symbol, valid/ready; rx_clk, rx_dv,
//           rx_er, rxd: received bytes; tx_clk; rx_rst, tx_rst: resets of these clocks
//   Out     b_*: a byte for the station, or the end of a carrier; s_ready; tx_en, txd
//   Timing  a byte in each clock of the PHY. A frame is sent once it is complete here, so
//           it has no pause, whatever the clock of the station is
//   Reset   as asyncfifo; tx_en is off
//   Order   as received, as sent
//   Faults  a received byte that finds no room is dropped, and the end of its carrier has
//           b_error. If the end finds no room either, the next carrier is a part of this
//           one, and lost with it
//   Size    2^LOG words each way, LOG 11 or 12: more than a frame with its gap, and
//           fewer than 2^6 frames
module gmii #(
  parameter LOG = 11
) (
  input  wire       clk,
  input  wire       rst,
  output wire       b_valid,
  output wire       b_end,
  output wire       b_error,
  output wire [7:0] b_data,
  input  wire       s_valid,
  input  wire       s_enable,
  input  wire       s_last,
  input  wire [7:0] s_data,
  output wire       s_ready,
  input  wire       rx_clk,
  input  wire       rx_rst,
  input  wire       rx_dv,
  input  wire       rx_er,
  input  wire [7:0] rxd,
  input  wire       tx_clk,
  input  wire       tx_rst,
  output reg        tx_en,
  output reg  [7:0] txd
);
  reg dv, er, open, lost; // open: an end is to be stored
  reg [7:0] d;
  wire room;
  asyncfifo #(.WIDTH(10), .LOG(LOG)) received (
    .wclk(rx_clk), .wrst(rx_rst), .wvalid(dv || open), .wdata({!dv, dv ? er : lost, d}), .wready(room),
    .rclk(clk), .rrst(rst), .rready(1'b1), .rvalid(b_valid), .rdata({b_end, b_error, b_data})
  );
  always @(posedge rx_clk) begin
    er <= rx_er;
    d <= rxd;
    if (rx_rst) begin
      dv <= 1'b0;
      open <= 1'b0;
      lost <= 1'b0;
    end else begin
      dv <= rx_dv;
      open <= dv || open && !room;
      lost <= (dv || open) && (lost || !room) && !(!dv && room);
    end
  end

  // A counter of the frames that are complete crosses to tx_clk as the pointers of a queue do.
  localparam FRAMES = 6;
  reg [FRAMES-1:0] stored, stored_gray, sent, sent_gray;
  wire [FRAMES-1:0] stored_seen;
  wire [FRAMES-1:0] stored_next = stored + 1'b1;
  wire [FRAMES-1:0] sent_next = sent + 1'b1;
  wire there, enable, last;
  wire [7:0] data;
  reg busy; // in a frame
  wire take = there && (!enable || busy || sent_gray != stored_seen);
  asyncfifo #(.WIDTH(10), .LOG(LOG)) symbols (
    .wclk(clk), .wrst(rst), .wvalid(s_valid), .wdata({s_enable, s_last, s_data}), .wready(s_ready),
    .rclk(tx_clk), .rrst(tx_rst), .rready(take), .rvalid(there), .rdata({enable, last, data})
  );
  asyncfifo_sync #(.WIDTH(FRAMES)) to_tx (.clk(tx_clk), .rst(tx_rst), .d(stored_gray), .q(stored_seen));
  always @(posedge clk) begin
    if (rst) begin
      stored <= 0;
      stored_gray <= 0;
    end else if (s_valid && s_ready && s_last) begin
      stored <= stored_next;
      stored_gray <= stored_next ^ (stored_next >> 1);
    end
  end
  always @(posedge tx_clk) begin
    txd <= data;
    if (tx_rst) begin
      tx_en <= 1'b0;
      busy <= 1'b0;
      sent <= 0;
      sent_gray <= 0;
    end else begin
      tx_en <= take && enable;
      if (take && enable) busy <= !last;
      if (take && enable && last) begin
        sent <= sent_next;
        sent_gray <= sent_next ^ (sent_next >> 1);
      end
    end
  end
endmodule
