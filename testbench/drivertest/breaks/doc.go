// Package breaks is a table of drivers that break their contract, each at one
// place, with the rule and the function that must name the mistake. [All] lists
// them. The tests run each on a small workload: the rule must name it, no call may
// hang, no panic may end the test, and the next system must work.
//
// A break changes the small drivers of testbench/drivertest/starter, which share
// nothing with those of this GPU. Those of this GPU are changed for what the small
// ones lack: command lists, free threading and recovery. A break of a rule
// of rule.Access needs testbench.Options.Sanitize.
//
// [Pitfalls] lists well-known mistakes of real drivers. Each that a driver can make
// here has a break with its number. The others say why they have none.
package breaks
