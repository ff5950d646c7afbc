// A PLL of an iCE40 in a simulation: it passes the clock on and is locked.
module pll_model #(
  parameter FEEDBACK_PATH = "SIMPLE",
  parameter DELAY_ADJUSTMENT_MODE_FEEDBACK = "FIXED",
  parameter DELAY_ADJUSTMENT_MODE_RELATIVE = "FIXED",
  parameter PLLOUT_SELECT = "GENCLK",
  parameter SHIFTREG_DIV_MODE = 0,
  parameter FDA_FEEDBACK = 0,
  parameter FDA_RELATIVE = 0,
  parameter DIVR = 0,
  parameter DIVF = 0,
  parameter DIVQ = 0,
  parameter FILTER_RANGE = 0,
  parameter ENABLE_ICEGATE = 0,
  parameter TEST_MODE = 0
) (
  input  wire       REFERENCECLK,
  output wire       PLLOUTCORE,
  output wire       PLLOUTGLOBAL,
  input  wire       EXTFEEDBACK,
  input  wire [7:0] DYNAMICDELAY,
  output wire       LOCK,
  input  wire       BYPASS,
  input  wire       RESETB,
  input  wire       LATCHINPUTVALUE,
  output wire       SDO,
  input  wire       SDI,
  input  wire       SCLK
);
  assign PLLOUTCORE = REFERENCECLK;
  assign PLLOUTGLOBAL = REFERENCECLK;
  assign LOCK = 1'b1;
  assign SDO = 1'b0;
endmodule
