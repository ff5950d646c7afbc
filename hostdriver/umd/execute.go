package umd

import (
	"math"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// commandListExecute executes the commands of a list like calls of the
// immediate context and then resets the state of the immediate context.
//
//	DDI     PFND3D11DDI_COMMANDLISTEXECUTE, d3d10umddi.h
//	Caller  the immediate context's thread
//	Effect  those of the commands. The context's predicate does not apply to
//	        the list. Nothing of the list is used afterwards: all work is in
//	        the command buffer
//	Returns through SetErrorCb: EOutOfMemory, if commands were skipped for lack
//	        of memory; DDIDeviceRemoved, also for a handle that is not an
//	        executable list, or if an object in the list was destroyed or a
//	        resource is mapped
func commandListExecute(t *ddi.Thread, h umddi.HDevice, list umddi.HCommandList) {
	d := deviceOf(h)
	d.predicate = predicate{}
	if hr := d.executeList(t, list.Object); hr.Failed() {
		d.report(t, hr, ddi.EOutOfMemory)
	}
	d.predicate = predicate{}
	d.clearState()
}

func (d *device) executeList(t *ddi.Thread, o *ddi.Object) ddi.HRESULT {
	if listPhase(o) != listExecutable {
		return ddi.EFail
	}
	result := d.execute(t, listHead(o))
	for _, chunk := range d.listChunks(o) {
		if result.Failed() && result != ddi.EOutOfMemory {
			break
		}
		if hr := d.execute(t, chunk); hr.Failed() {
			result = hr
		}
	}
	return result
}

// execute executes commands. It skips a command for which there is no memory
// and stops at any other failure.
func (d *device) execute(t *ddi.Thread, commands []byte) ddi.HRESULT {
	result := ddi.OK
	for len(commands) > 0 {
		op, cmd, rest, ok := nextCommand(commands)
		if !ok {
			return ddi.EFail
		}
		commands = rest
		var hr ddi.HRESULT
		if op == opCopy {
			hr = d.copyResource(t, d.resources.at(commandID(cmd[8:])), d.resources.at(commandID(cmd[16:])))
		} else {
			hr = d.perform(t, op, cmd)
		}
		if hr.Failed() {
			if result = hr; hr != ddi.EOutOfMemory {
				break
			}
		}
	}
	return result
}

// perform executes one command other than a copy.
func (d *device) perform(t *ddi.Thread, op opcode, p []byte) ddi.HRESULT {
	if op == opPad {
		return ddi.OK
	}
	k := commandID(p[8:])
	switch op {
	case opRegion:
		return d.performRegion(t, d.resources.at(k), p)
	case opUpdate:
		return d.performUpdate(t, d.resources.at(k), p)
	case opClear:
		var color [4]float32
		for i := range color {
			color[i] = math.Float32frombits(le.Uint32(p[16+4*i:]))
		}
		return d.clear(t, d.views.at(k), color)
	case opEnd:
		return d.endQuery(t, d.queries.at(k))
	case opPredicate:
		if k.gen == 0 {
			d.predicate = predicate{}
			return ddi.OK
		}
		return d.predicateOn(k, p[16] != 0)
	case opDiscard:
		return d.performDiscard(t, d.resources.at(k), p)
	}
	return ddi.EFail
}

func (d *device) performRegion(t *ddi.Thread, to *resource, p []byte) ddi.HRESULT {
	w := func(i int) uint32 { return le.Uint32(p[24+4*i:]) }
	var box umddi.Box
	return d.copyRegion(t, to, d.resources.at(commandID(p[16:])), regionCopy{
		dstSub: w(0), x: w(1), y: w(2), z: w(3), srcSub: w(4), box: boxAt(p[44:], &box),
	})
}

func (d *device) performUpdate(t *ddi.Thread, r *resource, p []byte) ddi.HRESULT {
	w := func(i int) uint32 { return le.Uint32(p[16+4*i:]) }
	sub, row, data := w(0), w(1), p[updateCommand:]
	box := umddi.Box{Left: w(2), Top: w(3), Right: w(4), Bottom: w(5), Back: 1}
	return d.update(t, r, sub, &box, data, row)
}

// performDiscard gives a subresource its recorded contents, in memory that is
// not in use.
func (d *device) performDiscard(t *ddi.Thread, r *resource, p []byte) ddi.HRESULT {
	sub, n, at := le.Uint32(p[16:]), uint64(le.Uint32(p[20:])), uint64(le.Uint32(p[24:]))
	if r == nil || r.mapped > 0 || uint64(sub) >= uint64(len(r.subs)) ||
		n != r.subs[sub].size() || at+n > uint64(len(p)) {
		return ddi.EFail
	}
	data, hr := d.rename(t, r, false)
	if hr.Failed() {
		return hr
	}
	copy(data[r.subs[sub].offset:], p[at:at+n])
	return d.unlock(t, &d.locker, r.alloc())
}
