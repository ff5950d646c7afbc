package testbench

// HoldInterrupts keeps the interrupts of the GPU from the miniport, or ends that. The
// time-out of a node (Options.TdrDelay) continues meanwhile. A hook may call it.
func (s *System) HoldInterrupts(on bool) { s.device.Hold(on) }

// AllocateFrom makes the PC use memory at a physical address or above only, for what
// is allocated later. The memory that Options.HostMemory describes limits it.
func (s *System) AllocateFrom(addr uint64) { s.machine.AllocFrom(addr) }
