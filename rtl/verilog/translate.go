package verilog

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// Translate returns the Verilog of the GPU g, as New returned it. It reads
// hierarchy and parameters from g and the bodies from the source at root, the
// module root directory. It fails with an *Error for code outside the subset, and
// with ErrSource if the source cannot be read or its registers differ from those
// this program was built with.
func Translate(root string, g *gpu.GPU) (*Design, error) {
	d, err := translate(root, g, "Target", "Initiator")
	return titled(d, g.Config(), err)
}

// TranslateShared is like Translate for a GPU with a port for a second master.
func TranslateShared(root string, s *gpu.Shared) (*Design, error) {
	d, err := translate(root, s, "Target", "Initiator", "Answer")
	return titled(d, s.GPU().Config(), err)
}

// TranslateEnabled is Translate with a clock enable for each block that has the method
// Sleeps: the block does nothing in a clock in which the emulator would skip it. It is for
// comparisons of speed. The registers of the type hdl.Nap are not in the manifest.
func TranslateEnabled(root string, g *gpu.GPU) (*Design, error) {
	d, err := translateLive(root, g, true, "Target", "Initiator")
	return titled(d, g.Config(), err)
}

// TranslateModule is like Translate for any module: top is a pointer to a struct with Tick
// and Reset. Its output ports are the results of the named methods.
func TranslateModule(root string, top any, outputs ...string) (*Design, error) {
	return translate(root, top, outputs...)
}

// titled adds what the design of a GPU is made for.
func titled(d *Design, c gpu.Config, err error) (*Design, error) {
	if err != nil {
		return nil, err
	}
	d.Manifest.MapHash = regmap.Hash()
	top := &d.Files[len(d.Files)-1]
	w := &writer{}
	config := strings.ReplaceAll(fmt.Sprintf("%+v", c), ",", ", ") // so that lines can end between capabilities
	w.remark(fmt.Sprintf("The GPU of register map %08x, configuration %s.", regmap.Hash(), config))
	top.Text = append(w.Bytes(), top.Text...)
	return d, nil
}

// translate returns the Verilog of a live module, a pointer to a struct with
// Tick. Its outputs are the named methods.
func translate(root string, top any, outputs ...string) (*Design, error) {
	return translateLive(root, top, false, outputs...)
}

// translateLive is translate, with clock enables if they are wanted.
func translateLive(root string, top any, enables bool, outputs ...string) (*Design, error) {
	live := reflect.ValueOf(top).Elem()
	l, err := newLoader(root)
	if err != nil {
		return nil, err
	}
	pkg, err := l.Import(live.Type().PkgPath())
	if err != nil {
		return nil, err
	}
	var named *types.Named
	if obj := pkg.Scope().Lookup(live.Type().Name()); obj != nil {
		named, _ = obj.Type().(*types.Named)
	}
	if named == nil {
		return nil, fmt.Errorf("%w: the source has no type %s, which this program has: rebuild the program", ErrSource, live.Type())
	}
	l.enables = enables
	return l.translate(named, live, outputs)
}

// translate returns the Verilog of a live object of type named.
func (l *loader) translate(named *types.Named, live reflect.Value, outputs []string) (*Design, error) {
	if err := sameType(named, live.Type(), ""); err != nil {
		return nil, err
	}
	d := &designer{l: l, top: named, enables: l.enables, known: map[string]*module{}, roms: map[string]*rom{}, generic: map[*types.Named]map[string]bool{}, effects: map[*types.Func]bool{}, assigned: map[*ast.FuncDecl]map[types.Object]bool{}}
	m, serr := d.module(named, live, true)
	if serr == nil {
		serr = protect(func() {
			for _, name := range outputs {
				fn, decl := d.methodOf(named, name)
				if decl == nil {
					e := &elab{l: l}
					panic(bail{e.l.fail(named.Obj().Pos(), subset.CodePort, "no method "+name, "write it")})
				}
				d.output(m, decl, fn)
			}
		})
	}
	if serr != nil {
		return nil, serr
	}
	return d.design(m), nil
}

// order appends the modules below m, then m, each once.
func order(m *module, seen map[*module]bool, out []*module) []*module {
	if seen[m] {
		return out
	}
	seen[m] = true
	for _, c := range m.children {
		out = order(c.mod, seen, out)
	}
	return append(out, m)
}

// baseName returns the name of a type's module: the package name, followed by the
// type's name unless that is Module or the package name.
func baseName(t *types.Named) string {
	pkg, name := t.Obj().Pkg().Name(), strings.ToLower(t.Obj().Name())
	if name == "module" || name == pkg {
		return pkg
	}
	return pkg + "_" + name
}

// name sets the names of the modules. A number distinguishes sets of parameters.
func name(ms []*module) {
	total, n := map[string]int{}, map[string]int{}
	for _, m := range ms {
		total[baseName(m.named)]++
	}
	for _, m := range ms {
		base := baseName(m.named)
		m.name = base
		if total[base] > 1 {
			m.name = fmt.Sprintf("%s_%d", base, n[base])
			n[base]++
		}
	}
}

// design prints m and everything below it.
func (d *designer) design(m *module) *Design {
	ms := order(m, map[*module]bool{}, nil)
	name(ms)
	nameROMs(ms)
	out := &Design{Files: d.primitiveFiles(ms)}
	for _, x := range ms {
		out.Files = append(out.Files, File{x.name + ".v", d.text(x)})
	}
	mf := &out.Manifest
	mf.Top = m.name
	mf.Ports = []Port{{Name: "clk", Input: true, Width: 1}, {Name: "rst", Input: true, Width: 1}}
	for i, in := range m.inputs {
		mf.Ports = append(mf.Ports, Port{in.name, true, in.width, m.inputGo[i]})
	}
	for _, o := range m.outputs {
		for i, p := range o.ports {
			mf.Ports = append(mf.Ports, Port{p.name, false, p.width, o.paths[i]})
		}
	}
	d.list(mf, m, "", "")
	return out
}

// primitiveFiles returns the files of the primitives that modules use.
func (d *designer) primitiveFiles(ms []*module) []File {
	used := map[string]*primitive{}
	files := []File{
		{"hdl_ram", ramText}, {"hdl_ram_narrow", ramNarrowText}, {"hdl_ram_single", ramSingleText},
		{"hdl_fifo", fifoText}, {"hdl_fifo_block", fifoBlockText},
	}
	for _, m := range ms {
		for _, p := range m.prims {
			if p.rom != nil && used[p.module()] == nil {
				files = append(files, File{p.module(), p.rom.text(p)})
			}
			used[p.module()] = p
		}
	}
	var out []File
	for _, f := range files {
		if p := used[f.Name]; p != nil {
			w := &writer{}
			var rows [][3]string
			for _, name := range p.registers() {
				rows = append(rows, [3]string{name, "", d.l.where(d.fieldPos(p, name))})
			}
			w.rows("Registers", rows)
			out = append(out, File{f.Name + ".v", append(w.Bytes(), f.Text...)})
		}
	}
	return out
}

// list appends the registers and memories of m, an instance at the given Verilog
// and Go paths.
func (d *designer) list(mf *Manifest, m *module, instance, path string) {
	for _, r := range m.regs {
		if subset.IsNap(r.t) {
			continue // of a design with clock enables
		}
		mf.Registers = append(mf.Registers, Register{
			Instance: instance, Name: r.cur.name, Width: r.cur.width, Verilog: join(instance, r.cur.name),
			Go: join(path, r.path), Pos: d.l.where(r.pos), Elem: r.elem,
		})
	}
	for _, p := range m.prims {
		inst, goPath := join(instance, p.name), join(path, p.path)
		reg := func(name string, w int) {
			mf.Registers = append(mf.Registers, Register{
				Instance: inst, Name: name, Width: w, Verilog: join(inst, name), Go: join(goPath, name),
				Pos: d.l.where(d.fieldPos(p, name)), Elem: -1,
			})
		}
		store := "mem"
		goStore := "words"
		if p.fifo {
			store, goStore = "slots", "slots"
			reg("first", p.addrBits())
			reg("count", p.count.width)
		} else {
			reg("q", p.width)
		}
		mf.Memories = append(mf.Memories, Memory{inst, join(inst, store), join(goPath, goStore), p.width, p.words, p.rom != nil})
	}
	for _, c := range m.children {
		d.list(mf, c.mod, join(instance, c.name), join(path, c.path))
	}
}

// fieldPos returns the position of a field's declaration in a primitive's type.
func (d *designer) fieldPos(p *primitive, name string) token.Pos {
	s := p.named.Origin().Underlying().(*types.Struct)
	return s.Field(fieldIndex(s, name)).Pos()
}
