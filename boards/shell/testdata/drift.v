// Writes numbered words into asyncfifo and compares those that it gives. The periods of both
// clocks wander around their means.
//
//   +words=  words to transfer       +wps=, +rps=  mean periods, in ps
//   +wgaps=  clocks of 256 without a word; +rgaps= clocks of 256 in which none is taken
//   +seed=
`timescale 1ps / 1ps
module drift #(parameter BLOCK = 0);
  integer words, wps, rps, wgaps, rgaps, seed;
  integer wnow, rnow;
  reg wclk = 0, rclk = 0, wrst = 1, rrst = 1;
  reg [31:0] wi = 0, ri = 0;
  reg wvalid = 0, rready = 0;
  wire wready, wlow, rvalid;
  wire [31:0] rdata;
  integer fulls = 0, empties = 0, lows = 0;

  // Any word is unlike its neighbours in many bits.
  function [31:0] word(input [31:0] i);
    word = i * 32'h9e3779b1;
  endfunction

  asyncfifo #(.WIDTH(32), .LOG(4), .BLOCK(BLOCK)) fifo (
    .wclk(wclk), .wrst(wrst), .wvalid(wvalid), .wdata(word(wi)), .wready(wready), .wlow(wlow),
    .rclk(rclk), .rrst(rrst), .rready(rready), .rvalid(rvalid), .rdata(rdata)
  );

  initial begin
    if (!$value$plusargs("words=%d", words)) $finish;
    if (!$value$plusargs("wps=%d", wps)) $finish;
    if (!$value$plusargs("rps=%d", rps)) $finish;
    if (!$value$plusargs("wgaps=%d", wgaps)) $finish;
    if (!$value$plusargs("rgaps=%d", rgaps)) $finish;
    if (!$value$plusargs("seed=%d", seed)) $finish;
    wnow = wps;
    rnow = rps;
    fork
      forever begin
        wnow = wander(wnow, wps);
        #(wnow / 2) wclk = 1;
        #(wnow - wnow / 2) wclk = 0;
      end
      forever begin
        rnow = wander(rnow, rps);
        #(rnow / 2) rclk = 1;
        #(rnow - rnow / 2) rclk = 0;
      end
      begin
        #(8 * (wps + rps)) wrst = 0;
        rrst = 0;
      end
    join
  end

  // A period changes by at most 3 ps in a clock, and stays within 1 % of its mean.
  function integer wander(input integer now, input integer mean);
    begin
      wander = now + $unsigned($random(seed)) % 7 - 3;
      if (wander * 100 > mean * 101 || wander * 100 < mean * 99) wander = now;
    end
  endfunction

  always @(posedge wclk) begin
    if (wvalid && wready) wi <= wi + 1;
    if (wvalid && !wready && !wrst) fulls = fulls + 1;
    if (wlow && !wrst) lows = lows + 1;
    // 8 places, two words written since, and two that were read from the memory.
    if (wlow && !wrst && wi - ri >= 13) begin
      $display("low with %0d words", wi - ri);
      $finish;
    end
    wvalid <= !wrst && $unsigned($random(seed)) % 256 >= wgaps;
  end

  always @(posedge rclk) begin
    if (rready && rvalid) begin
      if (rdata !== word(ri)) begin
        $display("word %0d is %h, want %h", ri, rdata, word(ri));
        $finish;
      end
      ri <= ri + 1;
      if (ri + 1 == words) begin
        $display("ok, full %0d, empty %0d, low %0d", fulls, empties, lows);
        $finish;
      end
    end
    if (rready && !rvalid && !rrst) empties = empties + 1;
    rready <= !rrst && $unsigned($random(seed)) % 256 >= rgaps;
  end

  // A queue that stops ends the run.
  initial begin
    #1;
    forever begin : watch
      reg [31:0] before;
      before = ri;
      #(2000 * (wps + rps));
      if (ri == before) begin
        $display("stopped after %0d words", ri);
        $finish;
      end
    end
  end
endmodule
