module dma_queue (
  input clk,
  input rst,
  input begun,
  input queue_clear0,
  input queue_clear1,
  input queue_push,
  input queue_pop,
  input [2:0] queue_count
);
  always @* if (begun) begin
    assert (!queue_push || queue_count < 4);
    assert (!queue_pop || queue_count != 0);
    assert (!queue_clear0 && queue_count <= 4);
  end
endmodule
