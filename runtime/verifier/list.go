package verifier

import (
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/content"
)

// createList checks the entry of CreateCommandList: on a device it creates a
// list, on a deferred context it opens one.
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

// makeList determines the context whose list is created.
func (k *Checker) makeList(fr *frame, h umddi.HDevice) {
	c := k.deferredOf(fr, h)
	if c == nil {
		return
	}
	fr.target = c
	switch {
	case c.state != recording:
		k.fail(fr, "context-state", "%v %s, want it recording", c, contextStateNames[c.state])
	case len(c.open) > 0:
		k.fail(fr, "list-open-work", "%v has %s mapped", c, plural(len(c.open), "subresource"))
	case len(c.begun) > 0:
		k.fail(fr, "list-open-work", "%v has %s begun", c, plural(len(c.begun), "query"))
	}
}

// recycleCreateList checks the entry of RecycleCreateCommandList.
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

// checkList checks that the handle of a list is in the wanted state.
func (k *Checker) checkList(fr *frame, o *object, want objectState) bool {
	if o.state == want {
		return true
	}
	k.fail(fr, "list-state", "%v is %s, want %s", o, objectStateNames[o.state], objectStateNames[want])
	return false
}

// endList checks the return of CreateCommandList and RecycleCreateCommandList
// on a device.
func (k *Checker) endList(fr *frame, ok bool) {
	c, o := fr.target, fr.created
	if !ok || c == nil || o == nil || !o.alive() {
		return
	}
	o.state, o.owner = objectAlive, c
	o.setRetired(false)
	o.maps, o.queries = maps.Clone(c.maps), maps.Clone(c.queries)
	o.recorded, c.recorded = c.recorded, new(content.List)
	c.state = finished
	c.bound = bindings{}
}

// retireList checks the entry of RecycleDestroyCommandList.
func (k *Checker) retireList(fr *frame) {
	if o := k.use(fr, fr.args[1].(umddi.HCommandList).Object, umddi.HandleCommandList); o != nil && k.checkList(fr, o, objectAlive) {
		k.checkLocals(fr, o)
		fr.created = o
	}
}

// recycleList checks the entry of RecycleCommandList, which takes the device's
// handle.
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

// setListState ends a function that moves a list to another state.
func setListState(fr *frame, to objectState) {
	if o := fr.created; o != nil && o.alive() {
		o.state = to
		o.setRetired(to == objectRetired || to == objectCached)
	}
}

// execute checks the entry of CommandListExecute.
func (k *Checker) execute(fr *frame) {
	o := k.use(fr, fr.args[1].(umddi.HCommandList).Object, umddi.HandleCommandList)
	if o == nil {
		return
	}
	list, c := o.source(), fr.ctx
	if !k.checkList(fr, list, objectAlive) {
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
		maps.Copy(c.maps, list.maps)
		maps.Copy(c.queries, list.queries)
	}
}

// sorted returns subresources in the order in which their resources were
// created.
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

// query records QueryBegin and QueryEnd.
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

// A family is a family of map functions.
type family string

// mapFamilies maps each map function to its family.
var mapFamilies = map[string]family{
	"pfnStagingResourceMap": "StagingResource", "pfnStagingResourceUnmap": "StagingResource",
	"pfnDynamicResourceMapDiscard": "DynamicResource", "pfnDynamicResourceUnmap": "DynamicResource",
	"pfnDynamicIABufferMapDiscard": "DynamicIABuffer", "pfnDynamicIABufferMapNoOverwrite": "DynamicIABuffer", "pfnDynamicIABufferUnmap": "DynamicIABuffer",
	"pfnDynamicConstantBufferMapDiscard": "DynamicConstantBuffer", "pfnDynamicConstantBufferUnmap": "DynamicConstantBuffer",
}

// familyOf returns the family of map functions to use for a resource.
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

// mapResource checks the entry of a map function.
func (k *Checker) mapResource(fr *frame) {
	o := k.use(fr, fr.args[1].(umddi.HResource).Object, umddi.HandleResource)
	if o == nil {
		return
	}
	s := subresource{o.source(), fr.args[2].(uint32)}
	if want := familyOf(s.res); mapFamilies[fr.f.Name] != want {
		k.fail(fr, "map-state", "%v must be mapped by the functions pfn%s*", s.res, want)
	} else if _, mapped := fr.ctx.open[s]; mapped {
		k.fail(fr, "map-state", "subresource %d of %v is mapped", s.sub, s.res)
	}
	if fr.ctx.deferred && fr.f.Name == "pfnDynamicIABufferMapNoOverwrite" && !o.discarded[s.sub] {
		k.fail(fr, "map-discard", "%v was not discarded in this list", s.res)
	}
	fr.created = o
}

// endMap checks the return of a map function.
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

// unmap checks the entry of an unmap function.
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
	k.unmapContent(fr, s)
}
