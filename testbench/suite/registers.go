package suite

import "github.com/hilgpu/hilgpu/testbench"

// keepRegisters takes a snapshot of the registers if the case has failed and its files are kept. Of several systems the first
// to close has it. A case that fails only while its system closes has none.
func (t *T) keepRegisters(sys *testbench.System) {
	r, ok := t.TB.(*recording)
	if !t.keep || !ok || t.registers != nil || len(r.messages) == 0 && sys.Err() == nil {
		return
	}
	s, err := sys.Snapshot(t.Selector)
	if err == nil {
		t.registers, err = s.Encode()
	}
	if t.unread == nil || err == nil {
		t.unread = err
	}
}
