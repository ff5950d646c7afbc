package mutant

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A known mistake is one that some traffic did not detect. at matches its place in a file of
// the configuration default, and its first group is replaced with text.
type known struct{ file, at, text string }

// knownMistakes returns the known mistakes: of closed windows and their faults, guarded
// packets, far coordinates, resumed packets, both nodes at once, resets during resets, a
// watchdog that waits long, and those of races.
func knownMistakes() []known {
	return append([]known{
		{"cp.v", `if \((file_ram_q != 64'd0)\) begin\s+(?://[^\n]*\s+)?if \(\(checkWindow_word_first`, "1'b1"},
		{"cp.v", `checkWindow_word_o_bad = (operandPair2);`, "operandPair0"},
		{"cp.v", `step_walk_p_guarded &&\s+\((step_walk_p_op != pkt_OpIndirect)\)`, "(step_walk_p_op != pkt_OpIndirect) && (step_walk_p_op != pkt_OpTimestamp)"},
		{"cp.v", `n_walk_add = \{19'd0, \((\(startRow_format_corner\[15:0\] & 16'h7fff\) \+ \{1'b0, walk_x0\})\)\};`, "{11'd0, startRow_format_corner[4:0]} + {1'b0, walk_x0}"},
		{"cp.v", `n_walk_mul = (startRow_format_corner\[30:16\] \+ startRow_format_y\[14:0\]);`, "{10'd0, startRow_format_corner[20:16]} + startRow_format_y[14:0]"},
		{"cp.v", `n_walk_y0 = walk_y0 \+ (step_walk_p_rows\[14:0\]);`, "{7'd0, step_walk_p_rows[7:0]}"},
		{"cp.v", `begin_op_empty \|\| \((\{32'd0, walk_bytes\} <= [^\n]*)\);`, "1'b0"},
		{"cp.v", `if \((\{32'd0, startRow_issue_bytes\} <= [^\n]*)\) begin`, "1'b0"},
		{"cp.v", `endRow_more = n_sync_word != 4'he;\s+end\s+//[^\n]*\s+n_walk_y0 = (walk_y0 \+ 15'd1);`, "(walk_y0 + 15'd1) & 15'h3fff"},
		{"cp.v", `n_issue_sent = \((issue_sent \+ count_issue_by\[20:0\])\)`, "(issue_sent + count_issue_by[20:0]) & 21'hfffff"},
		{"cp.v", `idle_rest_2 = [^\n]* \|\| \((decode_state) == decodeClear\);`, "(decode_state | 3'h4)"},
		{"gpu.v", `Tick_mem0_Scratch = (Tick_ctl_free && !Tick_ctl_s1_Valid);`, "Tick_ctl_free"},
		{"reset.v", `n_state_Whole = (n_state_Whole \|\| whole);`, "n_state_Whole || (whole && !state_Function)"},
		{"watchdog.v", `nextAge_was0_age = (nextAge_was0_age \+ 32'd1);`, "(nextAge_was0_age + 32'd1) & 32'hfff"},
	}, races()...)
}

// races returns the known mistakes that show only if two actions meet in a clock. They have
// the same places in small.
func races() []known {
	return []known{
		{"intc.v", `pending_wait = \{6'd0, (n_due)\}`, "due"},
		{"intc.v", `if \(!sendable_enable_enabled \|\| masked_1\) begin\s+(?://[^\n]*\s+)?sendable_enable_s = (sendable_enable_s) &`, "{sendable_enable_s[0], sendable_enable_s[15:1]}"},
		{"pcie.v", `n_cfg_bar0 = \(\((n_cfg_bar0) &`, "cfg_bar0"},
		{"pcie.v", `n_cfg_devCtl = \(\((n_cfg_devCtl) &`, "cfg_devCtl"},
		{"pcie.v", `n_cfg_nonFatal = (n_cfg_nonFatal) &&`, "cfg_nonFatal"},
		{"pcie.v", `if \((n_cfg_functionMask)\) begin`, "cfg_functionMask"},
		{"pcie.v", `function_r <= (rst \? 1'b0 : n_function_r);`, "n_function_r"},
		{"noc_initiator.v", `if \(!\(\(cpl_Status != port_CplNone\) && \((\(\(Awaits_cpl_awaited >> cpl_Tag\) & 64'd1\))`, "(Awaits_cpl_awaited >> cpl_Tag)"},
	}
}

// Known returns d, of the configuration default, with the known mistakes as mutants. It
// fails with ErrText if d has none of their places, or several.
func Known(d *verilog.Design) (*verilog.Design, []Mutant, error) { return plant(d, knownMistakes()) }

// plant returns d with mistakes as mutants. It fails with ErrText if d has none of their
// places, or several.
func plant(d *verilog.Design, mistakes []known) (*verilog.Design, []Mutant, error) {
	var all []Mutant
	for _, k := range mistakes {
		re := regexp.MustCompile(k.at)
		found := 0
		for _, f := range d.Files {
			for _, at := range re.FindAllSubmatchIndex(f.Text, -1) {
				if f.Name != k.file {
					continue
				}
				found++
				lo, hi := at[2], at[3]
				all = append(all, Mutant{
					ID: len(all) + 1, Kind: KnownMistake, Module: strings.TrimSuffix(f.Name, ".v"), File: f.Name,
					Line: 1 + bytes.Count(f.Text[:lo], []byte{'\n'}), Old: string(f.Text[lo:hi]), New: k.text, lo: lo, hi: hi,
				})
			}
		}
		if found != 1 {
			return nil, nil, fmt.Errorf("%w: %s has %d places of a known mistake, want 1: %s", ErrText, k.file, found, k.at)
		}
	}
	out, err := mutate(d, all)
	if err != nil {
		return nil, nil, err
	}
	alternate(out)
	return out, all, nil
}
