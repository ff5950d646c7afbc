// sample_arith: Arith at rtl/verilog/testdata/sample/sample.go:12. Generated; change the Go source.
// Registers:
//   A8     [7:0]  rtl/verilog/testdata/sample/sample.go:13
//   B16   [15:0]  rtl/verilog/testdata/sample/sample.go:14
//   C32   [31:0]  rtl/verilog/testdata/sample/sample.go:15
//   D64   [63:0]  rtl/verilog/testdata/sample/sample.go:16
//   Odd    [4:0]  rtl/verilog/testdata/sample/sample.go:17
//   Wide  [34:0]  rtl/verilog/testdata/sample/sample.go:18
//   Flag          rtl/verilog/testdata/sample/sample.go:19
//   Ones   [7:0]  rtl/verilog/testdata/sample/sample.go:20
module sample_arith (
  input wire clk,
  input wire rst,
  input wire [7:0] a,
  input wire [7:0] b,
  input wire [15:0] c,
  input wire [31:0] d,
  input wire [63:0] e,
  input wire f
);
  reg [7:0] A8;
  reg [15:0] B16;
  reg [31:0] C32;
  reg [63:0] D64;
  reg [4:0] Odd;
  reg [34:0] Wide;
  reg Flag;
  reg [7:0] Ones;
  reg [7:0] n_A8;
  reg [15:0] n_B16;
  reg [31:0] n_C32;
  reg [63:0] n_D64;
  reg [4:0] n_Odd;
  reg [34:0] n_Wide;
  reg n_Flag;
  reg [7:0] n_Ones;

  (* src = "rtl/verilog/testdata/sample/sample.go:24" *)
  always @* begin
    n_A8 = A8;
    n_B16 = B16;
    n_C32 = C32;
    n_D64 = D64;
    n_Odd = Odd;
    n_Wide = Wide;
    n_Flag = Flag;
    n_Ones = Ones;
    // src rtl/verilog/testdata/sample/sample.go:25
    n_A8 = (a + (b * 8'd3)) - (A8 >> (b & 8'hf));
    // src rtl/verilog/testdata/sample/sample.go:26
    n_B16 = (({8'd0, a} << 8) | {8'd0, b}) ^ (c & 16'hff0f);
    // src rtl/verilog/testdata/sample/sample.go:27
    n_C32 = (d - {16'd0, c}) + ({24'd0, a} << (a & 8'h3f));
    // src rtl/verilog/testdata/sample/sample.go:28
    n_D64 = ((e * {32'd0, d}) ^ (~D64 >> (8'd8 * b))) | ({56'd0, (a >> 4)} << 60);
    // src rtl/verilog/testdata/sample/sample.go:29
    n_Odd = d[11:7];
    // src rtl/verilog/testdata/sample/sample.go:30
    n_Wide = (Wide << 1) + (e[34:0] & 35'h3ff);
    // src rtl/verilog/testdata/sample/sample.go:31
    n_Flag = (f != (a < b)) && ((({8'd0, n_A8} <= c) || (d <= 32'h80000000)) == !Flag);
    // src rtl/verilog/testdata/sample/sample.go:32
    n_Ones = (d[7:0] & 8'd1) + (d[8:1] & 8'd1) + (d[9:2] & 8'd1) + (d[10:3] & 8'd1) + (d[11:4] & 8'd1) +
        (d[12:5] & 8'd1) + (d[13:6] & 8'd1) + (d[14:7] & 8'd1) + (d[15:8] & 8'd1) + (d[16:9] & 8'd1) +
        (d[17:10] & 8'd1) + (d[18:11] & 8'd1) + (d[19:12] & 8'd1) + (d[20:13] & 8'd1) + (d[21:14] & 8'd1) +
        (d[22:15] & 8'd1) + (d[23:16] & 8'd1) + (d[24:17] & 8'd1) + (d[25:18] & 8'd1) + (d[26:19] & 8'd1) +
        (d[27:20] & 8'd1) + (d[28:21] & 8'd1) + (d[29:22] & 8'd1) + (d[30:23] & 8'd1) + (d[31:24] & 8'd1) +
        ({1'b0, d[31:25]} & 8'd1) + ({2'd0, d[31:26]} & 8'd1) + ({3'd0, d[31:27]} & 8'd1) + ({4'd0, d[31:28]} & 8'd1) +
        ({5'd0, d[31:29]} & 8'd1) + ({6'd0, d[31:30]} & 8'd1) + ({7'd0, d[31]} & 8'd1) +
        ((((a < b) ? a : b) < 8'd9) ? ((a < b) ? a : b) : 8'd9) + ((a > 8'd3) ? a : 8'd3);
    // src rtl/verilog/testdata/sample/sample.go:33
    n_A8 = n_A8 & ~c[7:0];
    // src rtl/verilog/testdata/sample/sample.go:34
    n_B16 = n_B16 - 16'd1;
    // src rtl/verilog/testdata/sample/sample.go:35
    n_C32 = n_C32 + 32'd1;
    // src rtl/verilog/testdata/sample/sample.go:36
    n_C32 = n_C32 << 1;
  end

  (* src = "rtl/verilog/testdata/sample/sample.go:12" *)
  always @(posedge clk) begin
    A8 <= rst ? 8'd7 : n_A8;
    B16 <= rst ? 16'd0 : n_B16;
    C32 <= rst ? 32'd0 : n_C32;
    D64 <= rst ? 64'd0 : n_D64;
    Odd <= rst ? 5'd0 : n_Odd;
    Wide <= rst ? 35'd0 : n_Wide;
    Flag <= rst ? 1'b1 : n_Flag;
    Ones <= rst ? 8'd0 : n_Ones;
  end
endmodule
