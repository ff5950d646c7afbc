// Sends frames from a queue over RGMII.
//
//   In      gigabit: a byte in each clock, and not a nibble; frames: how many complete frames
//           were written to the queue, in Gray code; rdata: bits 7..0 a byte, bit 8 the last
//           one of a frame
//   Out     rready; en, low, high: what is sent on the two edges of a clock
//   Timing  a byte in each clock, or in two at 10 and 100 Mbit/s
//   Reset   sends nothing
//   Order   as written; a gap of 12 bytes after each frame (IEEE 802.3-2018 §4A.4.2)
//   Faults  none: a frame begins when its last byte is in the queue, so no byte is late. The
//           queue has at most 63 frames
module rgmii_tx (
  input  wire       clk,
  input  wire       rst,
  input  wire       gigabit,
  input  wire [5:0] frames,
  input  wire       rvalid,
  input  wire [8:0] rdata,
  output wire       rready,
  output reg        en,
  output reg  [3:0] low,
  output reg  [3:0] high
);
  localparam GAP = 12; // bytes

  reg bytes;        // gigabit, for this frame
  reg odd;          // the second nibble of a byte
  reg sending;
  reg [3:0] gap;    // bytes since the last frame, to GAP - 1
  reg [5:0] sent, sent_gray;

  initial en = 1'b0;

  wire step = bytes || odd; // a byte ends
  wire [5:0] next = sent + 6'd1;
  assign rready = sending && step;
  wire [3:0] nibble = step ? rdata[7:4] : rdata[3:0];

  always @(posedge clk) begin
    en <= sending && !rst;
    low <= bytes ? rdata[3:0] : nibble;
    high <= nibble;
    odd <= !rst && !bytes && !odd;
    if (!sending) bytes <= gigabit;
    if (rst) begin
      sending <= 1'b0;
      gap <= 4'd0;
      sent <= 6'd0;
      sent_gray <= 6'd0;
    end else if (sending) begin
      gap <= 4'd0;
      if (step && rdata[8]) sending <= 1'b0;
    end else if (step) begin
      if (gap != GAP - 1) gap <= gap + 4'd1;
      else if (rvalid && frames != sent_gray) begin
        sending <= 1'b1;
        sent <= next;
        sent_gray <= next ^ (next >> 1);
      end
    end
  end
endmodule
