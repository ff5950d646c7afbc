// sample_flow: Flow at rtl/verilog/testdata/sample/sample.go:57. Generated; change the Go source.
// Registers:
//   Mode    [1:0]  rtl/verilog/testdata/sample/sample.go:58
//   Count  [31:0]  rtl/verilog/testdata/sample/sample.go:59
//   Last    [7:0]  rtl/verilog/testdata/sample/sample.go:60
//   Sum    [15:0]  rtl/verilog/testdata/sample/sample.go:61
module sample_flow (
  input wire clk,
  input wire rst,
  input wire [7:0] a,
  input wire [7:0] b,
  input wire go1
);
  // mode at rtl/verilog/testdata/sample/sample.go:49.
  localparam [1:0]
    modeA = 2'd0,
    modeB = 2'd1,
    modeC = 2'd2,
    modeD = 2'd3;
  reg [1:0] Mode;
  reg [31:0] Count;
  reg [7:0] Last;
  reg [15:0] Sum;
  reg [1:0] n_Mode;
  reg [31:0] n_Count;
  reg [31:0] d_Count;
  reg [7:0] n_Last;
  reg [15:0] n_Sum;
  reg [1:0] Tick_was;
  reg [7:0] first_a;
  reg [15:0] sum_a_s;
  reg [7:0] partial_a_result0;
  reg partial_a_result1;
  reg partial_a_done;
  reg partial_a_done_2;
  reg [7:0] Tick_v;
  reg w_Mode;
  reg w_Count;

  (* src = "rtl/verilog/testdata/sample/sample.go:69" *)
  always @* begin
    n_Mode = 2'bx;
    n_Count = Count;
    d_Count = 32'bx;
    n_Last = Last;
    n_Sum = Sum;
    first_a = 8'd0;
    partial_a_result0 = 8'd0;
    partial_a_result1 = 1'b0;
    partial_a_done_2 = 1'b0;
    w_Mode = 1'b0;
    w_Count = 1'b0;
    // src rtl/verilog/testdata/sample/sample.go:70
    Tick_was = Mode;
    // src rtl/verilog/testdata/sample/sample.go:71
    case (Mode)
    modeA, modeB: begin
      // src rtl/verilog/testdata/sample/sample.go:73
      if (go1) begin
        // src rtl/verilog/testdata/sample/sample.go:74
        n_Mode = Mode + modeB;
        w_Mode = 1'b1;
      end
      // src rtl/verilog/testdata/sample/sample.go:76
      n_Count = Count + 32'd1;
      d_Count = n_Count;
      w_Count = 1'b1;
    end
    modeC: begin
      // src rtl/verilog/testdata/sample/sample.go:102
      if ((a & 8'd1) == 8'd0) begin
        // src rtl/verilog/testdata/sample/sample.go:105
        n_Mode = modeD;
        w_Mode = 1'b1;
        // src rtl/verilog/testdata/sample/sample.go:106
        n_Count = Count - 32'd1;
        d_Count = n_Count;
        w_Count = 1'b1;
      end
    end
    default: begin
      // src rtl/verilog/testdata/sample/sample.go:80
      n_Mode = modeA;
      w_Mode = 1'b1;
    end
    endcase
    // src rtl/verilog/testdata/sample/sample.go:113
    if (((a & 8'd1) != 8'd0) && ((b & 8'd1) == 8'd0)) begin
      // src rtl/verilog/testdata/sample/sample.go:114
      first_a = 8'd0;
    end else if ((((a >> 1) & 8'd1) != 8'd0) &&
        (((b >> 1) & 8'd1) == 8'd0)) begin // src rtl/verilog/testdata/sample/sample.go:113
      // src rtl/verilog/testdata/sample/sample.go:114
      first_a = 8'd1;
    end else if ((((a >> 2) & 8'd1) != 8'd0) &&
        (((b >> 2) & 8'd1) == 8'd0)) begin // src rtl/verilog/testdata/sample/sample.go:113
      // src rtl/verilog/testdata/sample/sample.go:114
      first_a = 8'd2;
    end else if ((((a >> 3) & 8'd1) != 8'd0) &&
        (((b >> 3) & 8'd1) == 8'd0)) begin // src rtl/verilog/testdata/sample/sample.go:113
      // src rtl/verilog/testdata/sample/sample.go:114
      first_a = 8'd3;
    end else if ((((a >> 4) & 8'd1) != 8'd0) &&
        (((b >> 4) & 8'd1) == 8'd0)) begin // src rtl/verilog/testdata/sample/sample.go:113
      // src rtl/verilog/testdata/sample/sample.go:114
      first_a = 8'd4;
    end else if ((((a >> 5) & 8'd1) != 8'd0) &&
        (((b >> 5) & 8'd1) == 8'd0)) begin // src rtl/verilog/testdata/sample/sample.go:113
      // src rtl/verilog/testdata/sample/sample.go:114
      first_a = 8'd5;
    end else if ((((a >> 6) & 8'd1) != 8'd0) &&
        (((b >> 6) & 8'd1) == 8'd0)) begin // src rtl/verilog/testdata/sample/sample.go:113
      // src rtl/verilog/testdata/sample/sample.go:114
      first_a = 8'd6;
    end else if ((((a >> 7) & 8'd1) != 8'd0) &&
        (((b >> 7) & 8'd1) == 8'd0)) begin // src rtl/verilog/testdata/sample/sample.go:113
      // src rtl/verilog/testdata/sample/sample.go:114
      first_a = 8'd7;
    end else begin
      // src rtl/verilog/testdata/sample/sample.go:117
      first_a = 8'hff;
    end
    // src rtl/verilog/testdata/sample/sample.go:82
    n_Last = first_a;
    // src rtl/verilog/testdata/sample/sample.go:83
    sum_a_s = 16'd0;
    // src rtl/verilog/testdata/sample/sample.go:122
    sum_a_s = sum_a_s + {8'd0, a};
    sum_a_s = sum_a_s + ({8'd0, a} >> 1);
    sum_a_s = sum_a_s + ({8'd0, a} >> 2);
    sum_a_s = sum_a_s + ({8'd0, a} >> 3);
    // src rtl/verilog/testdata/sample/sample.go:125
    sum_a_s = sum_a_s ^ ({8'd0, b} << 8);
    sum_a_s = sum_a_s ^ ({8'd0, b} << 5);
    sum_a_s = sum_a_s ^ ({8'd0, b} << 2);
    // src rtl/verilog/testdata/sample/sample.go:83
    n_Sum = sum_a_s;
    // src rtl/verilog/testdata/sample/sample.go:132
    partial_a_done = 1'b0;
    if (a > 8'h64) begin
      // src rtl/verilog/testdata/sample/sample.go:133
      if (b > 8'h64) begin
        // src rtl/verilog/testdata/sample/sample.go:134
        partial_a_result0 = 8'd1;
        partial_a_result1 = 1'b1;
        partial_a_done = 1'b1;
      end
    end else if ((b & 8'd3) == 8'd2) begin // src rtl/verilog/testdata/sample/sample.go:136
      // src rtl/verilog/testdata/sample/sample.go:137
      partial_a_result0 = b;
      partial_a_result1 = 1'b0;
      partial_a_done = 1'b1;
    end
    // src rtl/verilog/testdata/sample/sample.go:132
    if (!partial_a_done) begin
      // src rtl/verilog/testdata/sample/sample.go:139
      partial_a_done_2 = 1'b0;
      // src rtl/verilog/testdata/sample/sample.go:140
      if (a == b) begin
        // src rtl/verilog/testdata/sample/sample.go:141
        partial_a_result0 = 8'd3;
        partial_a_result1 = 1'b1;
        partial_a_done_2 = 1'b1;
      end else if ((a & b) != 8'd0) begin // src rtl/verilog/testdata/sample/sample.go:142
        // src rtl/verilog/testdata/sample/sample.go:144
        if (b > 8'hc8) begin
          // src rtl/verilog/testdata/sample/sample.go:145
          partial_a_result0 = 8'd4;
          partial_a_result1 = 1'b0;
          partial_a_done_2 = 1'b1;
        end
      end
      // src rtl/verilog/testdata/sample/sample.go:139
      if (!partial_a_done_2) begin
        // src rtl/verilog/testdata/sample/sample.go:148
        partial_a_result0 = a + b;
        partial_a_result1 = (a & 8'd1) != 8'd0;
      end
    end
    // src rtl/verilog/testdata/sample/sample.go:84
    if (partial_a_result1 && (Tick_was != modeD)) begin
      // src rtl/verilog/testdata/sample/sample.go:85
      n_Last = n_Last ^ partial_a_result0;
    end else if (go1) begin // src rtl/verilog/testdata/sample/sample.go:86
      // src rtl/verilog/testdata/sample/sample.go:87
      n_Last = n_Last + 8'd1;
    end
    // src rtl/verilog/testdata/sample/sample.go:89
    Tick_v = a & 8'd7;
    // src rtl/verilog/testdata/sample/sample.go:90
    if (Tick_v > 8'd5) begin
      // src rtl/verilog/testdata/sample/sample.go:91
      n_Count = n_Count ^ 32'hff;
      d_Count = n_Count;
      w_Count = 1'b1;
    end else if (a < b) begin // src rtl/verilog/testdata/sample/sample.go:92
      // src rtl/verilog/testdata/sample/sample.go:93
      n_Count = n_Count ^ 32'hff00;
      d_Count = n_Count;
      w_Count = 1'b1;
    end
  end

  initial Count = 32'd0;

  (* src = "rtl/verilog/testdata/sample/sample.go:57" *)
  always @(posedge clk) begin
    if (w_Mode || rst) Mode <= rst ? modeB : n_Mode;
    if (w_Count && !rst) Count <= d_Count;
    Last <= rst ? 8'd1 : n_Last;
    Sum <= rst ? 16'd2 : n_Sum;
  end
endmodule
