package mutant

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// assumed is the output of a module in a proof that reports whether its inputs keep the
// rules.
const assumed = "proof_assumed"

// block returns the rule of package port for a header: a length of 1 to port.MaxLen dwords
// within a multiple of 128 bytes.
func block(header string) string {
	return fmt.Sprintf("(%[1]s_Len != 8'd0) && ({4'd0, %[1]s_Addr[6:2]} + {1'b0, %[1]s_Len} <= 9'd32)", header)
}

// hostHeader returns the rule of package port for a header of the host.
func hostHeader(header string) string {
	return fmt.Sprintf("(%[1]s_Kind == 0) || (%[1]s_Kind <= 4) && (%[1]s_Addr[1:0] == 2'd0) && %[2]s &&\n"+
		"((%[1]s_Kind < 3) || (%[1]s_Len == 8'd1) && (%[1]s_Addr[63:12] == 52'd0))", header, block(header))
}

// writeHeader returns the rule of mem.Module for a header of a write: of the stream whose
// beats have fromTarget on or off.
func writeHeader(header, stream, on string) string {
	ends := fmt.Sprintf("beat_Valid && WriteReady && %s && (%s_Left == 5'd1)", on, stream)
	return fmt.Sprintf("(%s_Kind == 0) || (%[1]s_Kind == 2) && %s && (!%s_Valid || %s)", header, block(header), stream, ends)
}

// A rule is what the inputs of a module keep in each clock without a reset. The Go side
// checks it: lockstep.Device the rules of package port, hdl.Assert those of a block.
type rule struct{ module, text string }

// rules returns the assumptions of the proofs.
func rules() []rule {
	return []rule{
		{"gpu", hostHeader("req")},     // lockstep.Device
		{"pcie", hostHeader("in_Req")}, // lockstep.Device
		{"noc_initiator", "(cpl_Status == 0) || (cpl_Tag < 8'd64) && flying[cpl_Tag[5:0]]"}, // lockstep.Device
		{"outbound", "(answer_Wish == 0) || (pend_Wish == 0)"},
		{"transmit", "!(write_Valid || write_Done) || (state == 0) || (job_Kind_2 != 3) && (job_Kind_2 != 4) || (write_Slot != job_Slot_2)"},
		{"ident", "(regs_Op == 0) || (err_Cause == 0)"},
		{"dma", "(desc_Op == 0) || (desc_Len != 32'd0)"},
		{"mem", "(rd_Kind == 0) || !(Reader_Idle || Reader_Ends && (!Reader_Full || cplReady)) || (rd_Kind == 1) && " + block("rd")},
		{"mem", writeHeader("wr", "write", "!fromTarget")},
		{"mem", writeHeader("target", "target", "fromTarget")},
		{"mem", "!(beat_Valid && WriteReady) || (fromTarget ? target_Valid && (beat_Last == (target_Left == 5'd1)) :\n" +
			"write_Valid && (beat_Last == (write_Left == 5'd1)))"},
	}
}

// assume adds the rules to the modules of d that have all their signals.
func assume(d *verilog.Design, rules []rule) {
	for i, f := range d.Files {
		var all []string
		for _, r := range rules {
			if f.Name == r.module+".v" && declares(f.Text, r.text) {
				all = append(all, "("+r.text+")")
			}
		}
		if len(all) == 0 {
			continue
		}
		ports := regexp.MustCompile(`input\s+(wire\s+)?clk,`)
		text := ports.ReplaceAll(f.Text, []byte("output wire "+assumed+",\n$0"))
		end := bytes.LastIndex(text, []byte("endmodule"))
		d.Files[i].Text = fmt.Appendf(nil, "%sassign %s = rst || %s;\n%s", text[:end], assumed, strings.Join(all, " &&\n"), text[end:])
	}
}

// declares reports whether a module declares all signals of a rule.
func declares(text []byte, rule string) bool {
	rule = regexp.MustCompile(`[0-9]+'[bd][0-9]+`).ReplaceAllString(rule, "")
	for _, name := range regexp.MustCompile(`\b[A-Za-z]\w+`).FindAllString(rule, -1) {
		if !regexp.MustCompile(`(?m)^\s*(input wire|output reg|output wire|reg|wire) (\[[^]]*\] )?` + name + `\b`).Match(text) {
			return false
		}
	}
	return true
}
