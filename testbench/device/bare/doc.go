// Package bare uses a board without drivers: configuration space, registers, rings
// of packets, and a small host memory for the device, over the link of any
// selector. Tests and measurements of the device build on it.
package bare
