// sample_record: Record at rtl/verilog/testdata/sample/sample.go:157. Generated; change the Go source.
// Registers:
//   p_X_2    [15:0]  rtl/verilog/testdata/sample/sample.go:152
//   p_Y_2    [15:0]  rtl/verilog/testdata/sample/sample.go:152
//   p_On_2           rtl/verilog/testdata/sample/sample.go:153
//   q_X      [15:0]  rtl/verilog/testdata/sample/sample.go:152
//   q_Y      [15:0]  rtl/verilog/testdata/sample/sample.go:152
//   q_On             rtl/verilog/testdata/sample/sample.go:153
//   tab_0     [7:0]  rtl/verilog/testdata/sample/sample.go:159
//   tab_1     [7:0]  rtl/verilog/testdata/sample/sample.go:159
//   tab_2     [7:0]  rtl/verilog/testdata/sample/sample.go:159
//   tab_3     [7:0]  rtl/verilog/testdata/sample/sample.go:159
//   bit_0            rtl/verilog/testdata/sample/sample.go:160
//   bit_1            rtl/verilog/testdata/sample/sample.go:160
//   bit_2            rtl/verilog/testdata/sample/sample.go:160
//   bit_3            rtl/verilog/testdata/sample/sample.go:160
//   bit_4            rtl/verilog/testdata/sample/sample.go:160
//   bit_5            rtl/verilog/testdata/sample/sample.go:160
//   bit_6            rtl/verilog/testdata/sample/sample.go:160
//   bit_7            rtl/verilog/testdata/sample/sample.go:160
//   pts_0_U   [7:0]  rtl/verilog/testdata/sample/sample.go:161
//   pts_0_V   [7:0]  rtl/verilog/testdata/sample/sample.go:161
//   pts_1_U   [7:0]  rtl/verilog/testdata/sample/sample.go:161
//   n         [2:0]  rtl/verilog/testdata/sample/sample.go:162
module sample_record (
  input wire clk,
  input wire rst,
  input wire [15:0] p_X,
  input wire [15:0] p_Y,
  input wire p_On,
  input wire [7:0] i,
  input wire [7:0] v,
  input wire swap
);
  reg [15:0] p_X_2;
  reg [15:0] p_Y_2;
  reg p_On_2;
  reg [15:0] q_X;
  reg [15:0] q_Y;
  reg q_On;
  reg [7:0] tab_0;
  reg [7:0] tab_1;
  reg [7:0] tab_2;
  reg [7:0] tab_3;
  reg bit_0;
  reg bit_1;
  reg bit_2;
  reg bit_3;
  reg bit_4;
  reg bit_5;
  reg bit_6;
  reg bit_7;
  reg [7:0] pts_0_U;
  reg [7:0] pts_0_V;
  reg [7:0] pts_1_U;
  reg [2:0] n;
  reg [15:0] n_p_X_2;
  reg [15:0] d_p_X_2;
  reg [15:0] n_p_Y_2;
  reg [15:0] d_p_Y_2;
  reg n_p_On_2;
  reg d_p_On_2;
  reg [15:0] n_q_X;
  reg [15:0] d_q_X;
  reg [15:0] n_q_Y;
  reg n_q_On;
  reg d_q_On;
  reg [7:0] n_tab_0;
  reg [7:0] d_tab_0;
  reg [7:0] n_tab_1;
  reg [7:0] n_tab_2;
  reg [7:0] d_tab_2;
  reg [7:0] n_tab_3;
  reg [7:0] d_tab_3;
  reg n_bit_0;
  reg n_bit_1;
  reg n_bit_2;
  reg n_bit_3;
  reg n_bit_4;
  reg n_bit_5;
  reg n_bit_6;
  reg n_bit_7;
  reg [7:0] n_pts_0_U;
  reg [7:0] d_pts_0_U;
  reg [7:0] n_pts_0_V;
  reg [7:0] n_pts_1_U;
  reg [7:0] d_pts_1_U;
  reg [2:0] n_n;
  reg [15:0] Tick_old_X;
  reg [15:0] Tick_old_Y;
  reg Tick_old_On;
  reg [15:0] Tick_t;
  reg [15:0] Tick_t_2;
  reg Tick_t_3;
  reg [7:0] Tick_index;
  reg [7:0] Tick_index_2;
  reg [7:0] Tick_elem;
  reg [7:0] Tick_index_3;
  reg Tick_elem_2;
  reg Tick_elem_3;
  reg [7:0] Tick_index_4;
  reg [7:0] Tick_index_5;
  reg [7:0] Tick_elem_4;
  reg [15:0] moved_q_p_X;
  reg [15:0] moved_q_p_Y;
  reg moved_q_p_On;
  reg moved_q_On;
  reg [15:0] shift_q_t;
  reg [15:0] Tick_local_X;
  reg [15:0] Tick_local_Y;
  reg [15:0] shift_t;
  reg w_p_X_2;
  reg w_q_X;
  reg w_q_On;
  reg w_tab_0;
  reg w_tab_2;
  reg w_tab_3;
  reg w_bit_0;
  reg w_bit_1;
  reg w_bit_2;
  reg w_bit_3;
  reg w_bit_4;
  reg w_bit_5;
  reg w_bit_6;
  reg w_bit_7;
  reg w_pts_0_U;
  reg w_pts_1_U;

  (* src = "rtl/verilog/testdata/sample/sample.go:166" *)
  always @* begin
    n_p_X_2 = p_X_2;
    d_p_X_2 = 16'bx;
    n_p_Y_2 = p_Y_2;
    d_p_Y_2 = 16'bx;
    n_p_On_2 = p_On_2;
    d_p_On_2 = 1'bx;
    n_q_X = q_X;
    d_q_X = 16'bx;
    n_q_Y = q_Y;
    n_q_On = q_On;
    d_q_On = 1'bx;
    n_tab_0 = tab_0;
    d_tab_0 = 8'bx;
    n_tab_1 = tab_1;
    n_tab_2 = tab_2;
    d_tab_2 = 8'bx;
    n_tab_3 = tab_3;
    d_tab_3 = 8'bx;
    n_bit_0 = 1'bx;
    n_bit_1 = 1'bx;
    n_bit_2 = 1'bx;
    n_bit_3 = 1'bx;
    n_bit_4 = 1'bx;
    n_bit_5 = 1'bx;
    n_bit_6 = 1'bx;
    n_bit_7 = 1'bx;
    n_pts_0_U = pts_0_U;
    d_pts_0_U = 8'bx;
    n_pts_0_V = pts_0_V;
    n_pts_1_U = pts_1_U;
    d_pts_1_U = 8'bx;
    n_n = n;
    Tick_t = 16'd0;
    Tick_t_2 = 16'd0;
    Tick_t_3 = 1'b0;
    Tick_elem = 8'd0;
    Tick_elem_2 = 1'b0;
    Tick_elem_4 = 8'd0;
    shift_q_t = 16'd0;
    w_p_X_2 = 1'b0;
    w_q_X = 1'b0;
    w_q_On = 1'b0;
    w_tab_0 = 1'b0;
    w_tab_2 = 1'b0;
    w_tab_3 = 1'b0;
    w_bit_0 = 1'b0;
    w_bit_1 = 1'b0;
    w_bit_2 = 1'b0;
    w_bit_3 = 1'b0;
    w_bit_4 = 1'b0;
    w_bit_5 = 1'b0;
    w_bit_6 = 1'b0;
    w_bit_7 = 1'b0;
    w_pts_0_U = 1'b0;
    w_pts_1_U = 1'b0;
    // src rtl/verilog/testdata/sample/sample.go:167
    Tick_old_X = p_X_2;
    Tick_old_Y = p_Y_2;
    Tick_old_On = p_On_2;
    // src rtl/verilog/testdata/sample/sample.go:168
    if (swap) begin
      // src rtl/verilog/testdata/sample/sample.go:169
      Tick_t = p_X_2;
      Tick_t_2 = p_Y_2;
      Tick_t_3 = p_On_2;
      n_p_X_2 = q_X;
      d_p_X_2 = n_p_X_2;
      w_p_X_2 = 1'b1;
      n_p_Y_2 = q_Y;
      d_p_Y_2 = n_p_Y_2;
      n_p_On_2 = q_On;
      d_p_On_2 = n_p_On_2;
      n_q_X = Tick_t;
      d_q_X = n_q_X;
      w_q_X = 1'b1;
      n_q_Y = Tick_t_2;
      n_q_On = Tick_t_3;
      d_q_On = n_q_On;
      w_q_On = 1'b1;
    end else begin
      // src rtl/verilog/testdata/sample/sample.go:171
      n_p_X_2 = p_X;
      d_p_X_2 = n_p_X_2;
      w_p_X_2 = 1'b1;
      n_p_Y_2 = p_Y;
      d_p_Y_2 = n_p_Y_2;
      n_p_On_2 = p_On;
      d_p_On_2 = n_p_On_2;
    end
    // src rtl/verilog/testdata/sample/sample.go:173
    Tick_index = i & 8'd3;
    case (Tick_index)
    8'd0: begin
      n_tab_0 = v;
      d_tab_0 = n_tab_0;
      w_tab_0 = 1'b1;
    end
    8'd1: begin
      n_tab_1 = v;
    end
    8'd2: begin
      n_tab_2 = v;
      d_tab_2 = n_tab_2;
      w_tab_2 = 1'b1;
    end
    8'd3: begin
      n_tab_3 = v;
      d_tab_3 = n_tab_3;
      w_tab_3 = 1'b1;
    end
    default: begin
    end
    endcase
    // src rtl/verilog/testdata/sample/sample.go:174
    Tick_index_2 = (i >> 2) & 8'd3;
    case (Tick_index_2)
    8'd0: begin
      Tick_elem = n_tab_0;
    end
    8'd1: begin
      Tick_elem = n_tab_1;
    end
    8'd2: begin
      Tick_elem = n_tab_2;
    end
    default: begin
      Tick_elem = n_tab_3;
    end
    endcase
    n_tab_1 = n_tab_1 + Tick_elem;
    // src rtl/verilog/testdata/sample/sample.go:175
    Tick_index_3 = i & 8'd7;
    case (Tick_index_3)
    8'd0: begin
      Tick_elem_2 = bit_0;
    end
    8'd1: begin
      Tick_elem_2 = bit_1;
    end
    8'd2: begin
      Tick_elem_2 = bit_2;
    end
    8'd3: begin
      Tick_elem_2 = bit_3;
    end
    8'd4: begin
      Tick_elem_2 = bit_4;
    end
    8'd5: begin
      Tick_elem_2 = bit_5;
    end
    8'd6: begin
      Tick_elem_2 = bit_6;
    end
    default: begin
      Tick_elem_2 = bit_7;
    end
    endcase
    Tick_elem_3 = !Tick_elem_2;
    case (n)
    3'd0: begin
      n_bit_0 = Tick_elem_3;
      w_bit_0 = 1'b1;
    end
    3'd1: begin
      n_bit_1 = Tick_elem_3;
      w_bit_1 = 1'b1;
    end
    3'd2: begin
      n_bit_2 = Tick_elem_3;
      w_bit_2 = 1'b1;
    end
    3'd3: begin
      n_bit_3 = Tick_elem_3;
      w_bit_3 = 1'b1;
    end
    3'd4: begin
      n_bit_4 = Tick_elem_3;
      w_bit_4 = 1'b1;
    end
    3'd5: begin
      n_bit_5 = Tick_elem_3;
      w_bit_5 = 1'b1;
    end
    3'd6: begin
      n_bit_6 = Tick_elem_3;
      w_bit_6 = 1'b1;
    end
    3'd7: begin
      n_bit_7 = Tick_elem_3;
      w_bit_7 = 1'b1;
    end
    default: begin
    end
    endcase
    // src rtl/verilog/testdata/sample/sample.go:176
    Tick_index_4 = i >> 7;
    case (Tick_index_4)
    8'd0: begin
      n_pts_0_U = v;
      d_pts_0_U = n_pts_0_U;
      w_pts_0_U = 1'b1;
    end
    8'd1: begin
      n_pts_1_U = v;
      d_pts_1_U = n_pts_1_U;
      w_pts_1_U = 1'b1;
    end
    default: begin
    end
    endcase
    // src rtl/verilog/testdata/sample/sample.go:177
    Tick_index_5 = (i >> 6) & 8'd1;
    case (Tick_index_5)
    8'd0: begin
      Tick_elem_4 = n_pts_0_U;
    end
    default: begin
      Tick_elem_4 = n_pts_1_U;
    end
    endcase
    n_pts_0_V = pts_0_V ^ Tick_elem_4;
    // src rtl/verilog/testdata/sample/sample.go:178
    n_n = n + 3'd1;
    // src rtl/verilog/testdata/sample/sample.go:179
    moved_q_p_X = n_q_X;
    moved_q_p_Y = n_q_Y;
    moved_q_p_On = n_q_On;
    // src rtl/verilog/testdata/sample/sample.go:189
    moved_q_p_X = moved_q_p_X + 16'd1;
    // src rtl/verilog/testdata/sample/sample.go:190
    moved_q_p_On = moved_q_p_Y < moved_q_p_X;
    // src rtl/verilog/testdata/sample/sample.go:191
    moved_q_On = moved_q_p_On;
    // src rtl/verilog/testdata/sample/sample.go:179
    if (((Tick_old_X == n_p_X_2) && (Tick_old_Y == n_p_Y_2) && (Tick_old_On == n_p_On_2)) ||
        (!((n_q_X == 16'd1) && (n_q_Y == 16'd0) && !n_q_On) && moved_q_On)) begin
      // src rtl/verilog/testdata/sample/sample.go:194
      shift_q_t = n_q_X;
      n_q_X = n_q_Y + {8'd0, v};
      d_q_X = n_q_X;
      w_q_X = 1'b1;
      n_q_Y = shift_q_t;
    end
    // src rtl/verilog/testdata/sample/sample.go:182
    Tick_local_X = n_q_X;
    Tick_local_Y = n_q_Y;
    // src rtl/verilog/testdata/sample/sample.go:194
    shift_t = Tick_local_X;
    Tick_local_X = Tick_local_Y + 16'd3;
    Tick_local_Y = shift_t;
    // src rtl/verilog/testdata/sample/sample.go:184
    n_q_Y = Tick_local_X;
  end

  (* src = "rtl/verilog/testdata/sample/sample.go:157" *)
  always @(posedge clk) begin
    if (w_p_X_2 || rst) p_X_2 <= rst ? 16'd5 : d_p_X_2;
    if (w_p_X_2 || rst) p_Y_2 <= rst ? 16'd6 : d_p_Y_2;
    if (w_p_X_2 || rst) p_On_2 <= rst ? 1'b1 : d_p_On_2;
    if (w_q_X || rst) q_X <= rst ? 16'd0 : d_q_X;
    q_Y <= rst ? 16'd0 : n_q_Y;
    if (w_q_On || rst) q_On <= rst ? 1'b0 : d_q_On;
    if (w_tab_0 || rst) tab_0 <= rst ? 8'd1 : d_tab_0;
    tab_1 <= rst ? 8'd2 : n_tab_1;
    if (w_tab_2 || rst) tab_2 <= rst ? 8'd3 : d_tab_2;
    if (w_tab_3 || rst) tab_3 <= rst ? 8'd4 : d_tab_3;
    if (w_bit_0 || rst) bit_0 <= rst ? 1'b0 : n_bit_0;
    if (w_bit_1 || rst) bit_1 <= rst ? 1'b1 : n_bit_1;
    if (w_bit_2 || rst) bit_2 <= rst ? 1'b0 : n_bit_2;
    if (w_bit_3 || rst) bit_3 <= rst ? 1'b1 : n_bit_3;
    if (w_bit_4 || rst) bit_4 <= rst ? 1'b0 : n_bit_4;
    if (w_bit_5 || rst) bit_5 <= rst ? 1'b1 : n_bit_5;
    if (w_bit_6 || rst) bit_6 <= rst ? 1'b0 : n_bit_6;
    if (w_bit_7 || rst) bit_7 <= rst ? 1'b1 : n_bit_7;
    if (w_pts_0_U || rst) pts_0_U <= rst ? 8'd0 : d_pts_0_U;
    pts_0_V <= rst ? 8'd0 : n_pts_0_V;
    if (w_pts_1_U || rst) pts_1_U <= rst ? 8'd0 : d_pts_1_U;
    n <= rst ? 3'd0 : n_n;
  end
endmodule
