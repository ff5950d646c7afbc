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
	if fr.busy != nil {
		busy = fmt.Sprintf(" but %s with %v", fr.busy.Function, ddi.DDIStillDrawing)
	}
	k.failBy(fr, k.failedBy(fr), "removed-report", "%s %v, and no callback has failed%s%s", verb, ddi.DDIDeviceRemoved, busy, k.got(fr))
}

// got describes the objects passed to the function of fr: their private memory and
// the functions that made them ready.
func (k *Checker) got(fr *frame) string {
	var all []string
	if c := fr.ctx; c != nil && c.deferred && c.last.f != nil {
		all = append(all, fmt.Sprintf("%v is from %s", c, c.last.f.Name))
	}
	if c := fr.target; c != nil && c.last.f != nil {
		all = append(all, fmt.Sprintf("%v is from %s", c, c.last.f.Name))
	}
	for _, o := range fr.inputs() {
		all = append(all, o.origin())
	}
	if all == nil {
		return ""
	}
	return "; " + strings.Join(all, "; ")
}

// origin describes the private memory of an object and the functions that made it
// ready.
func (o *object) origin() string {
	text := fmt.Sprintf("%v has %s of private memory as %s returned", o, plural(len(o.h.Private), "byte"), o.calcOf())
	create := "pfnCreate" + createNames[o.kind]
	if o.last[1].f == nil {
		return text
	}
	text += " and is from " + create
	for _, u := range o.last {
		if u.f != nil && u.f.Name != create {
			text += ", " + u.f.Name
		}
	}
	return text
}

// createNames are the parts of the names of functions that create an object.
var createNames = map[umddi.HandleType]string{
	umddi.HandleResource: "Resource", umddi.HandleRenderTargetView: "RenderTargetView", umddi.HandleQuery: "Query", umddi.HandleCommandList: "CommandList",
}

// explain adds to a panic of a driver on t: if an index is out of range in a Create
// function, or of the private memory of an object, the call that returned its size.
func (k *Checker) explain(t *ddi.Thread, text string) (string, *Culprit) {
	at := strings.LastIndexAny(text, " ")
	n, err := strconv.Atoi(text[at+1:])
	if err != nil || !strings.Contains(text, "out of range") {
		return "", nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	fr := k.thread(t).inDriver()
	if fr == nil {
		return "", nil
	}
	all := fr.objects
	if fr.created != nil {
		all = append([]*object{fr.created}, all...)
	}
	for _, o := range all {
		if len(o.h.Private) == n || o == fr.created && strings.HasPrefix(fr.f.Name, "pfnCreate") {
			return "; " + o.origin(), o.sizedBy()
		}
	}
	for _, c := range []*context{fr.target, fr.ctx} {
		if c != nil && c.deferred && c.size == n {
			const function = "pfnCalcPrivateDeferredContextSize"
			return fmt.Sprintf("; %v has %s of private memory as %s returned", c, plural(n, "byte"), function),
				&Culprit{Function: function, Call: c.calc, Argument: "result", Why: fmt.Sprintf("is %d for %v", n, c)}
		}
	}
	return "", nil
}
