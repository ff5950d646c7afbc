// A queue of 2^LOG words between two clocks of any frequencies and phases, LOG at least 2.
//
//   In      wvalid, wdata: a word, valid/ready, of wclk; rready: a word is taken, of rclk;
//           wrst, rrst: resets, each of its clock
//   Out     wready; rvalid, rdata, valid/ready
//   Timing  a word in each clock of the slower side; a word is there 3 to 4 clocks of
//           rclk after it was written, and its place is free 2 to 3 clocks of wclk after
//           it left the memory for rdata
//   Reset   empty. Both resets must be on at one time for 3 clocks of both sides, and
//           while one is on, the other side sees words that have no meaning
//   Order   as written
//   Faults  a word that is offered without wready is not stored
//
// The pointers cross as Gray code: one bit changes in a clock, so a pointer that is sampled
// while it changes has its old or its new value. A constraint must keep the bits of wgray and
// rgray within one clock of each other on their way to the other side.
module asyncfifo #(
  parameter WIDTH = 10,
  parameter LOG = 4
) (
  input  wire             wclk,
  input  wire             wrst,
  input  wire             wvalid,
  input  wire [WIDTH-1:0] wdata,
  output wire             wready,
  input  wire             rclk,
  input  wire             rrst,
  input  wire             rready,
  output reg              rvalid,
  output reg  [WIDTH-1:0] rdata
);
  reg [WIDTH-1:0] mem [0:(1<<LOG)-1];
  reg [LOG:0] wbin, wgray, rbin, rgray; // one bit more than a place has
  wire [LOG:0] wseen, rseen;            // the pointers, as the other side sees them

  asyncfifo_sync #(.WIDTH(LOG + 1)) to_read (.clk(rclk), .rst(rrst), .d(wgray), .q(wseen));
  asyncfifo_sync #(.WIDTH(LOG + 1)) to_write (.clk(wclk), .rst(wrst), .d(rgray), .q(rseen));

  // The queue is full if the pointers differ by 2^LOG: in Gray code, in their two highest
  // bits.
  assign wready = !wrst && wgray != {~rseen[LOG:LOG-1], rseen[LOG-2:0]};
  wire fetch = rgray != wseen && (!rvalid || rready);

  wire [LOG:0] wnext = wbin + 1'b1;
  wire [LOG:0] rnext = rbin + 1'b1;

  always @(posedge wclk) begin
    if (wrst) begin
      wbin <= 0;
      wgray <= 0;
    end else if (wvalid && wready) begin
      mem[wbin[LOG-1:0]] <= wdata;
      wbin <= wnext;
      wgray <= wnext ^ (wnext >> 1);
    end
  end

  always @(posedge rclk) begin
    if (fetch) rdata <= mem[rbin[LOG-1:0]];
    if (rrst) begin
      rbin <= 0;
      rgray <= 0;
      rvalid <= 1'b0;
    end else if (fetch) begin
      rbin <= rnext;
      rgray <= rnext ^ (rnext >> 1);
      rvalid <= 1'b1;
    end else if (rready) begin
      rvalid <= 1'b0;
    end
  end
endmodule
