package verilog

// TranslateSample is translate for the tests of this directory that are outside the package.
var TranslateSample = translate
