package verifier

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// checkRemoved checks that a driver that reports a removed device knows it from
// the graphics kernel.
func (k *Checker) checkRemoved(fr *frame, verb string) {
	if fr.ctx == nil {
		return
	}
	if s := fr.ctx.device.kernel; s != nil && s.failed {
		return
	}
	busy := ""
	if fr.busy != "" {
		busy = fmt.Sprintf(" but %s with %v", fr.busy, ddi.DDIStillDrawing)
	}
	k.fail(fr, "removed-report", "%s %v, and no callback has failed%s%s", verb, ddi.DDIDeviceRemoved, busy, k.got(fr))
}

// got describes the objects passed to the function of fr: their private memory and
// the functions that made them ready.
func (k *Checker) got(fr *frame) string {
	var all []string
	if c := fr.ctx; c != nil && c.deferred && c.last != nil {
		all = append(all, fmt.Sprintf("%v is from %s", c, c.last.Name))
	}
	if c := fr.target; c != nil && c.last != nil {
		all = append(all, fmt.Sprintf("%v is from %s", c, c.last.Name))
	}
	seen := map[*object]bool{}
	add := func(o *object) {
		if o == nil || seen[o] {
			return
		}
		seen[o] = true
		all = append(all, o.origin())
	}
	add(fr.created)
	for _, o := range fr.objects {
		add(o)
		add(o.of)
	}
	if fr.f.Name == "pfnCommandListExecute" && len(fr.objects) > 0 {
		for _, s := range sorted(fr.objects[0].source().maps) {
			add(s.res)
		}
	}
	if all == nil {
		return ""
	}
	return "; " + strings.Join(all, "; ")
}

// origin describes the private memory of an object and the functions that made it
// ready.
func (o *object) origin() string {
	sized := "pfnCalcPrivate" + createNames[o.kind] + "Size"
	if o.of != nil {
		sized = "pfnCalcDeferredContextHandleSize"
	}
	text := fmt.Sprintf("%v has %s of private memory as %s returned", o, plural(len(o.h.Private), "byte"), sized)
	create := "pfnCreate" + createNames[o.kind]
	if o.last[1] == nil {
		return text
	}
	text += " and is from " + create
	for _, f := range o.last {
		if f != nil && f.Name != create {
			text += ", " + f.Name
		}
	}
	return text
}

// createNames are the parts of the names of functions that create an object.
var createNames = map[umddi.HandleType]string{
	umddi.HandleResource: "Resource", umddi.HandleRenderTargetView: "RenderTargetView", umddi.HandleQuery: "Query", umddi.HandleCommandList: "CommandList",
}

// explain adds to a panic of a driver on t: if an index is out of range in a Create
// function, or of the private memory of an object, which function asked for its size.
func (k *Checker) explain(t *ddi.Thread, text string) string {
	at := strings.LastIndexAny(text, " ")
	n, err := strconv.Atoi(text[at+1:])
	if err != nil || !strings.Contains(text, "out of range") {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	fr := k.thread(t).inDriver()
	if fr == nil {
		return ""
	}
	all := fr.objects
	if fr.created != nil {
		all = append([]*object{fr.created}, all...)
	}
	for _, o := range all {
		if len(o.h.Private) == n || o == fr.created && strings.HasPrefix(fr.f.Name, "pfnCreate") {
			return "; " + o.origin()
		}
	}
	for _, c := range []*context{fr.target, fr.ctx} {
		if c != nil && c.deferred && c.size == n {
			return fmt.Sprintf("; %v has %s of private memory as pfnCalcPrivateDeferredContextSize returned", c, plural(n, "byte"))
		}
	}
	return ""
}
