// A PHY at the shell. It sends the words of words.hex, and prints what it gets.
//
//   +clk=, +phy=  mean periods of the clocks of the board and of the PHY, ps; both wander
//   +next=        period of the PHY after a word with bit 10
//   +words=       number of words: {ctl, ctl, data, data} on the rising and the falling edge
//   +tail=        clocks of the PHY after the last word
//   +press=       clock of the PHY in which the button is pressed, 0 for never
//   +seed=
`timescale 1ps / 1ps
module bench;
  integer cps, pps, next, n, tail, press, seed;
  integer cnow, pnow, i = 0, idle = 0;
  reg [10:0] words [0:262143];
  reg [10:0] word = 0;
  reg clk = 0, phy = 0, rxc = 0, button_n = 1;
  reg rx_ctl = 0;
  reg [3:0] rxd = 0;
  wire led_n, phy_rst_n, mdc, txc, tx_ctl;
  wire [3:0] txd;

  shell #(.RESET_LOG(6)) shell (
    .clk25(clk), .button_n(button_n), .led_n(led_n), .phy_rst_n(phy_rst_n), .mdc(mdc),
    .rgmii_rxc(rxc), .rgmii_rx_ctl(rx_ctl), .rgmii_rxd(rxd),
    .rgmii_txc(txc), .rgmii_tx_ctl(tx_ctl), .rgmii_txd(txd)
  );

  // A period changes by at most 1/2000 in a clock, and stays within 1/200 of its mean.
  function integer wander(input integer now, input integer mean);
    begin
      wander = now + $unsigned($random(seed)) % (mean / 1000 + 1) - mean / 2000;
      if (wander > mean + mean / 200 || wander < mean - mean / 200) wander = now;
    end
  endfunction

  initial begin
    if (!$value$plusargs("clk=%d", cps)) $finish;
    if (!$value$plusargs("phy=%d", pps)) $finish;
    if (!$value$plusargs("next=%d", next)) $finish;
    if (!$value$plusargs("words=%d", n)) $finish;
    if (!$value$plusargs("tail=%d", tail)) $finish;
    if (!$value$plusargs("press=%d", press)) $finish;
    if (!$value$plusargs("seed=%d", seed)) $finish;
    $readmemh("words.hex", words, 0, n - 1);
    cnow = cps;
    pnow = pps;
    fork
      forever begin
        cnow = wander(cnow, cps);
        #(cnow / 2) clk = 1;
        #(cnow - cnow / 2) clk = 0;
      end
      forever begin
        pnow = wander(pnow, pps);
        #(pnow / 2) phy = phy_rst_n === 1'b1;
        #(pnow - pnow / 2) phy = 0;
      end
    join
  end

  // The PHY delays its clock by 2 ns, and the FPGA takes 2 ns to its registers.
  always @(phy) rxc <= #4000 phy;
  always @(posedge phy) begin
    word = i < n ? words[i] : 11'd0;
    {rx_ctl, rxd} <= {word[9], word[7:4]};
    if (word[10]) begin
      pps = next;
      pnow = next;
    end
    i = i + 1;
    if (i == press) button_n = 0;
    if (i == n + tail) begin
      $display("led_n %b mdc %b", led_n, mdc);
      $finish;
    end
  end
  always @(negedge phy) {rx_ctl, rxd} <= {word[8], word[3:0]};
  // The button is released 1 us after the PHY has lost its clock.
  always @(negedge button_n) @(negedge phy_rst_n) #1000000 button_n = 1;

  // The PHY samples on both edges of the clock that it gets, delayed by 2 ns.
  reg late = 0;
  reg [4:0] rise = 0;
  always @(txc) late <= #2000 txc;
  always @(posedge late) rise = {tx_ctl, txd};
  always @(negedge late) begin
    if (rise[4] === 1'b0 && tx_ctl === 1'b0) idle = idle + 1;
    else begin
      $display("tx %0d %b %b %h %h", idle, rise[4], tx_ctl, rise[3:0], txd);
      idle = 0;
    end
  end
endmodule
