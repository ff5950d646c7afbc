// A queue of 2^LOG words between two clocks of any frequencies and phases, LOG at least 2.
//
//   In      wvalid, wdata: a word, valid/ready, of wclk; rready: a word is taken, of rclk;
//           wrst, rrst: resets, each of its clock
//   Out     wready; wlow: less than half of the places were taken; rvalid, rdata, valid/ready
//   Timing  a word in each clock of the slower side; a word is there 2 to 3 clocks of
//           rclk after it was written, with BLOCK 4 to 5, and its place is free 3 to 4
//           clocks of wclk after it was read; wlow is 2 clocks later
//   Reset   empty. Both resets must be on at one time for 3 clocks of both sides, and
//           while one is on, the other side sees words that have no meaning
//   Order   as written
//   Faults  a word that is offered without wready is not stored
//
// The pointers cross as Gray code: one bit changes in a clock, so a pointer that is sampled
// while it changes has its old or its new value. This holds only if the bits of wgray arrive
// at the other side within one clock of wclk of each other, and those of rgray within one of
// rclk. nextpnr-ecp5 has no constraint for such a skew, so no tool checks this. Its log has
// the longest delay between two clocks: the skew is smaller, so a delay below that clock is
// enough. Otherwise, place and route with another seed.
//
// With BLOCK, rclk reads the memory into a register, as block RAM needs it, and from there
// into another one, since block RAM is slow. Without it, the memory is read without a clock.
module asyncfifo #(
  parameter WIDTH = 10,
  parameter LOG = 4,
  parameter BLOCK = 0
) (
  input  wire             wclk,
  input  wire             wrst,
  input  wire             wvalid,
  input  wire [WIDTH-1:0] wdata,
  output wire             wready,
  output wire             wlow,
  input  wire             rclk,
  input  wire             rrst,
  input  wire             rready,
  output wire             rvalid,
  output wire [WIDTH-1:0] rdata
);
  reg [WIDTH-1:0] mem [0:(1<<LOG)-1];
  reg [LOG:0] wbin, wgray, rbin, rgray; // one bit more than a place has
  reg [LOG:0] wahead, wagray;           // the write pointer after the next write
  wire [LOG:0] wseen, rseen;            // the pointers, as the other side sees them

  asyncfifo_sync #(.WIDTH(LOG + 1)) to_read (.clk(rclk), .rst(rrst), .d(wgray), .q(wseen));
  asyncfifo_sync #(.WIDTH(LOG + 1)) to_write (.clk(wclk), .rst(wrst), .d(rgray), .q(rseen));

  // The queue is full if the pointers differ by 2^LOG: in Gray code, in their two highest
  // bits. room is a clock old, in which the last place but one may have been taken.
  wire [LOG:0] end_of_room = {~rseen[LOG:LOG-1], rseen[LOG-2:0]};
  reg room;
  assign wready = room;

  // How many places are taken. Bit i of a number in Gray code is that of the binary
  // number xor its next higher one.
  localparam [LOG:0] HALF = 1 << (LOG - 1);
  reg [LOG:0] rbehind, taken;
  assign wlow = taken < HALF;
  integer i;

  wire some = !rrst && rgray != wseen; // the memory has a word
  wire take;                           // it is read from the memory
  generate
    if (BLOCK == 0) begin : direct
      assign rvalid = some;
      assign rdata = mem[rbin[LOG-1:0]];
      assign take = some && rready;
    end else begin : block
      reg fetched, valid;
      reg [WIDTH-1:0] out, word;
      assign rvalid = !rrst && valid;
      assign rdata = word;
      wire move = fetched && (!valid || rready);
      assign take = some && (!fetched || move);
      always @(posedge rclk) begin
        fetched <= !rrst && (take || (fetched && !move));
        valid <= !rrst && (move || (valid && !rready));
        if (take) out <= mem[rbin[LOG-1:0]];
        if (move) word <= out;
      end
    end
  endgenerate

  wire [LOG:0] wnext = wahead + 1'b1;
  wire [LOG:0] rnext = rbin + 1'b1;

  always @(posedge wclk) begin
    for (i = 0; i <= LOG; i = i + 1) rbehind[i] <= ^(rseen >> i);
    taken <= wbin - rbehind;
    if (wrst) begin
      room <= 1'b0;
      wbin <= 0;
      wgray <= 0;
      wahead <= 1;
      wagray <= 1;
    end else begin
      room <= wgray != end_of_room && wagray != end_of_room;
      if (wvalid && wready) begin
        mem[wbin[LOG-1:0]] <= wdata;
        wbin <= wahead;
        wgray <= wagray;
        wahead <= wnext;
        wagray <= wnext ^ (wnext >> 1);
      end
    end
  end

  always @(posedge rclk) begin
    if (rrst) begin
      rbin <= 0;
      rgray <= 0;
    end else if (take) begin
      rbin <= rnext;
      rgray <= rnext ^ (rnext >> 1);
    end
  end
endmodule
