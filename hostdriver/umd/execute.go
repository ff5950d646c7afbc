package umd

import (
	"math"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// commandListExecute carries out the commands of a list as calls of the
// immediate context, and puts that in the state of its creation.
//
//	DDI     PFND3D11DDI_COMMANDLISTEXECUTE, d3d10umddi.h
//	Caller  the immediate context's thread
//	Effect  what the functions of the commands have. The predicate of the
//	        context does not count for the list. Nothing of the list is used any
//	        more: what the GPU has still to do stands in the command buffer
//	Returns through SetErrorCb: EOutOfMemory, with which commands that there was
//	        no memory for are left out; DDIDeviceRemoved, also for a handle that
//	        is not one of an executable list, and for a list with an object that
//	        has been destroyed or a resource that is mapped
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

// execute carries out commands. Without memory for one it goes on with the next;
// any other failure ends it.
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

// perform carries out one command other than a copy.
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

// performDiscard gives a subresource the contents that were recorded for it, in
// memory that nothing uses.
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
