// The shell of the ULX3S: its reset and its pins. The clock of the board is that of the
// design. board.vh has the names of the ports of the design.
`include "board.vh"
module shell (
  input  wire       clk25,
  input  wire       uart_rx,
  output wire       uart_tx,
  output wire       wifi_gpio0,
  output wire [7:0] led
);
  // The ESP32 starts its own firmware, which can configure the FPGA anew, when this is low.
  assign wifi_gpio0 = 1'b1;

  // The reset ends 512 clocks, 20 us, after configuration.
  reg [9:0] count = 10'd0;
  reg       rst   = 1'b1;
  always @(posedge clk25) begin
    if (!count[9]) count <= count + 10'd1;
    rst <= !count[9];
  end

  wire [7:0] lights;
  assign led = lights;

  ulx3s top (
    .clk(clk25),
    .rst(rst),
    .`TOP_rx (uart_rx),
    .`TOP_Line (uart_tx),
    .`TOP_LEDs (lights)
  );
endmodule
