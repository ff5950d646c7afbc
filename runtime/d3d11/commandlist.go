package d3d11

import "github.com/hilgpu/hilgpu/runtime/ddi"

// A CommandList is ID3D11CommandList: what a deferred context has recorded. It
// never changes, and keeps every object in it alive.
type CommandList struct {
	child

	rec *recording
}

// GetContextFlags returns the flags of the context that recorded the list,
// which are 0.
func (l *CommandList) GetContextFlags() uint32 { return 0 }

func (l *CommandList) destroy() { l.dev.giveRecording(l.rec) }

// maxSpare is how many recordings a device keeps for later lists.
const maxSpare = 64

// takeRecording returns an empty recording.
func (d *Device) takeRecording() *recording {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.spare)
	if n == 0 {
		return new(recording)
	}
	r := d.spare[n-1]
	d.spare = d.spare[:n-1]
	return r
}

// giveRecording empties a recording and keeps it.
func (d *Device) giveRecording(r *recording) {
	r.reset()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.spare) < maxSpare {
		d.spare = append(d.spare, r)
	}
}

// FinishCommandList returns what the deferred context has recorded. What is
// still mapped is unmapped. Nothing reaches the GPU.
//
//	In      restore: the context keeps its state for the next list; else it has
//	        the default state. The list that is returned is the same
//	Returns DXGIInvalidCall on the immediate context, DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-finishcommandlist
func (c *Context) FinishCommandList(restore bool) (*CommandList, error) {
	switch {
	case c.dev.removed():
		return nil, ddi.DXGIDeviceRemoved
	case !c.ready() || !c.deferred:
		return nil, ddi.DXGIInvalidCall
	}
	l := &CommandList{rec: c.rec}
	l.adopt(c.dev, l)
	c.rec = c.dev.takeRecording()
	clear(c.open)
	if restore {
		c.rec.state(&c.state)
	} else {
		c.state.drop()
	}
	return l, nil
}

// ExecuteCommandList executes a list, or records its execution. The list begins
// with the default state. It is not executed if it maps a resource that the
// context has mapped.
//
//	In      restore: the context has its state back afterwards; else it has the
//	        default state
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-executecommandlist
func (c *Context) ExecuteCommandList(l *CommandList, restore bool) {
	if !c.ready() || l == nil || !l.usable(c.dev) {
		return
	}
	for m := range l.rec.mapped {
		if c.isMapped(m.r, m.sub) {
			return
		}
	}
	if !c.deferred {
		c.replay(l, restore)
		return
	}
	c.rec.execute(l, restore)
	for m := range l.rec.mapped {
		c.forget(m.r)
	}
	if !restore {
		c.state.drop()
	}
}
