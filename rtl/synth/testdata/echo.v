// A board that returns each byte of its UART plus 1. LEDs show the last one.
`include "board.vh"
module shell (
  input  wire       clk12,
  input  wire       uart_rx,
  output wire       uart_tx,
  output wire [7:0] led
);
  wire clk;
  wire locked;
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

  reg [3:0] count = 4'd0;
  wire rst = !count[3];
  always @(posedge clk) if (locked && rst) count <= count + 4'd1;

  wire got, ready;
  wire [7:0] received;
  reg        have = 1'b0;
  reg  [7:0] kept = 8'd0;
  always @(posedge clk) begin
    if (rst) have <= 1'b0;
    else if (got) begin
      have <= 1'b1;
      kept <= received + 8'd1;
    end else if (ready) have <= 1'b0;
  end
  assign led = kept;

  uart top (
    .clk(clk),
    .rst(rst),
    .line(uart_rx),
    .period(32'd224),
    .tx(have),
    .data(kept),
    .Line(uart_tx),
    .Received_valid_2(got),
    .Received_data_2(received),
    .Ready(ready)
  );
endmodule
