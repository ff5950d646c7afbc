package regs

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// one returns the target of a name.
func one(t *testing.T, name string) Target {
	t.Helper()
	found, err := AllNames().Find(name)
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

func TestDescribe(t *testing.T) {
	d := one(t, "id.scratch0").Describe()
	assert.Equal(t, []any{"id.scratch0", 32, "rw", "0x0", "safe"}, []any{d.Name, d.Bits, d.Access, d.Reset, d.Poke})
	text, err := json.Marshal(d)
	require.NoError(t, err)
	assert.NotContains(t, string(text), `"value"`, "no value was read")
	assert.NotContains(t, string(text), `"fields"`)

	d = Value{one(t, "cp0.fault_info"), 3}.Describe()
	assert.Equal(t, "0x3", d.Value)
	cause := d.Fields[0]
	assert.Equal(t, "cause", cause.Name)
	assert.EqualValues(t, 3, *cause.Value)
	assert.Equal(t, cause.Enum[3], cause.Meaning)

	d = Value{one(t, "cp0.fault_info.cause"), 3}.Describe()
	require.Len(t, d.Fields, 1)
	assert.EqualValues(t, 3, *d.Fields[0].Value, "the value is that of the field")
	assert.Equal(t, 64, one(t, "cp0.ring_base").Describe().Bits)
}

func TestDescribeAWrite(t *testing.T) {
	before := uint64(16)
	w := Written{Target: one(t, "id.scratch0"), Before: &before, Sent: 31}
	assert.Equal(t, WriteDescription{Name: "id.scratch0", Before: "0x10", Sent: "0x1f"}, w.Describe())
}

func TestListing(t *testing.T) {
	r := one(t, "cp0.ctl")
	short := r.Listing(false)
	assert.Regexp(t, `^cp0\.ctl +@0x1000 rw +\[.*\] [^\n]+\n$`, short)
	long := r.Listing(true)
	assert.Regexp(t, `\n  \d+ +run +\S`, long)
	assert.Equal(t, short, long[:len(short)])
}

func TestSplitAssignments(t *testing.T) {
	for _, tt := range []struct {
		words, names, values []string // no names: ErrName
	}{
		{[]string{"a.b", "5"}, []string{"a.b"}, []string{"5"}},
		{[]string{"a.b=5", "c.d=x"}, []string{"a.b", "c.d"}, []string{"5", "x"}},
		{[]string{"a.b"}, nil, nil},
		{[]string{"a.b="}, nil, nil},
		{[]string{"=5"}, nil, nil},
		{[]string{"a.b=5", "6"}, nil, nil},
	} {
		names, values, err := SplitAssignments(tt.words)
		if tt.names == nil {
			assert.ErrorIs(t, err, ErrName, tt.words)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, [][]string{tt.names, tt.values}, [][]string{names, values})
	}
}

func TestAssign(t *testing.T) {
	n := AllNames()
	all, err := n.Assign([]string{"id.scratch0", "id.scratch1"}, []string{"0x10", "2"})
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.EqualValues(t, 16, all[0].Value)
	assert.Equal(t, "id.scratch1", all[1].Target.Name())
	for _, tt := range []struct {
		name, value string
		want        error
	}{
		{"id.nothing", "1", ErrName},
		{"id.scratch*", "1", ErrName},
		{"id.scratch0", "x", ErrValue},
		{"id.magic", "1", ErrRefused},
	} {
		_, err := n.Assign([]string{"id.scratch0", tt.name}, []string{"1", tt.value})
		assert.ErrorIs(t, err, tt.want, tt.name)
	}
}
