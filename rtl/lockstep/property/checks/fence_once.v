module fence_once (
  input clk,
  input rst,
  input begun,
  input [1:0] req_Op,
  input req_IRQ,
  input reqReady,
  input beatReady,
  input rst_2,
  input [2:0] Write_req_Kind_2,
  input Write_beat_Valid_2,
  input Event,
  input Ready,
  input [1:0] Result,
  input [2:0] state,
  input stamp
);
  localparam stateWrite = 2, stateSettle = 3, stateEvent = 4;
  reg open; // a request was taken and has no result
  reg headerTaken, beatTaken;
  reg raises; // it is not a time stamp
  reg irq;
  wire take = Ready && req_Op != 0;

  always @(posedge clk) begin
    irq <= req_IRQ;
    headerTaken <= headerTaken || Write_req_Kind_2 != 0 && reqReady;
    beatTaken <= beatTaken || Write_beat_Valid_2 && beatReady;
    if (Result != 0) open <= 0;
    if (take) begin
      open <= 1;
      raises <= req_Op != 2;
    end
    if (rst || rst_2) open <= 0;
    if (rst || rst_2 || take) begin
      headerTaken <= 0;
      beatTaken <= 0;
    end
  end

  always @* if (begun) begin
    assert (Write_req_Kind_2 == 0 || open && !headerTaken);
    assert (!Write_beat_Valid_2 || open && !beatTaken);
    assert (Result == 0 || open);
    assert (Event == (Result == 1 && raises && irq));
    // Lemmas.
    assert (Ready == (!open || Result != 0));
    assert (state == stateWrite || Write_req_Kind_2 == 0 && !Write_beat_Valid_2);
    assert (Ready || stamp != raises);
    assert (state != 1 || !headerTaken && !beatTaken);
  end
endmodule
