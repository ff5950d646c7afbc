package dxgkrnl

import "github.com/hilgpu/hilgpu/runtime/ddi"

// WaitForIdle waits until every submission to every node, whichever device's,
// has been retired. It returns Err's error if the GPU has stopped or stops
// meanwhile, and StatusDeviceRemoved once the kernel has been stopped.
func (k *Kernel) WaitForIdle(t *ddi.Thread) error {
	defer k.unlock(t, k.lock(t))
	s := k.begin(t)
	if !s.Failed() {
		s = k.idle(t)
	}
	if k.err != nil {
		return k.err
	}
	if s.Failed() {
		return s
	}
	return nil
}
