package dxgkrnl

import "github.com/hilgpu/hilgpu/runtime/ddi"

// WaitForIdle waits until every submission of every device to every node is
// retired. It returns the error of Err if the GPU has stopped or stops
// meanwhile, and StatusDeviceRemoved after Stop.
func (k *Kernel) WaitForIdle(t *ddi.Thread) error {
	v := k.enter(t)
	defer k.leave(t, &v)
	s := k.begin(t)
	if !s.Failed() {
		s = k.drain(t)
	}
	if k.err != nil {
		return k.err
	}
	if s.Failed() {
		return s
	}
	return nil
}
