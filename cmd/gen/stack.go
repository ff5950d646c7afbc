package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// errStack is wrapped by the error of a layer whose package does not exist.
var errStack = errors.New("gen: no such package")

// A layer is a box of the picture of the stack.
type layer struct {
	at    rect
	class string
	name  string   // packages, separated by commas, or a text
	notes []string // lines below the name
}

// layers are the boxes from top to bottom.
var layers = []layer{
	{rect{150, 36, 300, 54}, "box", "application", []string{"cmd/hilgpu, testbench/compose, yours"}},
	{rect{40, 140, 250, 72}, "runtime", "runtime/d3d11", []string{"API objects, validation,", "the runtime's half of the DDI"}},
	{rect{490, 140, 250, 72}, "vendor", "hostdriver/umd", []string{"user-mode display driver:", "command buffer, patch locations"}},
	{rect{40, 292, 250, 72}, "runtime", "runtime/dxgkrnl", []string{"VidMm: segments, paging", "VidSch: scheduling, fences, DPCs"}},
	{rect{490, 292, 250, 72}, "vendor", "hostdriver/miniport", []string{"validates, patches, submits,", "interrupt routine and DPC"}},
	{rect{40, 424, 250, 72}, "runtime", "runtime/hal", []string{"the PC: PCI enumeration, memory,", "interrupts, the clock"}},
	{rect{40, 564, 250, 72}, "bus", "bus/inproc", []string{"a wire in one process:", "latency, bandwidth"}},
	{rect{490, 564, 250, 72}, "bus", "bus/rootport, bus/endpoint", []string{"PCIe packets over a serial line", "or TCP: bus/tlp, bus/datalink"}},
	{rect{40, 696, 700, 54}, "device", "rtl/gpu", []string{"the GPU: emulated, as Verilog (verilated), or on a board"}},
}

// A call is an arrow of the picture of the stack, with its text.
type call struct {
	points []int
	heads  string
	x, y   int
	class  string
	texts  []string
}

var calls = []call{
	{[]int{220, 90, 220, 140}, ">", 230, 120, "note", []string{"Direct3D 11 API"}},
	{[]int{290, 162, 490, 162}, ">", 390, 155, "note middle", []string{"function table: runtime/ddi/umddi"}},
	{[]int{490, 192, 290, 192}, ">", 390, 208, "note middle", []string{"callbacks: pfnRenderCb, pfnLockCb"}},
	{[]int{165, 212, 165, 292}, ">", 175, 248, "note", []string{"thunks: runtime/ddi/kmt"}},
	{[]int{290, 314, 490, 314}, ">", 390, 307, "note middle", []string{"DxgkDdi*: runtime/ddi/kmddi"}},
	{[]int{490, 344, 290, 344}, ">", 390, 360, "note middle", []string{"DxgkCb*, register access"}},
	{[]int{140, 364, 140, 424}, ">", 130, 398, "note end", []string{"registers, waits"}},
	{[]int{190, 424, 190, 364}, ">", 200, 398, "note", []string{"interrupts"}},
	{[]int{140, 496, 140, 564}, ">", 130, 528, "note end", []string{"bus.Link,", "bus.Clock"}},
	{[]int{190, 564, 190, 496}, ">", 200, 528, "note", []string{"bus.Host:", "memory, messages"}},
	{[]int{290, 460, 615, 460, 615, 564}, "<>", 450, 452, "note middle", []string{"the same interface, to a board at the end of a wire"}},
	{[]int{165, 636, 165, 696}, "<>", 175, 670, "note", []string{"target and initiator port: rtl/abi/port"}},
	{[]int{615, 636, 615, 696}, "<>", 605, 670, "note end", []string{"rtl/abi/port"}},
}

// A side is a text at the right, about a range of the picture.
type side struct {
	from, to int // y
	order    int // of its bracket, from the left
	name     string
	notes    []string
}

var sides = []side{
	{140, 364, 0, "runtime/verifier", []string{"on both DDIs:", "rules and the trace"}},
	{424, 750, 0, "boards", []string{"Open turns a selector", "into a bus.Link and", "a bus.Clock"}},
	{36, 750, 1, "testbench", []string{"Open joins board,", "kernel, drivers and", "runtime; the drivers", "are its parameter"}},
}

// stackPicture draws docs/stack.svg: the layers and who calls whom. It fails with
// errStack if a layer names a package that does not exist.
func stackPicture(root string) ([]byte, error) {
	d := newDrawing(960, 770, "The layers of the stack, and who calls whom")
	for _, band := range []struct {
		at   rect
		name string
	}{
		{rect{20, 16, 740, 210}, "user mode"}, {rect{20, 268, 740, 242}, "kernel mode and PC"},
		{rect{20, 546, 740, 214}, "wire and device"},
	} {
		d.box("panel", band.at, 8)
		d.text("note end", band.at.right()-10, band.at.y+16, band.name)
	}
	for _, l := range layers {
		if err := hasPackages(root, l.name); err != nil {
			return nil, err
		}
		d.box(l.class, l.at, 6)
		d.text("title middle", l.at.centre(), l.at.y+21, l.name)
		d.lines("note middle", l.at.centre(), l.at.y+40, l.notes)
	}
	for _, c := range calls {
		d.line("line", c.heads, c.points...)
		d.lines(c.class, c.x, c.y, c.texts)
	}
	for _, s := range sides {
		if err := hasPackages(root, s.name); err != nil {
			return nil, err
		}
		x := 772 + 10*s.order
		d.line("line", "", x, s.from, x+6, s.from, x+6, s.to, x, s.to)
		d.text("title", 802, s.from+20, s.name)
		d.lines("note", 802, s.from+38, s.notes)
	}
	return d.picture(), nil
}

// lines writes lines of text below each other.
func (d *drawing) lines(class string, x, y int, texts []string) {
	for i, t := range texts {
		d.text(class, x, y+15*i, t)
	}
}

// hasPackages fails with errStack if a package of a name is not in the module. A name without a
// slash is a text.
func hasPackages(root, name string) error {
	for _, p := range strings.Split(name, ", ") {
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(p))); strings.Contains(p, "/") && (err != nil || !info.IsDir()) {
			return fmt.Errorf("%w: %s", errStack, p)
		}
	}
	return nil
}
