module fence_after (
  input clk,
  input rst,
  input begun,
  input [1:0] req_Op,
  input reqReady,
  input beatReady,
  input refused,
  input [1:0] regs_Op,
  input rst_2,
  input [2:0] Write_req_Kind_2,
  input Write_beat_Valid_2,
  input Event,
  input [63:0] Timeline,
  input Ready,
  input [1:0] Result,
  input [2:0] state,
  input refused_2
);
  localparam None = 0, Write = 2, Done = 1, WriteError = 3;
  localparam stateWrite = 2, stateSettle = 3, stateEvent = 4;
  wire header = Write_req_Kind_2 != 0 && reqReady;
  wire beat = Write_beat_Valid_2 && beatReady;
  reg headerTaken, beatTaken, bad; // of the last request
  reg [63:0] was;
  reg late; // header and beat were taken before the previous clock
  reg free; // the timeline may have been changed by the host or a reset
  reg written; // the write had been taken and was not refused

  always @(posedge clk) begin
    late <= headerTaken && beatTaken;
    was <= Timeline;
    free <= rst || rst_2 || regs_Op == Write;
    written <= headerTaken && beatTaken && !bad && !refused;
    headerTaken <= headerTaken || header;
    beatTaken <= beatTaken || beat;
    bad <= bad || refused;
    if (rst || rst_2 || Ready && req_Op != None) begin
      headerTaken <= 0;
      beatTaken <= 0;
      bad <= 0;
    end
  end

  always @* begin
    // A write is refused between the clock in which its header is taken and the clock
    // after header and beat were taken.
    assume (!refused || !Ready && (headerTaken || header) && !late);
    if (begun) begin
      assert (Result != Done || headerTaken && beatTaken && !bad);
      assert (Result != WriteError || headerTaken && beatTaken && bad);
      assert (!Event || Result == Done);
      assert (Timeline == was || free || written);
      // Lemmas.
      assert (state != stateWrite || headerTaken == (Write_req_Kind_2 == 0));
      assert (state != stateWrite || beatTaken == !Write_beat_Valid_2);
      assert (state != stateWrite && state != stateSettle || bad == refused_2);
      assert (state != stateSettle && state != stateEvent || headerTaken && beatTaken);
      assert (state != stateEvent || !bad);
      assert (state == stateWrite || Write_req_Kind_2 == 0 && !Write_beat_Valid_2);
      assert (state == stateWrite || state == stateSettle || state == stateEvent || Ready || !headerTaken && !beatTaken && !bad);
    end
  end
endmodule
