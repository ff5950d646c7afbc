package synth

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// toy is a device with the ports of a GPU that echoes its inputs: each output has
// a register.
func toy() *verilog.Design {
	width := map[string]int{
		"beat.Valid": 1, "beat.Last": 1, "cpl.Last": 1, "cplReady": 1, "reqReady": 1, "dataReady": 1,
		"req.Addr": 64, "beat.Data": 64, "cpl.Data": 64,
		"Target.cpl.Last": 1, "Target.cpl.Data": 64, "Target.reqReady": 1, "Target.dataReady": 1,
		"Initiator.req.Addr": 64, "Initiator.beat.Valid": 1, "Initiator.beat.Last": 1, "Initiator.beat.Data": 64,
	}
	echo := map[string]string{
		"Target.reqReady": "reqReady", "Target.dataReady": "dataReady",
		"Target.cpl.Tag": "cpl.Tag", "Target.cpl.Status": "cpl.Status", "Target.cpl.Last": "cpl.Last", "Target.cpl.Data": "cpl.Data",
		"Initiator.req.Kind": "req.Kind", "Initiator.req.Tag": "req.Tag", "Initiator.req.Len": "req.Len", "Initiator.req.Addr": "req.Addr",
		"Initiator.beat.Valid": "beat.Valid", "Initiator.beat.Last": "beat.Last",
		"Initiator.beat.Enable": "beat.Enable", "Initiator.beat.Data": "beat.Data",
	}
	d := &verilog.Design{Manifest: verilog.Manifest{Top: "toy", Ports: []verilog.Port{
		{Name: "clk", Input: true, Width: 1}, {Name: "rst", Input: true, Width: 1},
	}}}
	names := map[string]string{}
	for i, w := range wires() {
		names[w.path] = fmt.Sprintf("p%d", i)
	}
	var head, body bytes.Buffer
	head.WriteString("module toy(input wire clk, input wire rst")
	for _, w := range wires() {
		k := width[w.path]
		if k == 0 {
			k = 8
		}
		in, out := echo[w.path]
		d.Manifest.Ports = append(d.Manifest.Ports, verilog.Port{Name: names[w.path], Input: !out, Width: k, Go: w.path})
		if out {
			fmt.Fprintf(&head, ", output reg [%d:0] %s", k-1, names[w.path])
			fmt.Fprintf(&body, "always @(posedge clk) %s <= rst ? %d'd0 : %s;\n", names[w.path], k, names[in])
		} else {
			fmt.Fprintf(&head, ", input wire [%d:0] %s", k-1, names[w.path])
		}
	}
	text := head.String() + ");\n" + body.String() + "endmodule\n"
	d.Files = []verilog.File{{Name: "toy.v", Text: []byte(text)}}
	return d
}

func TestPlace(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys", "nextpnr-ice40")
	p, err := Place(toy())
	require.NoError(t, err)
	assert.Empty(t, p.Findings)
	assert.True(t, p.Fits)
	assert.Zero(t, p.RAM)
	assert.Greater(t, p.PinCells, 192, "two frames of 96 flip-flops")
	assert.Greater(t, p.Cells+p.PinCells, 192)
	assert.Greater(t, p.MHz, GoalMHz)
	for _, g := range p.Goals {
		assert.True(t, g.Holds, "%v", g)
	}
}

func TestOnPinsRefuses(t *testing.T) {
	d := toy()
	d.Manifest.Ports = append(d.Manifest.Ports, verilog.Port{Name: "more", Input: true, Width: 1, Go: "more"})
	_, err := onPins(d)
	assert.ErrorIs(t, err, ErrPlace)
	assert.ErrorContains(t, err, "more")
	d.Manifest.Ports = d.Manifest.Ports[:5]
	_, err = onPins(d)
	assert.ErrorIs(t, err, ErrPlace)
}

func TestGoals(t *testing.T) {
	for _, tt := range []struct {
		name  string
		p     Placement
		holds []bool
	}{
		{"at the limits", Placement{Cells: 6092, RAM: 26, MHz: 24}, []bool{true, true, true}},
		{"above the limits", Placement{Cells: 6093, RAM: 27, MHz: 23.9}, []bool{false, false, false}},
		{"no clock", Placement{Cells: 1, RAM: 1}, []bool{true, true, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var holds []bool
			for _, g := range tt.p.goals() {
				holds = append(holds, g.Holds)
			}
			assert.Equal(t, tt.holds, holds)
		})
	}
}

func TestPacked(t *testing.T) {
	got, err := packed("Info:     10 LCs used as LUT4 only\nInfo:     200 LCs used as LUT4 and DFF\n" +
		"Info:     3000 LCs used as DFF only\nInfo:        4 LCs used as CARRY only\n")
	require.NoError(t, err)
	assert.Equal(t, 3214, got)
	_, err = packed("Info:     10 LCs used as LUT4 only\n")
	assert.ErrorIs(t, err, ErrPlace)
}

func TestSlowest(t *testing.T) {
	late, err := missed([]byte(`{"fmax": {"b": {"achieved": 20.5}, "a": {"achieved": 124.9, "constraint": 125}, "c": {"achieved": 21}}}`), 21)
	require.NoError(t, err)
	assert.Equal(t, []Finding{{Clock, "a: 124.90 MHz by nextpnr, want 125 MHz"}, {Clock, "b: 20.50 MHz by nextpnr, want 21 MHz"}}, late)
	got, err := slowest([]byte(`{"fmax": {"a": {"achieved": 61.5, "constraint": 24}, "b": {"achieved": 30.25}}}`))
	require.NoError(t, err)
	assert.Equal(t, 30.25, got)
	_, err = slowest([]byte(`{"fmax": {}}`))
	assert.ErrorIs(t, err, ErrPlace)
}

func TestReportSaysWhatIsMissed(t *testing.T) {
	p := &Placement{Device: Device, Cells: 9000, RAM: 20, Findings: []Finding{{Latch, "q"}}}
	p.Goals = p.goals()
	text := (&Report{Config: "small", Target: ICE40, VRAMBytes: VRAMBytes, Placement: p}).String()
	assert.Contains(t, text, "goal logic cells: MISSED, 9000, want 6092")
	assert.Contains(t, text, "goal block RAMs: holds, 20, want 26")
	assert.Contains(t, text, "does not fit")
	assert.Contains(t, text, "REFUSED latch: q")
}

// A goal that is missed refuses the design.
func TestMissedGoalsRefuse(t *testing.T) {
	p := &Placement{Cells: GoalCells + 1, RAM: GoalRAM, MHz: GoalMHz - 1}
	p.Goals = p.goals()
	assert.Equal(t, []Finding{
		{Size, fmt.Sprintf("logic cells: %d, want %d", GoalCells+1, GoalCells)},
		{Clock, fmt.Sprintf("MHz: %.5g, want %.5g", GoalMHz-1, GoalMHz)},
	}, (&Report{Placement: p}).Refused())
}
