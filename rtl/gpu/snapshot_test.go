package gpu_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
)

// A leaf is a scalar of a GPU, found by reflection.
type leaf struct {
	name  string // name in waves
	width int
	value uint64
}

// leaves returns the scalars of v, except those in slices, in the configuration and in the
// parameters of memories.
func leaves(v reflect.Value, name string, dots bool, tag string, all []leaf) []leaf {
	switch v.Kind() {
	case reflect.Struct:
		inner := all[:0:0]
		for i := range v.NumField() {
			f := v.Type().Field(i)
			sep := "_"
			if dots {
				sep = "."
			}
			if v.Type() == reflect.TypeFor[gpu.Config]() || v.Type() == reflect.TypeFor[core.Config]() {
				return all
			}
			if v.Type() == reflect.TypeFor[hdl.RAM]() && (f.Name == "width" || f.Name == "single" || f.Name == "last") {
				continue
			}
			// An instance is a struct from another package, or from hdl.
			t := f.Type
			instance := t.Kind() == reflect.Struct && t.NumField() > 0 && t.PkgPath() != v.Type().PkgPath() && !t.Field(0).IsExported()
			if instance {
				inner = leaves(v.Field(i), name+sep+f.Name, true, "", inner)
			} else {
				tag := f.Tag.Get("w")
				if v.Type() == reflect.TypeFor[hdl.RAM]() && f.Name == "q" {
					tag = fmt.Sprint(v.FieldByName("width").Int())
				}
				all = leaves(v.Field(i), name+sep+f.Name, false, tag, all)
			}
		}
		return append(all, inner...)
	case reflect.Array:
		for i := range v.Len() {
			all = leaves(v.Index(i), fmt.Sprintf("%s_%d", name, i), false, tag, all)
		}
		return all
	case reflect.Slice:
		return all
	case reflect.Bool:
		if v.Type() == reflect.TypeFor[hdl.Nap]() {
			return all
		}
		l := leaf{name: name, width: 1}
		if v.Bool() {
			l.value = 1
		}
		return append(all, l)
	}
	width := v.Type().Bits()
	if tag != "" {
		width, _ = strconv.Atoi(tag)
	}
	return append(all, leaf{name, width, v.Uint()})
}

// working returns a machine in the middle of work.
func working(t *testing.T, c gpu.Config) *machine {
	m := boot(t, c, 1)
	for n := range c.Nodes {
		m.submit(n, randomPacket(m, uint64(n)), randomPacket(m, uint64(n)), fence(n, 1))
	}
	end := m.clock + 150
	m.run(200, func() bool { return m.clock >= end })
	return m
}

// A snapshot contains every scalar of the GPU with its name and width.
func TestSnapshotIsComplete(t *testing.T) {
	for _, c := range []gpu.Config{small(), oneNode()} {
		m := working(t, c)
		words := make([]uint64, gpu.GPUWords)
		m.g.Snapshot(words)
		got := map[string]leaf{}
		busy := 0
		for i, s := range m.g.Signals("gpu", nil) {
			got[s.Name] = leaf{s.Name, s.Width, words[i]}
			if words[i] != 0 {
				busy++
			}
		}
		require.Len(t, got, len(words), "duplicate names")
		require.Greater(t, busy, 70)
		want := leaves(reflect.ValueOf(m.g).Elem(), "gpu", true, "", nil)
		require.Len(t, want, len(words))
		for _, l := range want {
			// The width of a FIFO's pointers follows from its depth.
			if strings.HasSuffix(l.name, ".first") || strings.HasSuffix(l.name, ".count") {
				l.width = got[l.name].width
				assert.Less(t, l.width, 7, l.name)
			}
			assert.Equal(t, l, got[l.name])
		}
	}
}

// Restore sets a GPU of the same configuration to the state of a snapshot.
func TestRestore(t *testing.T) {
	m := working(t, small())
	words, again := make([]uint64, gpu.GPUWords), make([]uint64, gpu.GPUWords)
	for i := range words {
		words[i] = uint64(i) % 2
	}
	m.g.Restore(words)
	m.g.Snapshot(again)
	assert.Equal(t, words, again)
}

// The names of states equal those of their constants.
func TestSignalNames(t *testing.T) {
	names := map[string][]string{}
	g, err := gpu.New(small())
	require.NoError(t, err)
	for _, s := range g.Signals("gpu", nil) {
		names[s.Name] = s.Names
	}
	assert.Equal(t, "Body", names["gpu.cp1.decode_state"][1])
	assert.Equal(t, []string{"None", "Fence", "Timestamp", "Signal"}, names["gpu.cp0.sync_fence"])
	assert.Equal(t, []string{"None", "Success", "Unsupported", "Abort"}, names["gpu.pcie.status"])
	assert.Equal(t, "WriteError", names["gpu.fence0.result"][3])
	assert.Nil(t, names["gpu.cp0.decode_opcode"])
}
