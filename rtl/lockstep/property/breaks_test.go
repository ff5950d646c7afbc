package property

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A mistake is a change of the Verilog that one property forbids.
type mistake struct {
	property, file string
	old            string // pattern
	new            string
}

// mistakes has at least one mistake for each property.
func mistakes() []mistake {
	return []mistake{
		{"fifo.count", "hdl_fifo.v", `count <= held - 1'b1;`, `count <= held;`},
		{"fifo.count", "hdl_fifo.v", `wire \[ADDR:0\]   held  = .*`, `wire [ADDR:0] held = count;`},
		{"fifo.order", "hdl_fifo.v", `\(from \+ held\[ADDR-1:0\]\)`, `(from + held[ADDR-1:0] + 1'b1)`},
		{"fifo.order", "hdl_fifo.v", `if \(push && !rst\) slots`, `if (push && !pop && !rst) slots`},
		{"dma.queue", "dma.v", `queue_push = Tick_take;`, `queue_push = desc_Op != 2'd0;`},
		{"dma.queue", "dma.v", `queue_pop = Tick_load;`, `queue_pop = !w_active;`},
		{"fence.after", "fence.v", `if \(!n_headerUp && !n_beatUp\)`, `if (!n_headerUp)`},
		{"fence.after", "fence.v", `settle_ID_refused = refused_2 \|\| refused;`, `settle_ID_refused = refused_2;`},
		{"fence.once", "fence.v", `n_event_r = !stamp && req_IRQ;`, `n_event_r = req_IRQ;`},
		{"fence.once", "fence.v", `n_beatUp = beatUp && !beatReady;`, `n_beatUp = headerUp;`},
		{"fence.line", "fence.v", `if \(!stamp && !signal\) begin`, `if (!stamp) begin`},
		{"fence.line", "fence.v", `wrapped_ID_high = wrapped_ID_high \+ 32'd1;`, ``},
		{"intc.owed", "intc.v", `n_due = due \| \(sent & status\);`, `n_due = due;`},
		{"intc.owed", "intc.v", `n_due = n_due & ~\(.*\);`, `n_due = n_due & ~accessStatus_off_v[9:0];`},
		{"intc.soon", "intc.v", `n_arrives = asks && receive_word_served;`, `n_arrives = 1'b0;`},
		{"watchdog.hang", "watchdog.v", `n_hang0 = \(n_age0 == limit\) && \(Tick_was0 != limit\);`, `n_hang0 = n_age0 == limit;`},
		{"watchdog.hang", "watchdog.v", `!n1_Busy \|\| n1_Moved`, `n1_Moved`},
		{"reset.kept", "reset.v", `n_state_Function = n_state_Function \|\| function_r;`, ``},
		{"port.grant", "gpu.v", `fence0_reqReady = \(\(tickControl_ctl_t_header >> 1\)`, `fence0_reqReady = ((tickControl_ctl_t_header >> 2)`},
		{"port.hold", "noc_initiator.v", `next_Sources_Hold = 1'b1;`, `next_Sources_Hold = 1'b0;`},
		{"port.closed", "gpu.v", `(closed_?\d*) = reset_State_Whole \|\| reset_State_Function;`, `$1 = reset_State_Whole;`},
		{"port.fair", "noc_initiator.v", `next_Sources_At = o_Source \+ 3'd1;`, `next_Sources_At = 3'd0;`},
		{"tag.once", "noc_initiator.v", `n_late = n_flying;`, `n_late = 64'd0;`},
	}
}

// broken returns the design with a mistake.
func (m mistake) broken(t *testing.T, d *verilog.Design) *verilog.Design {
	out := *d
	out.Files = nil
	for _, f := range d.Files {
		if f.Name == m.file {
			pattern := regexp.MustCompile(m.old)
			require.Regexp(t, pattern, string(f.Text))
			f.Text = pattern.ReplaceAll(f.Text, []byte(m.new))
		}
		out.Files = append(out.Files, f)
	}
	return &out
}

// Each property has a counterexample when its block is wrong, so none holds without
// reason.
func TestMistakes(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	d := translated(t, gpu.Default())
	seen := map[string]bool{}
	for _, m := range mistakes() {
		for _, p := range List() {
			if p.Name != m.property {
				continue
			}
			seen[p.Name] = true
			t.Run(p.Name+"/"+m.old, func(t *testing.T) {
				r, err := p.Prove(context.Background(), m.broken(t, d))
				require.NoError(t, err)
				assert.Equal(t, Refuted, r.Verdict)
				require.NotEmpty(t, r.Trace.Signals)
				t.Logf("%.1f s\n%s", r.Took.Seconds(), r.Trace)
			})
		}
	}
	for _, p := range List() {
		assert.True(t, seen[p.Name], "%s has no mistake", p.Name)
	}
}
