// Package bare uses a board without any driver: configuration space, registers,
// and rings that packets are put into, over whatever link a selector names, and
// the little host memory that the device may reach. Who tests or measures the
// device itself begins here.
package bare
