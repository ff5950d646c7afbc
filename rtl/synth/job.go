package synth

import (
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// MCU is the name of a job that has the microcontroller alone, with 8 KiB of memory.
const MCU = "mcu"

// A Job is the synthesis of one configuration of the GPU, or of MCU, for one target.
type Job struct {
	Name   string     // of the configuration, as Expected takes it
	Config gpu.Config // of that name; ignored for MCU
	Target Target
}

// String names the job.
func (j Job) String() string { return j.Name + " for " + string(j.Target) }

// Check fails with ErrTarget or ErrTable if there is no expectation for the job.
func (j Job) Check() error {
	_, err := Expected(j.Name, j.Target)
	return err
}

// Tools fails with ErrTool if a tool that the job needs is missing.
func (j Job) Tools() error {
	if j.placed() {
		return PlaceTools()
	}
	return Tools("yosys")
}

// placed reports whether the netlist is also placed, on the one device that it is
// meant for.
func (j Job) placed() bool { return (j.Name == "small" || j.Name == MCU) && j.Target == ICE40 }

// Run translates the GPU, with VRAMBytes of VRAM, from the module source at root,
// and synthesises it. It places the configuration small and MCU for ICE40. It fails as
// Check, Run and Place do.
func (j Job) Run(root string) (*Report, error) {
	want, err := Expected(j.Name, j.Target)
	if err != nil {
		return nil, err
	}
	d, err := j.design(root)
	if err != nil {
		return nil, err
	}
	r, err := Run(Of(d), j.Target, want)
	if err != nil {
		return nil, err
	}
	r.Config, r.VRAMBytes = j.Name, VRAMBytes
	switch {
	case !j.placed():
	case j.Name == MCU:
		r.Placement, err = PlaceAlone(d)
	default:
		r.Placement, err = Place(d)
	}
	return r, err
}

// design translates the GPU or the microcontroller.
func (j Job) design(root string) (*verilog.Design, error) {
	if j.Name == MCU {
		m := mcu.New(mcu.Params{Bytes: core.MinBytes, HostBits: gpu.Small().HostBits, VRAMBytes: VRAMBytes})
		return verilog.TranslateModule(root, &m, mcu.Outputs...)
	}
	g, err := gpu.New(Shrink(j.Config))
	if err != nil {
		return nil, err
	}
	return verilog.Translate(root, g)
}
