package verifier

import (
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// createList begins CreateCommandList, of a device to make a list, of a deferred
// context to open one.
func (k *Checker) createList(fr *frame) {
	arg := fr.args[1].(*umddi.CreateCommandList)
	o := k.create(fr, fr.args[2].(umddi.HCommandList).Object, umddi.HandleCommandList, fr.args[3].(umddi.HRTCommandList).Runtime)
	switch {
	case !fr.ctx.deferred && arg != nil:
		k.makeList(fr, arg.DeferredContext)
	case o != nil && o.of != nil && arg != nil:
		k.fail(fr, "local-open", "arguments for the open of %v, want nil", o.of)
	}
}

// makeList notes of which context a list is made.
func (k *Checker) makeList(fr *frame, h umddi.HDevice) {
	c := k.deferredOf(fr, h)
	if c == nil {
		return
	}
	fr.target = c
	switch {
	case c.life != recording:
		k.fail(fr, "context-state", "%v %s, want it recording", c, lifeNames[c.life])
	case len(c.open) > 0:
		k.fail(fr, "list-open-work", "%v has %s mapped", c, plural(len(c.open), "subresource"))
	case len(c.begun) > 0:
		k.fail(fr, "list-open-work", "%v has %s begun", c, plural(len(c.begun), "query"))
	}
}

// recycleCreateList begins RecycleCreateCommandList.
func (k *Checker) recycleCreateList(fr *frame) {
	o := k.use(fr, fr.args[2].(umddi.HCommandList).Object, umddi.HandleCommandList)
	k.makeList(fr, fr.args[1].(*umddi.CreateCommandList).DeferredContext)
	if o == nil {
		return
	}
	if k.checkList(fr, o, objectCached) && fr.target != nil && o.owner != fr.target {
		k.fail(fr, "list-context", "%v is of %v, not of %v", o, o.owner, fr.target)
	}
	fr.created = o
}

// checkList fails if the handle of a list is not in the state that is wanted.
func (k *Checker) checkList(fr *frame, o *object, want objectLife) bool {
	if o.life == want {
		return true
	}
	k.fail(fr, "list-state", "%v is %s, want %s", o, objectLifeNames[o.life], objectLifeNames[want])
	return false
}

// endList ends CreateCommandList and RecycleCreateCommandList of a device.
func (k *Checker) endList(fr *frame, ok bool) {
	c, o := fr.target, fr.created
	if !ok || c == nil || o == nil || !o.alive() {
		return
	}
	o.life, o.owner = objectLive, c
	o.rest(false)
	o.maps, o.queries = maps.Clone(c.maps), maps.Clone(c.queries)
	c.life = finished
	c.bound = bindings{}
}

// retireList begins RecycleDestroyCommandList.
func (k *Checker) retireList(fr *frame) {
	if o := k.use(fr, fr.args[1].(umddi.HCommandList).Object, umddi.HandleCommandList); o != nil && k.checkList(fr, o, objectLive) {
		k.checkLocals(fr, o)
		fr.created = o
	}
}

// recycleList begins RecycleCommandList, which gets the device's handle.
func (k *Checker) recycleList(fr *frame) {
	o := k.find(fr, fr.args[1].(umddi.HCommandList).Object, umddi.HandleCommandList)
	switch {
	case o == nil:
	case o.ctx != nil || o.device != fr.ctx.device:
		k.fail(fr, "handle-foreign", "%v is not a handle of %v", o, fr.ctx.device)
	default:
		k.touch(fr, o)
		if k.checkList(fr, o, objectRetired) && o.owner != fr.ctx {
			k.fail(fr, "list-context", "%v is of %v, not of %v", o, o.owner, fr.ctx)
		}
		fr.created = o
	}
}

// turn ends a function that moves a list to another state.
func turn(fr *frame, to objectLife) {
	if o := fr.created; o != nil && o.alive() {
		o.life = to
		o.rest(to == objectRetired || to == objectCached)
	}
}

// execute begins CommandListExecute.
func (k *Checker) execute(fr *frame) {
	o := k.use(fr, fr.args[1].(umddi.HCommandList).Object, umddi.HandleCommandList)
	if o == nil {
		return
	}
	list, c := o.source(), fr.ctx
	if !k.checkList(fr, list, objectLive) {
		return
	}
	for _, s := range sorted(list.maps) {
		if _, mapped := c.open[s]; mapped {
			k.fail(fr, "execute-mapped", "%v maps subresource %d of %v, which %v has mapped", list, s.sub, s.res, c)
			break
		}
	}
	begun := uint64(0)
	for q := range list.queries {
		if c.begun[q] && (begun == 0 || q.id < begun) {
			begun = q.id
		}
	}
	if begun != 0 {
		k.fail(fr, "execute-begun", "%v uses query %d, which %v has begun", list, begun, c)
	}
	if c.deferred {
		k.touch(fr, list)
		for s := range list.maps {
			if local := c.locals[s.res]; local != nil {
				delete(local.discarded, s.sub)
			}
		}
		maps.Copy(c.maps, list.maps)
		maps.Copy(c.queries, list.queries)
	}
}

// sorted returns subresources in the order in which their resources were made.
func sorted(m map[subresource]bool) []subresource {
	var all []subresource
	for s := range m {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b subresource) int {
		if a.res != b.res {
			return int(a.res.id) - int(b.res.id)
		}
		return int(a.sub) - int(b.sub)
	})
	return all
}

// query notes QueryBegin and QueryEnd.
func (k *Checker) query(fr *frame, begin bool) {
	o := k.use(fr, fr.args[1].(umddi.HQuery).Object, umddi.HandleQuery)
	if o == nil {
		return
	}
	q := o.source()
	if begin {
		fr.ctx.begun[q] = true
	} else {
		delete(fr.ctx.begun, q)
	}
	if fr.ctx.deferred {
		fr.ctx.queries[q] = true
	}
}

// A family is a family of functions that map resources.
type family string

// mapFamilies has the functions that map, with what they need.
var mapFamilies = map[string]family{
	"pfnStagingResourceMap": "StagingResource", "pfnStagingResourceUnmap": "StagingResource",
	"pfnDynamicResourceMapDiscard": "DynamicResource", "pfnDynamicResourceUnmap": "DynamicResource",
	"pfnDynamicIABufferMapDiscard": "DynamicIABuffer", "pfnDynamicIABufferMapNoOverwrite": "DynamicIABuffer", "pfnDynamicIABufferUnmap": "DynamicIABuffer",
	"pfnDynamicConstantBufferMapDiscard": "DynamicConstantBuffer", "pfnDynamicConstantBufferUnmap": "DynamicConstantBuffer",
}

// familyOf returns the family that is for a resource.
func familyOf(o *object) family {
	switch {
	case o.usage == umddi.UsageStaging:
		return "StagingResource"
	case o.bind&(umddi.BindVertexBuffer|umddi.BindIndexBuffer) != 0:
		return "DynamicIABuffer"
	case o.bind&umddi.BindConstantBuffer != 0:
		return "DynamicConstantBuffer"
	}
	return "DynamicResource"
}

// mapResource begins a map function.
func (k *Checker) mapResource(fr *frame) {
	o := k.use(fr, fr.args[1].(umddi.HResource).Object, umddi.HandleResource)
	if o == nil {
		return
	}
	s := subresource{o.source(), fr.args[2].(uint32)}
	if want := familyOf(s.res); mapFamilies[fr.f.Name] != want {
		k.fail(fr, "map-state", "%v is for the functions pfn%s*", s.res, want)
	} else if _, mapped := fr.ctx.open[s]; mapped {
		k.fail(fr, "map-state", "subresource %d of %v is mapped", s.sub, s.res)
	}
	if fr.ctx.deferred && fr.f.Name == "pfnDynamicIABufferMapNoOverwrite" && !o.discarded[s.sub] {
		k.fail(fr, "map-discard", "%v was not discarded in this list", s.res)
	}
	fr.created = o
}

// endMap ends a map function.
func (k *Checker) endMap(fr *frame) {
	o := fr.created
	if o == nil || len(fr.errors) > 0 {
		return
	}
	s := subresource{o.source(), fr.args[2].(uint32)}
	fr.ctx.open[s] = mapFamilies[fr.f.Name]
	if fr.ctx.deferred {
		o.discarded[s.sub] = true
		fr.ctx.maps[s] = true
	}
}

// unmap begins an unmap function.
func (k *Checker) unmap(fr *frame) {
	o := k.use(fr, fr.args[1].(umddi.HResource).Object, umddi.HandleResource)
	if o == nil {
		return
	}
	s := subresource{o.source(), fr.args[2].(uint32)}
	if by, mapped := fr.ctx.open[s]; !mapped {
		k.fail(fr, "map-state", "subresource %d of %v is not mapped", s.sub, s.res)
	} else if by != mapFamilies[fr.f.Name] {
		k.fail(fr, "map-state", "subresource %d of %v was mapped by a function pfn%s*", s.sub, s.res, by)
	}
	delete(fr.ctx.open, s)
}
