package reg_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

func TestField(t *testing.T) {
	for _, tt := range []struct {
		name   string
		mask   uint32
		v, get uint32
		x, set uint32
		max    uint32
		bits   string
	}{
		{"lowest bit", 0x1, 0x3, 1, 0, 0x2, 1, "0"},
		{"highest bit", 0x80000000, 0x7fffffff, 0, 1, 0xffffffff, 1, "31"},
		{"middle", 0x000000f0, 0x12345678, 7, 0xa, 0x123456a8, 15, "7..4"},
		{"bits that do not fit are dropped", 0x000000f0, 0x12345678, 7, 0x1a, 0x123456a8, 15, "7..4"},
		{"whole", 0xffffffff, 0x12345678, 0x12345678, 0x9abcdef0, 0x9abcdef0, 0xffffffff, "31..0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := reg.Field{Mask: tt.mask}
			assert.Equal(t, tt.get, f.Get(tt.v))
			assert.Equal(t, tt.set, f.Set(tt.v, tt.x))
			assert.Equal(t, tt.max, f.Max())
			assert.Equal(t, tt.bits, f.Bits())
		})
	}
}

func TestFieldGetAfterSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.IntRange(0, 31).Draw(t, "lo")
		width := rapid.IntRange(1, 32-lo).Draw(t, "width")
		f := reg.Field{Mask: uint32((uint64(1)<<width - 1) << lo)}
		v, x := rapid.Uint32().Draw(t, "v"), rapid.Uint32().Draw(t, "x")
		got := f.Set(v, x)
		assert.Equal(t, uint64(x)%(1<<width), uint64(f.Get(got)))
		assert.Equal(t, v&^f.Mask, got&^f.Mask)
	})
}

func TestFormat(t *testing.T) {
	cp := reg.Block{Name: "CP0"}
	ctl := reg.Reg{Name: "CTL", Fields: []reg.Field{{Mask: 1, Name: "RUN"}, {Mask: 2, Name: "RESET"}}}
	state := reg.Reg{Name: "STATUS", Fields: []reg.Field{
		{Mask: 0x70, Name: "STATE", Enum: []string{"IDLE", "FETCH"}},
		{Mask: 1, Name: "BUSY"},
	}}
	for _, tt := range []struct {
		name  string
		r     reg.Reg
		value uint32
		want  string
	}{
		{"fields", ctl, 0x1, "CP0.CTL=0x1 (RUN=1 RESET=0)"},
		{"unknown bits are left over", ctl, 0x8021, "CP0.CTL=0x8021 (RUN=1 RESET=0 +0x8020)"},
		{"zero", ctl, 0, "CP0.CTL=0x0 (RUN=0 RESET=0)"},
		{"a value with a name, in the order of the table", state, 0x11, "CP0.STATUS=0x11 (STATE=FETCH BUSY=1)"},
		{"a value after the last name", state, 0x20, "CP0.STATUS=0x20 (STATE=2 BUSY=0)"},
		{"no fields", reg.Reg{Name: "WPTR"}, 0xdeadbeef, "CP0.WPTR=0xdeadbeef"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, reg.Format(cp, tt.r, tt.value))
		})
	}
}

func TestRegField(t *testing.T) {
	r := reg.Reg{Fields: []reg.Field{{Mask: 1, Name: "A"}, {Mask: 6, Name: "B"}}}
	f, ok := r.Field("B")
	assert.True(t, ok)
	assert.Equal(t, uint32(6), f.Mask)
	_, ok = r.Field("C")
	assert.False(t, ok)
	assert.Equal(t, uint32(7), r.Mask())
	assert.Equal(t, uint32(0xffffffff), reg.Reg{}.Mask())
}

func TestStrings(t *testing.T) {
	assert.Equal(t, []string{"ro", "rw", "w1c", "wo"},
		[]string{reg.RO.String(), reg.RW.String(), reg.W1C.String(), reg.WO.String()})
	assert.Equal(t, []string{"", "trigger", "doorbell", "latch"},
		[]string{reg.Plain.String(), reg.Trigger.String(), reg.Doorbell.String(), reg.Latch.String()})
	assert.Equal(t, []string{"safe", "idle", "destructive"},
		[]string{reg.Safe.String(), reg.Idle.String(), reg.Destructive.String()})
}
