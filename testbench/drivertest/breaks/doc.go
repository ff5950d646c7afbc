// Package breaks is a table of drivers that break their contract, each at one
// place, with the rule that must name the mistake. [All] lists them. The tests run
// each against the small drivers of testbench/drivertest/starter, which share
// nothing with those of this GPU; drivers for what these lack, such as command
// lists, are those of this GPU.
package breaks
