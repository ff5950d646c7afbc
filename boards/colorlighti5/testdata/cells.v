// Models of the cells of an ECP5 that the shell has, from Lattice FPGA-TN-02035 and
// FPGA-TN-02032. Registers are 0 after configuration.
`timescale 1ps / 1ps
module IBPU (
  input  wire I,
  output wire O
);
  assign O = I;
endmodule

module DELAYG #(
  parameter DEL_MODE = "USER_DEFINED",
  parameter DEL_VALUE = 0
) (
  input  wire A,
  output reg  Z
);
  always @(A) Z <= #(25 * DEL_VALUE) A;
endmodule

// Q0 and Q1 are the levels at a rising edge and the falling edge after it. Both change at
// the next rising edge.
module IDDRX1F #(parameter GSR = "ENABLED") (
  input  wire D,
  input  wire SCLK,
  input  wire RST,
  output reg  Q0,
  output reg  Q1
);
  reg rise = 0, fall = 0;
  always @(posedge SCLK) {Q1, Q0, rise} <= RST ? 3'd0 : {fall, rise, D};
  always @(negedge SCLK) fall <= !RST && D;
endmodule

// Q is D0 after a rising edge, and D1 after the falling edge that follows.
module ODDRX1F #(parameter GSR = "ENABLED") (
  input  wire D0,
  input  wire D1,
  input  wire SCLK,
  input  wire RST,
  output wire Q
);
  reg rise = 0, fall = 0;
  always @(posedge SCLK) {fall, rise} <= RST ? 2'd0 : {D1, D0};
  assign Q = SCLK ? rise : fall;
endmodule
