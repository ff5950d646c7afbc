// A station of rtl/eth at a PHY, each with its clocks. Prints each frame that is sent, from
// the preamble on, after the clocks of the PHY before it in which the line was idle.
//
//   +cps=, +rps=, +tps=  periods of the station, of received and of sent bytes, in ps
//   +items=              number of words in in.hex: rx_er 9, rx_dv 8, rxd 7..0
//   +clocks=             clocks of the PHY after the last of these
`include "ports.vh"
`timescale 1ps / 1ps
module ping;
  integer cps, rps, tps, items, clocks;
  reg clk = 0, rx_clk = 0, tx_clk = 0, rst = 1;
  reg [9:0] in [0:65535];
  reg [9:0] now = 0;
  integer at = 0, idle = 0;

  wire b_valid, b_end, b_error, s_valid, s_enable, s_last, s_ready, tx_en;
  wire [7:0] b_data, s_data, txd;
  gmii shell (
    .clk(clk), .rst(rst), .b_valid(b_valid), .b_end(b_end), .b_error(b_error), .b_data(b_data),
    .s_valid(s_valid), .s_enable(s_enable), .s_last(s_last), .s_data(s_data), .s_ready(s_ready),
    .rx_clk(rx_clk), .rx_rst(rst), .rx_dv(now[8]), .rx_er(now[9]), .rxd(now[7:0]),
    .tx_clk(tx_clk), .tx_rst(rst), .tx_en(tx_en), .txd(txd)
  );
  eth top (
    .clk(clk), .rst(rst),
    .`TOP_rx_Valid (b_valid), .`TOP_rx_End (b_end), .`TOP_rx_Error (b_error), .`TOP_rx_Data (b_data),
    .`TOP_ready (s_ready), .`TOP_Symbol_valid (s_valid), .`TOP_Symbol_s_Enable (s_enable),
    .`TOP_Symbol_s_Last (s_last), .`TOP_Symbol_s_Data (s_data),
    .`TOP_link_Ready (1'b1), .`TOP_link_Valid (1'b0), .`TOP_link_Last (1'b0), .`TOP_link_Data (8'd0),
    .`TOP_link_Keep (1'b0), .`TOP_link_Release (1'b0), .`TOP_counter (8'd0),
    .`TOP_Datagram_Valid (), .`TOP_Datagram_First (), .`TOP_Datagram_Last (), .`TOP_Datagram_Host (), .`TOP_Datagram_Data (),
    .`TOP_Ready (), .`TOP_Count_valid (), .`TOP_Count_n ()
  );

  initial begin
    if (!$value$plusargs("cps=%d", cps)) $finish;
    if (!$value$plusargs("rps=%d", rps)) $finish;
    if (!$value$plusargs("tps=%d", tps)) $finish;
    if (!$value$plusargs("items=%d", items)) $finish;
    if (!$value$plusargs("clocks=%d", clocks)) $finish;
    $readmemh("in.hex", in, 0, items - 1);
    fork
      forever begin
        #(cps / 2) clk = 1;
        #(cps - cps / 2) clk = 0;
      end
      forever begin
        #(rps / 2) rx_clk = 1;
        #(rps - rps / 2) rx_clk = 0;
      end
      forever begin
        #(tps / 2) tx_clk = 1;
        #(tps - tps / 2) tx_clk = 0;
      end
      #(8 * (cps + rps + tps)) rst = 0;
    join
  end

  always @(negedge rx_clk) begin
    if (!rst) begin
      now = at < items ? in[at] : 10'd0;
      at = at + 1;
      if (at > items + clocks) $finish;
    end
  end

  reg was = 0;
  always @(negedge tx_clk) begin
    if (tx_en && !was) $write("%0d ", idle);
    if (tx_en) $write("%h", txd);
    if (!tx_en && was) $write("\n");
    idle = tx_en ? 0 : idle + 1;
    was = tx_en && !rst;
  end
endmodule
