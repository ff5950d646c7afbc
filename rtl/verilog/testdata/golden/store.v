// sample_store: Store at rtl/verilog/testdata/sample/sample.go:206. Generated; change the Go source.
// Registers:
//   prev   [2:0]  rtl/verilog/testdata/sample/sample.go:212
//   seen  [63:0]  rtl/verilog/testdata/sample/sample.go:213
//   two           rtl/verilog/testdata/sample/sample.go:214
// Memories:
//   ram    [63:0] [0:7]  rtl/verilog/testdata/sample/sample.go:207
//   one    [63:0] [0:3]  rtl/verilog/testdata/sample/sample.go:208
//   in     [32:0] [0:3]  rtl/verilog/testdata/sample/sample.go:209
//   out    [63:0] [0:0]  rtl/verilog/testdata/sample/sample.go:210
//   long  [32:0] [0:15]  rtl/verilog/testdata/sample/sample.go:211
module sample_store (
  input wire clk,
  input wire rst,
  input wire [15:0] p_X,
  input wire [15:0] p_Y,
  input wire p_On,
  input wire push,
  input wire pop,
  input wire [7:0] addr,
  input wire [7:0] enable,
  input wire [63:0] data,
  input wire clear,
  input wire reset
);
  reg [2:0] prev;
  reg [63:0] seen;
  reg two;
  reg [2:0] n_prev;
  reg [63:0] n_seen;
  reg n_two;
  reg ram_read;
  reg [2:0] ram_raddr;
  reg [7:0] ram_enable;
  reg [2:0] ram_waddr;
  reg [63:0] ram_data;
  wire [63:0] ram_q;
  reg one_read;
  reg [1:0] one_raddr;
  reg [7:0] one_enable;
  reg [1:0] one_waddr;
  reg [63:0] one_data;
  wire [63:0] one_q;
  reg in_push;
  reg in_pop;
  reg [15:0] in_data_X;
  reg [15:0] in_data_Y;
  reg in_data_On;
  wire [32:0] in_head;
  reg in_clear0;
  reg in_clear1;
  wire [2:0] in_count;
  reg out_push;
  reg out_pop;
  reg [63:0] out_data;
  wire [63:0] out_head;
  reg out_clear0;
  reg out_clear1;
  wire [1:0] out_count;
  reg long_push;
  reg long_pop;
  reg [15:0] long_data_X;
  reg [15:0] long_data_Y;
  reg long_data_On;
  wire [32:0] long_head;
  reg long_clear0;
  reg long_clear1;
  wire [4:0] long_count;
  reg Tick_push;
  reg [7:0] Tick_enable;
  reg Tick_valid;
  reg Tick_ready;
  reg Tick_room;
  reg [63:0] Tick_word;
  reg Tick_there;
  reg Tick_space;
  reg [31:0] Tick_a;

  hdl_ram #(.WORDS(8), .ADDR(3)) ram (
    .clk(clk),
    .rst(rst),
    .read(ram_read),
    .raddr(ram_raddr),
    .enable(ram_enable),
    .waddr(ram_waddr),
    .data(ram_data),
    .q(ram_q)
  );

  hdl_ram_single #(.WORDS(4), .ADDR(2)) one (
    .clk(clk),
    .rst(rst),
    .read(one_read),
    .raddr(one_raddr),
    .enable(one_enable),
    .waddr(one_waddr),
    .data(one_data),
    .q(one_q)
  );

  hdl_fifo #(.WIDTH(33), .DEPTH(4), .ADDR(2)) in (
    .clk(clk),
    .rst(rst),
    .clear0(in_clear0),
    .clear1(in_clear1),
    .push(in_push),
    .pop(in_pop),
    .data({in_data_On,
      in_data_Y,
      in_data_X}),
    .head(in_head),
    .count(in_count)
  );

  hdl_fifo #(.WIDTH(64), .DEPTH(1), .ADDR(1)) out (
    .clk(clk),
    .rst(rst),
    .clear0(out_clear0),
    .clear1(out_clear1),
    .push(out_push),
    .pop(out_pop),
    .data({out_data}),
    .head(out_head),
    .count(out_count)
  );

  hdl_fifo_block #(.WIDTH(33), .DEPTH(16), .ADDR(4)) long (
    .clk(clk),
    .rst(rst),
    .clear0(long_clear0),
    .clear1(long_clear1),
    .push(long_push),
    .pop(long_pop),
    .data({long_data_On,
      long_data_Y,
      long_data_X}),
    .head(long_head),
    .count(long_count)
  );

  (* src = "rtl/verilog/testdata/sample/sample.go:223" *)
  always @* begin
    n_prev = prev;
    n_seen = seen;
    n_two = two;
    in_clear0 = 1'b0;
    in_clear1 = 1'b0;
    out_clear0 = 1'b0;
    out_clear1 = 1'b0;
    long_clear0 = 1'b0;
    long_clear1 = 1'b0;
    Tick_push = push;
    Tick_enable = enable;
    // src rtl/verilog/testdata/sample/sample.go:224
    Tick_valid = in_count != 3'd0;
    Tick_ready = in_count != 3'd4;
    // src rtl/verilog/testdata/sample/sample.go:225
    Tick_room = out_count != 2'd1;
    // src rtl/verilog/testdata/sample/sample.go:226
    Tick_word = ram_q ^ (one_q << 1);
    // src rtl/verilog/testdata/sample/sample.go:227
    n_seen = (seen << 1) ^ Tick_word ^ {48'd0, in_head[15:0]};
    // src rtl/verilog/testdata/sample/sample.go:228
    Tick_there = long_count != 5'd0;
    Tick_space = long_count != 5'h10;
    // src rtl/verilog/testdata/sample/sample.go:229
    n_seen = n_seen ^ ({48'd0, long_head[31:16]} << 20);
    // src rtl/verilog/testdata/sample/sample.go:230
    n_two = (out_count == 2'd1) != (in_count == 3'd0);
    // src rtl/verilog/testdata/sample/sample.go:231
    Tick_push = Tick_push && Tick_ready;
    // src rtl/verilog/testdata/sample/sample.go:232
    if (reset && ((n_seen & 64'd1) != 64'd0)) begin
      // src rtl/verilog/testdata/sample/sample.go:263
      in_clear0 = 1'b1;
      out_clear0 = 1'b1;
      n_prev = 3'd0;
      n_seen = 64'd0;
      n_two = 1'b0;
      // src rtl/verilog/testdata/sample/sample.go:264
      long_clear0 = 1'b1;
      // src rtl/verilog/testdata/sample/sample.go:234
      Tick_push = !(!in_clear0 && (in_count == 3'd4));
      // src rtl/verilog/testdata/sample/sample.go:235
      Tick_valid = 1'b0;
      Tick_there = 1'b0;
      Tick_space = 1'b1;
    end
    // src rtl/verilog/testdata/sample/sample.go:237
    Tick_a = {24'd0, addr} & 32'd7;
    // src rtl/verilog/testdata/sample/sample.go:238
    if (Tick_a == {29'd0, n_prev}) begin
      // src rtl/verilog/testdata/sample/sample.go:239
      Tick_enable = 8'd0;
    end
    // src rtl/verilog/testdata/sample/sample.go:241
    ram_read = 1'b1;
    ram_raddr = n_prev;
    ram_enable = Tick_enable;
    ram_waddr = Tick_a[2:0];
    ram_data = data;
    // src rtl/verilog/testdata/sample/sample.go:242
    if ((addr & 8'd8) != 8'd0) begin
      // src rtl/verilog/testdata/sample/sample.go:243
      Tick_enable = 8'd0;
    end
    // src rtl/verilog/testdata/sample/sample.go:245
    one_read = (Tick_enable == 8'd0) && ((addr & 8'h10) != 8'd0);
    one_raddr = n_prev[1:0];
    one_enable = Tick_enable;
    one_waddr = Tick_a[1:0];
    one_data = data;
    // src rtl/verilog/testdata/sample/sample.go:246
    in_push = Tick_push;
    in_pop = pop && Tick_valid;
    in_data_X = p_X;
    in_data_Y = p_Y;
    in_data_On = p_On;
    // src rtl/verilog/testdata/sample/sample.go:247
    out_push = Tick_room && ((addr & 8'd3) == 8'd0);
    out_pop = !Tick_room && !(out_clear0 || (out_count == 2'd0));
    out_data = data;
    // src rtl/verilog/testdata/sample/sample.go:248
    long_push = Tick_push && Tick_space;
    long_pop = pop && Tick_there && ((addr & 8'd1) != 8'd0);
    long_data_X = p_X;
    long_data_Y = p_Y;
    long_data_On = p_On;
    // src rtl/verilog/testdata/sample/sample.go:249
    if (clear) begin
      // src rtl/verilog/testdata/sample/sample.go:250
      in_clear1 = 1'b1;
      // src rtl/verilog/testdata/sample/sample.go:251
      if ((addr & 8'd6) == 8'd0) begin
        // src rtl/verilog/testdata/sample/sample.go:252
        long_clear1 = 1'b1;
      end
    end
    // src rtl/verilog/testdata/sample/sample.go:255
    n_prev = Tick_a[2:0];
  end

  (* src = "rtl/verilog/testdata/sample/sample.go:206" *)
  always @(posedge clk) begin
    prev <= rst ? 3'd0 : n_prev;
    seen <= rst ? 64'd0 : n_seen;
    two <= rst ? 1'b0 : n_two;
  end
endmodule
