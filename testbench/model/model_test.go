package model_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
	"github.com/hilgpu/hilgpu/testbench/model"
)

// TestModel makes random calls on several contexts of a device and on the model.
// Every result and the final contents must be equal, with the driver's command
// lists and with the runtime's. -rapid.checks is the number of devices,
// -rapid.steps the number of calls on each, -rapid.seed the seed of the calls.
func TestModel(t *testing.T) {
	for _, tt := range []struct {
		name     string
		emulated bool
	}{{"native", false}, {"emulated", true}} {
		t.Run(tt.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { run(t, tt.emulated) })
		})
	}
}

// boards are the boards of the calls: the default, and one whose memory does not
// hold all resources at once.
var boards = []string{"emu", "emu?nodes=1&vram=8KiB"}

// run tests one device from its creation to its end.
func run(t *rapid.T, emulated bool) {
	drivers := testbench.HostDrivers()
	drivers.UserMode = umd.New(umd.Options{EmulatedLists: emulated})
	sys, err := testbench.Open(rapid.SampledFrom(boards).Draw(t, "board"), drivers, testbench.Options{Seed: 1, Sanitize: true, Record: eventstest.Record(t)})
	require.NoError(t, err)
	m := newMachine(t, sys)
	t.Repeat(m.actions())
	m.contents(t)
	require.NoError(t, m.dev.GetDeviceRemovedReason())
	m.dev.Close()
	require.NoError(t, sys.WaitForIdle())
	require.Empty(t, sys.Findings())
	require.NoError(t, sys.Close())
}

func newMachine(t *rapid.T, sys *testbench.System) *machine {
	dev, ctx, err := sys.CreateDevice()
	require.NoError(t, err)
	m := &machine{
		sys: sys, dev: dev, model: new(model.Device),
		buffers: map[*d3d11.Buffer]*model.Resource{},
		targets: map[*d3d11.RenderTargetView]*model.View{},
		known:   map[*d3d11.Query]*model.Query{},
	}
	m.immediate = context{m.model.Immediate(), ctx}
	for range 2 {
		m.createContext(t)
	}
	for range 3 {
		m.createBuffer(t)
		m.createTexture(t)
		m.createQuery(t)
	}
	return m
}

// actions returns the possible actions, which are equally likely. The action ""
// checks the state after each of them.
func (m *machine) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"":                m.checkState,
		"create nothing":  m.createNothing,
		"unmap":           m.unmap,
		"unmap all":       m.unmapAll,
		"begin":           m.begin,
		"get data":        m.getData,
		"clear state":     m.clearState,
		"flush":           m.flush,
		"add a reference": m.addRef,
		"one's contents":  m.oneContents,
		"purge":           m.purge,
		"create":          oneOf(m.createBuffer, m.createTexture, m.createTexture, m.createQuery, m.createQuery, m.createContext),
		"release":         oneOf(m.release, m.releaseLists),
	}
	for name, some := range map[string][]func(*rapid.T){
		"copy resource": repeat(4, m.copyResource),
		"copy region":   repeat(3, m.copyRegion),
		"update":        repeat(3, m.update),
		"clear target":  repeat(2, m.clearTarget),
		"map":           repeat(4, m.mapping),
		"end":           repeat(2, m.end),
		"predication":   repeat(2, m.predication),
		"finish":        repeat(4, m.finish),
		"execute":       repeat(6, m.execute),
		"set state": repeat(3, oneOf(m.setVertexBuffers, m.setIndexBuffer, m.setConstantBuffers, m.setTargets,
			m.setRectangles, m.setTopology)),
	} {
		for i, f := range some {
			all[fmt.Sprintf("%s %d", name, i)] = f
		}
	}
	return all
}

// repeat returns n copies of f, which makes f more likely.
func repeat(n int, f func(*rapid.T)) []func(*rapid.T) { return slices.Repeat([]func(*rapid.T){f}, n) }

// oneOf returns an action that performs one of several.
func oneOf(some ...func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) { some[index(t, "which", len(some))](t) }
}
