package lists

import (
	"fmt"
	"strings"
)

// Text formats the report.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lists    %d of %d copies, %d contexts, %s lists, handles %s, verifier %s\n", r.Lists, r.Ops, r.Contexts,
		choose(r.Native, "the driver's", "the runtime's"), choose(r.Recycle, "recycled", "created"), choose(r.Verify, "on", "off"))
	fmt.Fprintf(&b, "speed    %.0f lists/s recorded, executed and released, without the kernel\n", r.ListsPerSecond)
	p := r.Parts
	fmt.Fprintf(&b, "ns/list  record %.0f, finish %.0f, release %.0f, execute %.0f\n", p.Record, p.Finish, p.Release, p.Execute)
	fmt.Fprintf(&b, "kernel   %.0f ns/list, with the GPU it waits for, in %d submissions\n", p.Kernel, r.Submissions)
	fmt.Fprintf(&b, "heap     %.4f allocations/list\n", r.Allocations)
	fmt.Fprintf(&b, "calls    per list, counted in a separate run of %d lists\n", r.CountedOver)
	for _, c := range r.Calls {
		fmt.Fprintf(&b, "  %-34s %.4f\n", c.Name, c.PerList)
	}
	return b.String()
}

func choose(c bool, yes, no string) string {
	if c {
		return yes
	}
	return no
}
