// sample_narrow: Narrow at rtl/verilog/testdata/sample/narrow.go:9. Generated; change the Go source.
// Registers:
//   prev       [2:0]  rtl/verilog/testdata/sample/narrow.go:16
//   low        [7:0]  rtl/verilog/testdata/sample/narrow.go:17
//   half      [15:0]  rtl/verilog/testdata/sample/narrow.go:18
//   entry     [11:0]  rtl/verilog/testdata/sample/narrow.go:19
//   odd               rtl/verilog/testdata/sample/narrow.go:20
//   sum       [63:0]  rtl/verilog/testdata/sample/narrow.go:21
//   fresh_0           rtl/verilog/testdata/sample/narrow.go:22
//   fresh_1           rtl/verilog/testdata/sample/narrow.go:22
//   looked_0          rtl/verilog/testdata/sample/narrow.go:23
//   looked_1          rtl/verilog/testdata/sample/narrow.go:23
// Memories:
//   bytes    [7:0] [0:7]  rtl/verilog/testdata/sample/narrow.go:10
//   halves  [15:0] [0:7]  rtl/verilog/testdata/sample/narrow.go:11
//   words   [31:0] [0:7]  rtl/verilog/testdata/sample/narrow.go:12
//   rom     [11:0] [0:7]  rtl/verilog/testdata/sample/narrow.go:13
//   again   [11:0] [0:7]  rtl/verilog/testdata/sample/narrow.go:14
//   other          [0:4]  rtl/verilog/testdata/sample/narrow.go:15
module sample_narrow (
  input wire clk,
  input wire rst,
  input wire [7:0] addr,
  input wire [7:0] enable,
  input wire [31:0] data,
  input wire read
);
  reg [2:0] prev;
  reg [7:0] low;
  reg [15:0] half;
  reg [11:0] entry;
  reg odd;
  reg [63:0] sum;
  reg fresh_0;
  reg fresh_1;
  reg looked_0;
  reg looked_1;
  reg [2:0] n_prev;
  reg [7:0] n_low;
  reg [15:0] n_half;
  reg [11:0] n_entry;
  reg n_odd;
  reg [63:0] n_sum;
  reg [63:0] d_sum;
  reg n_fresh_0;
  reg n_fresh_1;
  reg n_looked_0;
  reg n_looked_1;
  reg bytes_read;
  reg [2:0] bytes_raddr;
  reg bytes_enable;
  reg [2:0] bytes_waddr;
  reg [7:0] bytes_data;
  wire [7:0] bytes_q;
  reg halves_read;
  reg [2:0] halves_raddr;
  reg [1:0] halves_enable;
  reg [2:0] halves_waddr;
  reg [15:0] halves_data;
  wire [15:0] halves_q;
  reg words_read;
  reg [2:0] words_raddr;
  reg [3:0] words_enable;
  reg [2:0] words_waddr;
  reg [31:0] words_data;
  wire [31:0] words_q;
  reg rom_read;
  reg [2:0] rom_addr;
  wire [11:0] rom_q;
  reg again_read;
  reg [2:0] again_addr;
  wire [11:0] again_q;
  reg other_read;
  reg [2:0] other_addr;
  wire other_q;
  reg [7:0] Tick_enable;
  reg [31:0] Tick_a;
  reg w_low;
  reg w_half;
  reg w_entry;
  reg w_odd;
  reg w_sum;

  hdl_ram_narrow #(.WIDTH(8), .WORDS(8), .ADDR(3)) bytes (
    .clk(clk),
    .rst(rst),
    .read(bytes_read),
    .raddr(bytes_raddr),
    .enable(bytes_enable),
    .waddr(bytes_waddr),
    .data(bytes_data),
    .q(bytes_q)
  );

  hdl_ram_narrow #(.WIDTH(16), .WORDS(8), .ADDR(3)) halves (
    .clk(clk),
    .rst(rst),
    .read(halves_read),
    .raddr(halves_raddr),
    .enable(halves_enable),
    .waddr(halves_waddr),
    .data(halves_data),
    .q(halves_q)
  );

  hdl_ram_narrow #(.WIDTH(32), .WORDS(8), .ADDR(3)) words (
    .clk(clk),
    .rst(rst),
    .read(words_read),
    .raddr(words_raddr),
    .enable(words_enable),
    .waddr(words_waddr),
    .data(words_data),
    .q(words_q)
  );

  hdl_rom_0 rom (
    .clk(clk),
    .rst(rst),
    .read(rom_read),
    .addr(rom_addr),
    .q(rom_q)
  );

  hdl_rom_0 again (
    .clk(clk),
    .rst(rst),
    .read(again_read),
    .addr(again_addr),
    .q(again_q)
  );

  hdl_rom_1 other (
    .clk(clk),
    .rst(rst),
    .read(other_read),
    .addr(other_addr),
    .q(other_q)
  );

  (* src = "rtl/verilog/testdata/sample/narrow.go:39" *)
  always @* begin
    n_prev = prev;
    n_low = 8'bx;
    n_half = 16'bx;
    n_entry = 12'bx;
    n_odd = 1'bx;
    n_sum = sum;
    d_sum = 64'bx;
    n_fresh_0 = fresh_0;
    n_fresh_1 = fresh_1;
    n_looked_0 = looked_0;
    n_looked_1 = looked_1;
    w_low = 1'b0;
    w_half = 1'b0;
    w_entry = 1'b0;
    w_odd = 1'b0;
    w_sum = 1'b0;
    Tick_enable = enable;
    // src rtl/verilog/testdata/sample/narrow.go:40
    if (fresh_0) begin
      // src rtl/verilog/testdata/sample/narrow.go:41
      n_low = bytes_q;
      w_low = 1'b1;
      // src rtl/verilog/testdata/sample/narrow.go:42
      n_sum = sum ^ ({32'd0, words_q} << 7);
      d_sum = n_sum;
      w_sum = 1'b1;
    end
    // src rtl/verilog/testdata/sample/narrow.go:44
    if (fresh_1) begin
      // src rtl/verilog/testdata/sample/narrow.go:45
      n_half = halves_q;
      w_half = 1'b1;
      // src rtl/verilog/testdata/sample/narrow.go:46
      n_sum = (n_sum << 1) ^ {52'd0, again_q};
      d_sum = n_sum;
      w_sum = 1'b1;
    end
    // src rtl/verilog/testdata/sample/narrow.go:48
    if (looked_0) begin
      // src rtl/verilog/testdata/sample/narrow.go:49
      n_entry = rom_q;
      w_entry = 1'b1;
    end
    // src rtl/verilog/testdata/sample/narrow.go:51
    if (looked_1) begin
      // src rtl/verilog/testdata/sample/narrow.go:52
      n_odd = other_q;
      w_odd = 1'b1;
    end
    // src rtl/verilog/testdata/sample/narrow.go:54
    Tick_a = {24'd0, addr} & 32'd7;
    // src rtl/verilog/testdata/sample/narrow.go:55
    n_fresh_0 = read;
    n_fresh_1 = 1'b1;
    n_looked_0 = (addr & 8'd8) != 8'd0;
    n_looked_1 = Tick_a < 32'd5;
    // src rtl/verilog/testdata/sample/narrow.go:56
    if (Tick_a == {29'd0, prev}) begin
      // src rtl/verilog/testdata/sample/narrow.go:57
      Tick_enable = 8'd0;
    end
    // src rtl/verilog/testdata/sample/narrow.go:59
    bytes_read = read;
    bytes_raddr = prev;
    bytes_enable = Tick_enable[0];
    bytes_waddr = Tick_a[2:0];
    bytes_data = data[7:0];
    // src rtl/verilog/testdata/sample/narrow.go:60
    halves_read = 1'b1;
    halves_raddr = prev;
    halves_enable = Tick_enable[1:0];
    halves_waddr = Tick_a[2:0];
    halves_data = data[23:8];
    // src rtl/verilog/testdata/sample/narrow.go:61
    words_read = read;
    words_raddr = prev;
    words_enable = Tick_enable[3:0];
    words_waddr = Tick_a[2:0];
    words_data = data;
    // src rtl/verilog/testdata/sample/narrow.go:62
    rom_read = (addr & 8'd8) != 8'd0;
    rom_addr = Tick_a[2:0];
    // src rtl/verilog/testdata/sample/narrow.go:63
    again_read = 1'b1;
    again_addr = prev;
    // src rtl/verilog/testdata/sample/narrow.go:64
    other_read = Tick_a < 32'd5;
    other_addr = Tick_a[2:0];
    // src rtl/verilog/testdata/sample/narrow.go:65
    n_prev = Tick_a[2:0];
  end

  (* src = "rtl/verilog/testdata/sample/narrow.go:9" *)
  always @(posedge clk) begin
    prev <= rst ? 3'd0 : n_prev;
    if (w_low || rst) low <= rst ? 8'd0 : n_low;
    if (w_half || rst) half <= rst ? 16'd0 : n_half;
    if (w_entry || rst) entry <= rst ? 12'd0 : n_entry;
    if (w_odd || rst) odd <= rst ? 1'b0 : n_odd;
    if (w_sum || rst) sum <= rst ? 64'd0 : d_sum;
    fresh_0 <= rst ? 1'b0 : n_fresh_0;
    fresh_1 <= rst ? 1'b0 : n_fresh_1;
    looked_0 <= rst ? 1'b0 : n_looked_0;
    looked_1 <= rst ? 1'b0 : n_looked_1;
  end
endmodule
