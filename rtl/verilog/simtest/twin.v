// The twin of the circuit in twin_test.go, written by hand.
module twin_child (
  input clk,
  input rst,
  input step,
  output [11:0] value
);
  reg [11:0] count;
  assign value = count;
  always @(posedge clk) count <= rst ? 12'd5 : step ? count + 12'd1 : count;
endmodule

module twin (
  input clk,
  input rst,
  input en,
  input [63:0] data,
  output [63:0] sum,
  output odd
);
  reg [63:0] acc;
  reg flag_0;
  reg flag_1;
  reg [63:0] ram [0:15];
  reg [69:0] pairs [0:3];
  wire [11:0] value;
  integer i;
  initial begin
    for (i = 0; i < 16; i = i + 1) ram[i] = 64'd0;
    for (i = 0; i < 4; i = i + 1) pairs[i] = 70'd0;
  end
  twin_child child (.clk(clk), .rst(rst), .step(en), .value(value));
  assign sum = acc;
  assign odd = flag_1;
  always @(posedge clk) begin
    acc <= rst ? 64'd0 : en ? acc + data : acc;
    flag_0 <= rst ? 1'd0 : en;
    flag_1 <= rst ? 1'd0 : value[0];
    if (!rst && en) begin
      ram[value[3:0]] <= data;
      pairs[value[1:0]] <= {data, data[4:0], 1'd1};
    end
  end
endmodule
