package regmap

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
)

// changed returns the changes from a small map to the same map after an edit.
func changed(t *testing.T, edit func(m *jsonMap)) []Change {
	t.Helper()
	base := func() jsonMap {
		return jsonMap{
			Blocks: []jsonBlock{{Name: "A", Base: 0x100, Size: 0x100, Regs: []jsonReg{
				{Off: 0, Name: "CTL", Access: "rw", Fields: []jsonField{{Mask: 1, Name: "RUN", Enum: []string{"OFF", "ON"}}}},
				{Off: 4, Name: "COUNT", Access: "ro", Volatile: true, Unit: "clocks"},
			}}},
			Packets: []jsonPacket{{Op: 4, Name: "COPY", Body: 5, Fields: []jsonPacketPart{{Dword: 1, Mask: 0xff, Name: "Src", Kind: "read", Max: 9, Align: 4}}}},
		}
	}
	now := base()
	edit(&now)
	a, err := json.Marshal(base())
	require.NoError(t, err)
	b, err := json.Marshal(now)
	require.NoError(t, err)
	all, err := compare(a, b)
	require.NoError(t, err)
	return all
}

func TestCompare(t *testing.T) {
	ctl := func(m *jsonMap) *jsonReg { return &m.Blocks[0].Regs[0] }
	run := func(m *jsonMap) *jsonField { return &ctl(m).Fields[0] }
	for _, tt := range []struct {
		edit func(m *jsonMap)
		want string
	}{
		{func(m *jsonMap) { m.Blocks[0].Base = 0x200 }, "breaks  A: the base was 0x100, is 0x200"},
		{func(m *jsonMap) { m.Blocks[0].Size = 0x80 }, "breaks  A: the size was 0x100, is 0x80"},
		{func(m *jsonMap) { m.Blocks[0].Size = 0x180 }, "adds    A: the size was 0x100, is 0x180"},
		{func(m *jsonMap) { m.Blocks[0].Name = "B" }, "breaks  A: the block is gone"},
		{func(m *jsonMap) { m.Blocks[0].Needs = caps.Trace }, "breaks  A: it was there always, is there if CAPS2.TRACE is 1"},
		{func(m *jsonMap) { ctl(m).Off = 8 }, "breaks  A.CTL: the offset was 0x0, is 0x8"},
		{func(m *jsonMap) { ctl(m).Access = "wo" }, "breaks  A.CTL: the access was rw, is wo"},
		{func(m *jsonMap) { ctl(m).Reset = 1 }, "breaks  A.CTL: the value after reset was 0x0, is 0x1"},
		{func(m *jsonMap) { ctl(m).Write = "trigger" }, "breaks  A.CTL: the effect of a write was none, is trigger"},
		{func(m *jsonMap) { ctl(m).Volatile = true }, "breaks  A.CTL: that the device may change it was false, is true"},
		{func(m *jsonMap) { m.Blocks[0].Regs = m.Blocks[0].Regs[:1] }, "breaks  A.COUNT: the register is gone"},
		{func(m *jsonMap) { m.Blocks[0].Regs[1].Unit = "bytes" }, "breaks  A.COUNT: the unit was clocks, is bytes"},
		{func(m *jsonMap) { m.Blocks[0].Regs[1].Fields = []jsonField{{Mask: 1, Name: "X"}} }, "breaks  A.COUNT: it had no fields, so all bits were the value"},
		{func(m *jsonMap) {
			m.Blocks[0].Regs = append(m.Blocks[0].Regs, jsonReg{Off: 8, Name: "NEW", Access: "ro"})
		}, "adds    A.NEW: the register is new"},
		{func(m *jsonMap) { run(m).Mask = 3 }, "breaks  A.CTL.RUN: the mask was 0x1, is 0x3"},
		{func(m *jsonMap) { run(m).Enum = []string{"OFF", "ON", "SLOW"} }, "adds    A.CTL.RUN: the value 2 is new: SLOW"},
		{func(m *jsonMap) { run(m).Enum = []string{"OFF"} }, "breaks  A.CTL.RUN: the value 1, ON, is gone"},
		{func(m *jsonMap) { run(m).Enum = []string{"ON", "ON"} }, "breaks  A.CTL.RUN: the value 0 was OFF, is ON"},
		{func(m *jsonMap) { ctl(m).Fields = append(ctl(m).Fields, jsonField{Mask: 2, Name: "STEP"}) }, "adds    A.CTL.STEP: the field is new"},
		{func(m *jsonMap) { m.Packets[0].Op = 5 }, "breaks  packet COPY: the opcode was 0x4, is 0x5"},
		{func(m *jsonMap) { m.Packets[0].Privileged = true }, "breaks  packet COPY: that it is legal in the ring only was false, is true"},
		{func(m *jsonMap) { m.Packets[0].Fields[0].Max = 8 }, "breaks  packet COPY.Src: the largest value was 9, is 8"},
		{func(m *jsonMap) { m.Packets[0].Fields[0].Max = 0 }, "adds    packet COPY.Src: the largest value was 9, is that of its bits"},
		{func(m *jsonMap) { m.Packets[0].Fields[0].Align = 8 }, "breaks  packet COPY.Src: the alignment was 4, is 8"},
		{func(m *jsonMap) { m.Packets[0].Fields[0].Align = 1 }, "adds    packet COPY.Src: the alignment was 4, is 1"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			all := changed(t, tt.edit)
			require.NotEmpty(t, all)
			assert.Equal(t, tt.want, all[0].String())
		})
	}
}

func TestCompareSame(t *testing.T) {
	all, err := Compare(Canonical())
	require.NoError(t, err)
	assert.Empty(t, all)
}

func TestCompareRefuses(t *testing.T) {
	for _, text := range []string{"", string(Canonical()) + "x", "{", "{}", `{"blocks":[]}`, `{"registers":[]}`, "\x7fELF"} {
		_, err := Compare([]byte(text))
		assert.ErrorIs(t, err, ErrMap, "%q", text)
	}
	for edit, want := range map[[2]string]string{
		{`"name":"SCRATCH1"`, `"name":"SCRATCH0"`}: "it has the register ID.SCRATCH0 twice",
		{`"access":"rw"`, `"access":"wr"`}:         `is unknown: "wr"`,
		{`"name":"CP1"`, `"name":"CP0"`}:           "it has the block CP0 twice",
		{`"write":"trigger"`, `"write":"starts"`}:  `is unknown: "starts"`,
		{`"name":"FILL"`, `"name":"COPY"`}:         "it has the packet COPY twice",
	} {
		text := strings.Replace(string(Canonical()), edit[0], edit[1], 1)
		require.NotEqual(t, string(Canonical()), text, edit)
		_, err := Compare([]byte(text))
		require.ErrorIs(t, err, ErrMap, edit)
		assert.Contains(t, err.Error(), want)
	}
}
