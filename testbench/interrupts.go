package testbench

// HoldInterrupts keeps the interrupts of the GPU from the miniport, or ends that. The
// time-out of a node (Options.TdrDelay) continues meanwhile. A hook may call it.
func (s *System) HoldInterrupts(on bool) { s.device.Hold(on) }
