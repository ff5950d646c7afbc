// In place of the design: prints what it receives, and sends the symbols of a file.
`timescale 1ps / 1ps
module colorlighti5 (
  input  wire       clk,
  input  wire       rst,
  input  wire       rx_Valid,
  input  wire       rx_End,
  input  wire       rx_Error,
  input  wire [7:0] rx_Data,
  input  wire       ready,
  output wire       Symbol_valid,
  output wire       Symbol_s_Enable,
  output wire       Symbol_s_Last,
  output wire [7:0] Symbol_s_Data,
  output wire [7:0] LEDs
);
  // {valid, enable, last, data}; a word that is not valid is a clock without a symbol.
  reg [10:0] symbols [0:65535];
  integer n, i = 0;
  initial begin
    if (!$value$plusargs("symbols=%d", n)) $finish;
    if (n > 0) $readmemh("symbols.hex", symbols, 0, n - 1);
  end
  reg midway = 0; // a frame
  reg was = 0; // rst, in the clock before
  wire [10:0] now = i < n && !rst ? symbols[i] : 11'd0;
  assign #1 {Symbol_valid, Symbol_s_Enable, Symbol_s_Last, Symbol_s_Data} = now;
  assign LEDs = {7'h5a, !rst};

  task take;
    begin
      if (symbols[i][10] && symbols[i][9]) midway = !symbols[i][8];
      i = i + 1;
    end
  endtask
  task skip;
    while (midway && i < n) take;
  endtask

  // A reset drops the rest of a frame.
  always @(posedge clk) begin
    if (rst && !was) $display("reset %0d", i);
    if (rst && midway) skip;
    else if (i < n && !rst && (ready || !Symbol_valid)) take;
    if (rx_Valid && !rst) $display("rx %b %b %h", rx_End, rx_Error, rx_Data);
    was <= rst;
  end
endmodule
