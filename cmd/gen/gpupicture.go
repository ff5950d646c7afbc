package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// A spot is where a block stands in the picture of the GPU.
type spot struct {
	at   rect
	role string
}

// spots has every block of the GPU, by the name of its field.
var spots = map[string]spot{
	"pcie": {rect{60, 76, 150, 60}, "PCIe function"},
	"cp0":  {rect{60, 166, 150, 60}, "command processor"},
	"cp1":  {rect{60, 256, 150, 60}, "command processor"},

	"arbiter": {rect{60, 326, 150, 60}, "second master"},

	"mcu": {rect{430, 326, 120, 60}, "microcontroller"},

	"descs": {rect{270, 211, 110, 60}, "arbiter"},
	"dma":   {rect{430, 211, 120, 60}, "DMA engine"},
	"gart":  {rect{270, 308, 110, 56}, "aperture"},

	"vramRead":  {rect{720, 96, 120, 60}, "arbiter"},
	"vramWrite": {rect{720, 170, 120, 60}, "arbiter"},
	"beats":     {rect{720, 244, 120, 60}, "write data"},
	"initiator": {rect{720, 318, 120, 60}, "host accesses"},
	"vram":      {rect{910, 170, 110, 60}, "memory"},

	"ident":    {rect{60, 466, 106, 74}, "identity, time"},
	"regram":   {rect{176, 466, 106, 74}, "register RAM"},
	"reset":    {rect{292, 466, 106, 74}, "resets"},
	"perf":     {rect{408, 466, 106, 74}, "counters"},
	"watchdog": {rect{524, 466, 106, 74}, "watchdog"},
	"intc":     {rect{682, 466, 106, 74}, "interrupts"},
	"fence0":   {rect{798, 466, 106, 74}, "fence unit"},
	"fence1":   {rect{914, 466, 106, 74}, "fence unit"},
}

// A part is a block with what its type tells of its connections.
type part struct {
	instance
	spot
	folder string // of its package

	reads  bool     // it sends read requests and gets completions
	writes bool     // it sends writes
	from   []string // the blocks that send it what its package declares
}

// The x of the buses, from top to bottom, and the y of the register bus.
const (
	regsX   = 36
	readsX  = 600
	writesX = 656
	regsY   = 440
	underY  = 566
)

// gpuPicture draws docs/gpu.svg from the fields of the GPU. A block that has no
// place, and a place without a block, are errors.
func gpuPicture(root string) ([]byte, error) {
	pkg, err := newLoader(root).Import(modulePath + blocksDir)
	if err != nil {
		return nil, err
	}
	top := pkg.Scope().Lookup("GPU")
	if top == nil {
		return nil, fmt.Errorf("%w: %s has no type GPU", errBlock, blocksDir)
	}
	parts, err := partsOf(pkg, top.Type().Underlying().(*types.Struct))
	if err != nil {
		return nil, err
	}
	d := newDrawing(1060, 640, "The blocks of the GPU and their connections")
	d.box("panel", rect{16, 40, 1028, 352}, 8)
	d.text("title", 28, 58, "data path")
	d.box("panel", rect{16, 404, 1028, 180}, 8)
	d.text("title", 52, 426, "control plane")
	d.buses(parts)
	for _, p := range parts {
		d.part(p)
	}
	d.ports()
	return d.picture(), nil
}

// partsOf returns the blocks with their spots and connections.
func partsOf(pkg *types.Package, top *types.Struct) ([]part, error) {
	all, err := instances(pkg, top)
	if err != nil {
		return nil, err
	}
	kinds := map[string]*types.Named{}
	for i := range top.NumFields() {
		if named, ok := types.Unalias(top.Field(i).Type()).(*types.Named); ok {
			kinds[top.Field(i).Name()] = named
		}
	}
	var parts []part
	for _, in := range all {
		at, ok := spots[in.name]
		if !ok {
			return nil, fmt.Errorf("%w: %s has no place in the picture of the GPU", errBlock, in.name)
		}
		kind := kinds[in.name]
		p := part{instance: in, spot: at, folder: strings.TrimPrefix(kind.Obj().Pkg().Path(), modulePath)}
		if p.folder != "rtl/noc" {
			p.reads, p.writes = masters(kind)
		}
		for _, other := range all {
			if other.name != "reset" && numbered(other.name, in.name) && sends(kinds[other.name], kind) {
				p.from = append(p.from, other.name)
			}
		}
		parts = append(parts, p)
	}
	for name := range spots {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return nil, fmt.Errorf("%w: the picture of the GPU has a place for %s, which is no block", errBlock, name)
		}
	}
	return parts, nil
}

// masters reports whether a block reads, and whether it writes: its Tick takes
// completions, and it has an output with a request that is not a read.
func masters(kind *types.Named) (reads, writes bool) {
	for i := range method(kind, "Tick").Params().Len() {
		t := method(kind, "Tick").Params().At(i).Type()
		reads = reads || isPort(t, "Completion")
		if s, ok := t.Underlying().(*types.Struct); ok && !isPort(t, "Request") {
			for f := range s.Fields() {
				reads = reads || isPort(f.Type(), "Completion")
			}
		}
	}
	for m := range kind.Methods() {
		header, data := false, false
		for r := range m.Signature().Results().Variables() {
			header, data = header || isPort(r.Type(), "Request"), data || isPort(r.Type(), "Beat")
		}
		writes = writes || header && (data || strings.Contains(m.Name(), "Write") || m.Name() == "Header")
	}
	return reads, writes
}

// isPort reports whether t is the named type of the package of the ports.
func isPort(t types.Type, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg().Path() == modulePath+"rtl/abi/port"
}

// numbered reports whether two blocks may be connected: of blocks with a number at
// the end of their names those of the same number.
func numbered(a, b string) bool {
	x, y := a[len(a)-1], b[len(b)-1]
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	return a != b && (!digit(x) || !digit(y) || x == y)
}

// sends reports whether an output of a block has a type of the package of another
// one, or the other's Tick takes a type of the first one's package.
func sends(from, to *types.Named) bool {
	if from.Obj().Pkg() == to.Obj().Pkg() {
		return false
	}
	for m := range from.Methods() {
		for r := range m.Signature().Results().Variables() {
			if of(r.Type(), to.Obj().Pkg()) {
				return true
			}
		}
	}
	for p := range method(to, "Tick").Params().Variables() {
		if of(p.Type(), from.Obj().Pkg()) {
			return true
		}
	}
	return false
}

// of reports whether t is a named type of a package.
func of(t types.Type, pkg *types.Package) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() == pkg
}

// part draws a block.
func (d *drawing) part(p part) {
	class := "box"
	switch {
	case p.folder == "rtl/noc":
		class = "bus"
	case p.control:
		class = "runtime"
	case p.reads:
		class = "vendor"
	case p.name == "vram":
		class = "device"
	}
	if p.cond != "" {
		class += " optional"
	}
	d.box(class, p.at, 6)
	d.text("title middle", p.at.centre(), p.at.y+19, p.name)
	d.text("note middle", p.at.centre(), p.at.y+36, p.role)
	d.text("note middle", p.at.centre(), p.at.y+51, p.folder)
	if p.control && len(p.from) > 0 {
		d.text("note middle", p.at.centre(), p.at.y+66, "← "+strings.Join(p.from, ", "))
	}
}

// buses draws the register bus and what reads and writes go through.
func (d *drawing) buses(parts []part) {
	d.line("regs", "", regsX, 120, regsX, regsY, 1020, regsY)
	d.text("note", 190, regsY-6, "register bus: a request to all blocks, one answers")
	d.line("reads", "", readsX, 110, readsX, 348)
	d.text("note middle", readsX, 102, "reads")
	d.line("writes", "", writesX, 200, writesX, underY, 1010, underY)
	d.text("note middle", writesX, 190, "writes")
	for _, p := range parts {
		d.attach(p)
	}
}

// attach draws the lines from a block to the buses.
func (d *drawing) attach(p part) {
	switch {
	case p.rsp && p.control && p.at.y > regsY:
		d.line("regs", "<>", p.at.centre(), regsY, p.at.centre(), p.at.y)
	case p.rsp || p.name == "pcie" || p.name == "arbiter" || p.name == "gart":
		d.line("regs", "<>", regsX, p.at.middle()+14, p.at.x, p.at.middle()+14)
	}
	high, low := p.at.middle()-16, p.at.middle()+4
	switch p.name {
	case "cp1":
		high = p.at.middle() + 16 // below the DMA engine
	case "pcie":
		high = low
	}
	if p.reads {
		d.line("reads", "<>", p.at.right(), high, readsX, high)
	}
	if p.writes && !p.control && p.name != "pcie" {
		d.line("writes", ">", p.at.right(), low, writesX, low)
	}
	if p.writes && p.control {
		d.line("writes", ">", p.at.centre(), p.at.bottom(), p.at.centre(), underY)
	}
}

// ports draws the connections of the arbiters, the memory and the two ports, which
// rtl/gpu wires by hand.
func (d *drawing) ports() {
	at := func(name string) rect { return spots[name].at }
	cp0, cp1, descs, dma := at("cp0"), at("cp1"), at("descs"), at("dma")
	d.line("line", ">", cp0.right(), cp0.bottom()-8, 240, cp0.bottom()-8, 240, descs.middle()-8, descs.x, descs.middle()-8)
	d.line("line", ">", cp1.right(), cp1.y+10, 240, cp1.y+10, 240, descs.middle()+8, descs.x, descs.middle()+8)
	d.line("line", ">", descs.right(), descs.middle(), dma.x, descs.middle())
	d.text("note middle", descs.centre(), descs.y-8, "descriptors")
	gart := at("gart")
	d.line("line", ">", descs.centre(), descs.bottom(), descs.centre(), gart.y)
	d.line("line", ">", gart.right(), gart.y+40, 405, gart.y+40, 405, dma.bottom()-12, dma.x, dma.bottom()-12)

	read, write, beats, host, vram := at("vramRead"), at("vramWrite"), at("beats"), at("initiator"), at("vram")
	d.line("reads", "<>", readsX, read.y+30, read.x, read.y+30)
	d.line("reads", "<>", readsX, host.middle(), host.x, host.middle())
	d.line("writes", ">", writesX, write.middle(), write.x, write.middle())
	d.line("writes", ">", writesX, beats.middle(), beats.x, beats.middle())
	d.line("writes", ">", writesX, host.middle()+16, host.x, host.middle()+16)
	d.line("reads", "<>", read.right(), read.middle(), vram.centre(), read.middle(), vram.centre(), vram.y)
	d.line("writes", ">", write.right(), write.middle(), vram.x, write.middle())
	d.line("writes", ">", beats.right(), beats.middle(), vram.centre(), beats.middle(), vram.centre(), vram.bottom())
	d.line("writes", ">", beats.centre(), beats.bottom(), beats.centre(), host.y)

	// The writes of the aperture have a place of their own in VRAM.
	pcie := at("pcie")
	d.line("writes", ">", pcie.right(), pcie.y+8, vram.right()-16, pcie.y+8, vram.right()-16, vram.y)
	d.text("note", 400, pcie.y+2, "aperture")
	d.line("line", "<>", pcie.centre(), 20, pcie.centre(), pcie.y)
	d.text("title", pcie.centre()+10, 26, "target port: the host asks")
	d.line("line", "<>", host.right(), host.middle(), 1050, host.middle())
	d.text("title end", 1036, host.middle()-24, "initiator port:")
	d.text("title end", 1036, host.middle()-8, "the GPU asks")
	d.text("note", 28, 606, "Dashed: a configuration can leave the block out. ← names the blocks that send this one requests of its own. Resets and events, which are single bits, are left out.")
	d.text("note", 28, 624, "Reads have requests in one direction and completions in the other. Headers of writes go through the arbiters, their data through beats.")
}
