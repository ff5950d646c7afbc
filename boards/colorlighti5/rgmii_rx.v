// Makes bytes of what RGMII receives, for a queue.
//
//   In      gigabit: a byte in each clock, and not a nibble; dv, er, low, high: what arrived
//           in a clock; wready: the queue has room; wlow: half of it is free
//   Out     wvalid, wdata: bits 7..0 a byte; or, with bit 8, the end of a carrier, with bit 0
//           if the PHY signalled an error in it or bytes of it are lost
//   Timing  a word is there 1 clock after its last part
//   Reset   waits until the carrier ends that is there, without an end for it
//   Order   as received; one end after the last byte of each carrier
//   Faults  if the queue is full, the rest of the carrier is lost, and all carriers after it
//           until half of the queue is free: otherwise each would lose its rest. The end of
//           a carrier is kept until there is room, and is that of one after it too if that
//           ends before
//
// At 10 and 100 Mbit/s a nibble arrives on the rising edge of each clock, low nibble first,
// and the first byte is the delimiter: the nibbles of the preamble may be an odd number. A
// nibble that is left at the end is dropped. The rate changes between two carriers only.
module rgmii_rx (
  input  wire       clk,
  input  wire       rst,
  input  wire       gigabit,
  input  wire       dv,
  input  wire       er,
  input  wire [3:0] low,
  input  wire [3:0] high,
  input  wire       wready,
  input  wire       wlow,
  output wire       wvalid,
  output wire [8:0] wdata
);
  reg late;    // the carrier began before the end of reset
  reg bytes;   // gigabit, for this carrier
  reg carrier; // there was a carrier in the clock before
  reg aligned; // the delimiter has arrived
  reg half;    // held is the low nibble of a byte
  reg wrong;   // the PHY signalled an error
  reg lost;    // a byte was lost
  reg full;    // the next carriers are lost
  reg [3:0] held;

  wire last = carrier && !dv;
  wire start = held == 4'h5 && low == 4'hd;
  wire full_byte = dv && !late && (bytes || (aligned ? half : start));

  reg has;    // data is a byte
  reg ending; // an end must be written
  reg bad;    // with an error
  reg [7:0] data;
  assign wvalid = ending || (has && !lost);
  assign wdata = ending ? {8'h80, bad} : {1'b0, data};
  wire drops = has && (ending || !wready);

  always @(posedge clk) begin
    data <= bytes ? {high, low} : {low, held};
    held <= dv ? low : 4'd0;
    aligned <= dv && (aligned || start);
    half <= dv && aligned && !half;
    if (!dv) bytes <= gigabit;
    if (rst) begin
      late <= 1'b1;
      carrier <= 1'b0;
      has <= 1'b0;
      ending <= 1'b0;
      wrong <= 1'b0;
      lost <= 1'b0;
      full <= 1'b0;
    end else begin
      late <= late && dv;
      carrier <= dv && !late;
      has <= full_byte;
      wrong <= !last && (wrong || (dv && !late && er));
      lost <= dv ? lost || drops : full || drops;
      full <= drops || (full && !wlow);
      ending <= last || (ending && !wready);
      if (last) bad <= wrong || lost || drops || (ending && !wready);
    end
  end
endmodule
