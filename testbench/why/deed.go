package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A deed is what the host or the GPU did: an event with its first fields. Deeds are kept before the first submission
// only: without the driver stack there is none, and with it the submissions tell more.
type deed struct {
	Point
	kind   eventlog.Kind
	fields [6]uint64
}

// did keeps an event that is a deed.
func (b *builder) did(e *eventlog.Event, at Point) {
	switch e.Kind {
	case eventlog.Read, eventlog.Write, eventlog.Memory, eventlog.Message, eventlog.Executed, eventlog.Descriptor, eventlog.Fault, eventlog.Refused:
		b.deeds = append(b.deeds, deed{at, e.Kind, [6]uint64(e.Fields[:6])})
	default:
	}
}

// ofNode returns the node of a deed, and false if it has none.
func (d *deed) ofNode() (uint64, bool) {
	switch d.kind {
	case eventlog.Executed, eventlog.Descriptor, eventlog.Fault:
		return d.fields[0], true
	default:
		return 0, false
	}
}

// String describes a deed.
func (d *deed) String() string {
	f := &d.fields
	verb := "reads"
	switch d.kind {
	case eventlog.Read, eventlog.Write:
		if d.kind == eventlog.Write {
			verb = "writes"
		}
		if f[2] > 4 {
			return fmt.Sprintf("the host %s %d bytes of %s", verb, f[2], where(f[0], f[1]))
		}
		return fmt.Sprintf("the host %s %s, %#x", verb, where(f[0], f[1]), f[3])
	case eventlog.Memory:
		return fmt.Sprintf("the GPU writes %#x to %s", f[2], pkt.FormatAddr(pkt.Host|f[0]))
	case eventlog.Message:
		return fmt.Sprintf("a message of vector %d arrives", f[0])
	case eventlog.Executed:
		return fmt.Sprintf("node %d executes %s at %s", f[0], nameOf(f[2]), pkt.FormatAddr(f[1]))
	case eventlog.Descriptor:
		what := fmt.Sprintf("copies %d bytes from %s", f[4], pkt.FormatAddr(f[3]))
		if f[5] != 0 {
			what = fmt.Sprintf("fills %d bytes", f[4])
		}
		return fmt.Sprintf("the DMA engine %s to %s, for the packet of node %d at %s", what, pkt.FormatAddr(f[2]), f[0], pkt.FormatAddr(f[1]))
	case eventlog.Fault:
		return fmt.Sprintf("node %d stops on the fault %s at %s", f[0], causeName(f[2]), pkt.FormatAddr(f[3]))
	default:
		if f[2] != 0 {
			verb = "writes"
		}
		return fmt.Sprintf("the GPU %s %d bytes at %s, where no memory is", verb, f[1], pkt.FormatAddr(pkt.Host|f[0]))
	}
}

// nameOf returns the name of a packet with a header.
func nameOf(header uint64) string {
	if l, ok := pkt.Lookup(uint8(header >> 24)); ok {
		return l.Name
	}
	return fmt.Sprintf("a packet with the header %#08x", header)
}

// A touch is what a deed does to an address.
type touch int

const (
	none touch = iota
	reads
	writes
)

// touches returns what a deed does to a GPU address.
func (d *deed) touches(addr uint64) touch {
	in := func(from, size uint64) bool { return addr-from < size }
	f := &d.fields
	is := map[bool]touch{true: writes, false: reads}
	switch d.kind {
	case eventlog.Read, eventlog.Write:
		if f[0] == apertureBAR && in(f[1], f[2]) {
			return is[d.kind == eventlog.Write]
		}
	case eventlog.Memory:
		if in(pkt.Host|f[0], f[1]) {
			return writes
		}
	case eventlog.Refused:
		if in(pkt.Host|f[0], f[1]) {
			return reads // a refused write writes nothing
		}
	case eventlog.Executed:
		if f[1] == addr {
			return reads
		}
	case eventlog.Descriptor:
		if in(f[2], f[4]) {
			return writes
		}
		if f[5] == 0 && in(f[3], f[4]) {
			return reads
		}
	default:
	}
	return none
}

// apertureBAR is the BAR that maps VRAM.
const apertureBAR = 2

// touched adds the last deeds at an address to an answer, but not the reads of the host, which change nothing. It returns
// how many of all write it.
func (r *Run) touched(a *Answer, addr uint64) (written int) {
	var all []Step
	var last *deed
	read := 0
	for i := range r.deeds {
		d := &r.deeds[i]
		t := d.touches(addr)
		switch {
		case t == none:
			continue
		case t == writes:
			written++
		case d.kind == eventlog.Read:
			read, last = read+1, d
			continue
		}
		all = append(all, Step{Event: d.Event, Time: d.Time, What: d.String()})
	}
	if n := len(all) - maxTouches; n > 0 {
		a.Notes = append(a.Notes, "what happened there before is left out: "+often(n))
		all = all[n:]
	}
	a.Chain = append(a.Chain, all...)
	if read > 0 {
		a.step(last.Point, "%s: the last of %s", last, count(read, "read of the host", "reads of the host"))
	}
	return written
}

// around answers what host and GPU did last before a time, and what each node does next. The log has no submissions.
func (r *Run) around(a *Answer, at uint64) {
	last, next := map[string]*deed{}, map[uint64]*deed{}
	for i := range r.deeds {
		d := &r.deeds[i]
		node, has := d.ofNode()
		switch {
		case d.Time <= at && has:
			last[fmt.Sprint("node ", node)] = d
		case d.Time <= at && (d.kind == eventlog.Read || d.kind == eventlog.Write):
			last["host"] = d
		case d.Time <= at:
			last[d.kind.String()] = d
		case has && next[node] == nil:
			next[node] = d
		}
	}
	var steps []*deed
	for _, d := range last {
		steps = append(steps, d)
	}
	for _, d := range next {
		steps = append(steps, d)
	}
	slices.SortFunc(steps, func(x, y *deed) int { return cmp.Compare(x.Event, y.Event) })
	for _, d := range steps {
		a.step(d.Point, "%s", d)
	}
	a.Verdict = r.atWork(last, steps)
}

// atWork says which nodes are known to be in a packet: a descriptor of it was taken, and it ends later.
func (r *Run) atWork(last map[string]*deed, steps []*deed) string {
	var busy []string
	for _, d := range steps {
		node, _ := d.ofNode()
		before := last[fmt.Sprint("node ", node)]
		if d.kind == eventlog.Executed && before != nil && before.kind == eventlog.Descriptor && before.fields[1] == d.fields[1] && d != before {
			busy = append(busy, fmt.Sprintf("node %d was in %s at %s", node, nameOf(d.fields[2]), pkt.FormatAddr(d.fields[1])))
		}
	}
	switch {
	case len(busy) > 0:
		return strings.Join(busy, ", ")
	case !r.Header.Observed:
		return "the log has no submissions, and this board does not tell what its nodes do"
	}
	return "the log has no submissions, and no node is known to have been in a packet"
}
