module reset_kept (
  input clk,
  input rst,
  input begun,
  input whole,
  input function_r,
  input now_Whole,
  input State_Whole,
  input State_Function
);
  reg wantsWhole, wantsFunction; // requested and not done
  always @(posedge clk) begin
    wantsWhole <= !rst && (whole || wantsWhole && !now_Whole);
    wantsFunction <= !rst && (function_r || wantsFunction && !now_Whole);
  end

  always @* if (begun) begin
    assert (State_Whole == wantsWhole);
    assert (State_Function == wantsFunction);
  end
endmodule
