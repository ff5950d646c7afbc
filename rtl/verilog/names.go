package verilog

import (
	"fmt"
	"strings"
)

// keywords of Verilog-2001 and SystemVerilog. Some tools treat both as keywords
// in Verilog files.
const keywords = ` always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config
deassign default defparam design disable edge else end endcase endconfig endfunction endgenerate endmodule
endprimitive endspecify endtable endtask event for force forever fork function generate genvar highz0 highz1
if ifnone incdir include initial inout input instance integer join large liblist library localparam
macromodule medium module nand negedge nmos nor noshowcancelled not notif0 notif1 or output parameter pmos
posedge primitive pull0 pull1 pulldown pullup pulsestyle_onevent pulsestyle_ondetect rcmos real realtime reg
release repeat rnmos rpmos rtran rtranif0 rtranif1 scalared showcancelled signed small specify specparam
strong0 strong1 supply0 supply1 table task time tran tranif0 tranif1 tri tri0 tri1 triand trior trireg
unsigned use vectored wait wand weak0 weak1 while wire wor xnor xor
accept_on alias always_comb always_ff always_latch assert assume before bind bins binsof bit break byte
chandle checker class clocking const constraint context continue cover covergroup coverpoint cross dist do
endchecker endclass endclocking endgroup endinterface endpackage endprogram endproperty endsequence enum
eventually expect export extends extern final first_match foreach forkjoin global iff ignore_bins
illegal_bins implements implies import inside int interconnect interface intersect join_any join_none let
local logic longint matches modport nettype new nexttime null package packed priority program property
protected pure rand randc randcase randsequence ref reject_on restrict return s_always s_eventually
s_nexttime s_until s_until_with sequence shortint shortreal soft solve static string strong struct super
sync_accept_on sync_reject_on tagged this throughout timeprecision timeunit type typedef union unique
unique0 until until_with untyped var virtual void wait_order weak wildcard with within `

// namer gives out unique names.
type namer struct {
	used     map[string]bool
	reserved map[string]bool
}

func newNamer() *namer {
	n := &namer{used: map[string]bool{"clk": true, "rst": true}, reserved: map[string]bool{}}
	for _, k := range strings.Fields(keywords) {
		n.reserved[k] = true
	}
	return n
}

// fresh returns name, with a suffix if it is a keyword or already used.
func (n *namer) fresh(name string) string {
	name = mangle(name)
	if n.reserved[name] {
		name += "_r"
	}
	got := name
	for i := 2; n.used[got]; i++ {
		got = fmt.Sprintf("%s_%d", name, i)
	}
	n.used[got] = true
	return got
}

// mangle makes a Verilog name from a Go path.
func mangle(path string) string {
	return strings.NewReplacer(".", "_", "[", "_", "]", "").Replace(path)
}
