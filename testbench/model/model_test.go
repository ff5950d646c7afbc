package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/model"
)

// TestModel makes random calls on several contexts of a device and on the
// model, whose every answer and everything that is left must be the same: with
// the driver's command lists and with those of the runtime. -rapid.checks is the
// number of devices, -rapid.steps the calls of each, -rapid.seed what they are.
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

// boards are what the calls run on: the default, and one whose memory does not
// hold all resources at a time.
var boards = []string{"emu", "emu?nodes=1&vram=8KiB"}

// run is one device's life.
func run(t *rapid.T, emulated bool) {
	drivers := testbench.HostDrivers()
	drivers.UserMode = umd.New(umd.Options{EmulatedLists: emulated})
	sys, err := testbench.Open(rapid.SampledFrom(boards).Draw(t, "board"), drivers, testbench.Options{})
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
	}
	return m
}

// actions are what can happen; "" is checked after each.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":                 m.checkState,
		"create buffer":    m.createBuffer,
		"create texture":   m.createTexture,
		"create query":     m.createQuery,
		"create context":   m.createContext,
		"create nothing":   m.createNothing,
		"copy resource":    m.copyResource,
		"copy resource 2":  m.copyResource,
		"copy region":      m.copyRegion,
		"copy region 2":    m.copyRegion,
		"update":           m.update,
		"clear target":     m.clearTarget,
		"map":              m.mapping,
		"map 2":            m.mapping,
		"unmap":            m.unmap,
		"unmap all":        m.unmapAll,
		"begin":            m.begin,
		"end":              m.end,
		"end 2":            m.end,
		"predication":      m.predication,
		"get data":         m.getData,
		"vertex buffers":   m.setVertexBuffers,
		"index buffer":     m.setIndexBuffer,
		"constant buffers": m.setConstantBuffers,
		"render targets":   m.setTargets,
		"rectangles":       m.setRectangles,
		"topology":         m.setTopology,
		"clear state":      m.clearState,
		"finish":           m.finish,
		"finish 2":         m.finish,
		"execute":          m.execute,
		"execute 2":        m.execute,
		"execute 3":        m.execute,
		"flush":            m.flush,
		"add a reference":  m.addRef,
		"release":          m.release,
		"release lists":    m.releaseList,
		"one's contents":   m.oneContents,
		"purge":            m.purge,
	}
}
