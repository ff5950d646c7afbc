package mutant

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

func translated(t *testing.T, c gpu.Config) *verilog.Design {
	t.Helper()
	top, err := lockstep.NewTop(c)
	require.NoError(t, err)
	d, err := top.Translate("../../..")
	require.NoError(t, err)
	return d
}

// The signals of each rule exist.
func TestRulesDeclared(t *testing.T) {
	tooltest.Long(t)
	for _, c := range []gpu.Config{gpu.Small(), gpu.Default()} {
		d := translated(t, c)
		for _, r := range rules() {
			for _, f := range d.Files {
				if f.Name == r.module+".v" {
					assert.True(t, declares(f.Text, r.text), "%s: %s", r.module, r.text)
					assert.False(t, declares(f.Text, r.text+" && missing"))
				}
			}
		}
	}
}

// A mistake that only a host without rules could notice is equivalent. The same mistake at
// the edge of the rules is not.
func TestProveWithRules(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys", "yosys-abc")
	d := translated(t, gpu.Small())
	for _, tt := range []struct {
		module, old, changed string
		want                 string
	}{
		{"mem", "d_target_Left = n_target_Left;", "d_target_Left = n_target_Left & 5'hf;", reached},
		{"mem", "d_target_Left = n_target_Left;", "d_target_Left = n_target_Left & 5'h17;", ""},
		{"pcie", "complete_CplSuccess_last = n_left == 6'd0", "complete_CplSuccess_last = (n_left & 6'h1f) == 6'd0", reached},
		{"pcie", "complete_CplSuccess_last = n_left == 6'd0", "complete_CplSuccess_last = (n_left & 6'h2f) == 6'd0", ""},
		{"noc_initiator", "Awaits_cpl_awaited = flying & ~late;", "Awaits_cpl_awaited = (flying | 64'h80000000000) & ~late;", always},
		{"noc_initiator", "Awaits_cpl_awaited = flying & ~late;", "Awaits_cpl_awaited = flying & ~late & 64'hfffffffeffffffff;", ""},
	} {
		for _, f := range d.Files {
			lo := strings.Index(string(f.Text), tt.old)
			if f.Name != tt.module+".v" {
				continue
			}
			require.Positive(t, lo, tt.old)
			m := Mutant{ID: 1, Module: tt.module, File: f.Name, Old: tt.old, New: tt.changed, lo: lo, hi: lo + len(tt.old)}
			if at := strings.Index(tt.old, " = "); at > 0 { // only the value
				m.lo, m.Old = lo+at+3, tt.old[at+3:]
				m.New = tt.changed[at+3:]
			}
			m.Old, m.New = strings.TrimSuffix(m.Old, ";"), strings.TrimSuffix(m.New, ";")
			m.hi = m.lo + len(m.Old)
			p, err := NewProver(d, []Mutant{m})
			require.NoError(t, err)
			got := ""
			for _, way := range proofs() {
				verdict, err := p.try(m, way, scope{module: tt.module})
				require.NoError(t, err)
				if verdict == proven {
					got = way.name
					break
				}
			}
			assert.Equal(t, tt.want, got, "%s: %s", tt.module, tt.changed)
		}
	}
}
