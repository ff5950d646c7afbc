// In place of the design, for synthesis: registers at its ports.
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
  reg [11:0] r = 12'd0;
  always @(posedge clk) begin
    if (rst) r <= 12'd0;
    else if (ready) r <= {rx_Valid, rx_End, rx_Error, rx_Valid && ready, rx_Data};
  end
  assign {Symbol_valid, Symbol_s_Enable, Symbol_s_Last} = r[11:9];
  assign Symbol_s_Data = r[7:0];
  assign LEDs = {7'd0, r[8]};
endmodule
