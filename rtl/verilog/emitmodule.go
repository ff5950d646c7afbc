package verilog

import (
	"fmt"
	"strings"
)

// text returns the Verilog of m.
func (d *designer) text(m *module) []byte {
	m.out.prune()
	m.tick.prune()
	m.strobed()
	params := d.localparams(m)
	w := &writer{where: d.l.where}
	at := d.l.where(m.named.Obj().Pos())
	w.line("// %s: %s at %s. Generated; change the Go source.", m.name, m.named.Obj().Name(), at)
	d.contents(w, m)
	d.head(w, m)
	w.depth++
	w.localparams(params)
	d.declarations(w, m)
	for _, p := range m.prims {
		w.primitive(p)
	}
	for _, c := range m.children {
		w.child(m, c)
	}
	if len(m.out.body) > 0 {
		d.outputs(w, m, at)
	}
	_, tick := d.methodOf(m.named, "Tick")
	w.process(d.l.where(tick.Pos()), m.tick, starts(m))
	d.clocked(w, m, at)
	w.depth--
	w.line("endmodule")
	return w.Bytes()
}

// contents prints a comment with the registers and memories of a module and the
// place of each in the Go source.
func (d *designer) contents(w *writer, m *module) {
	var rows [][3]string
	for _, r := range m.regs {
		rows = append(rows, [3]string{r.cur.name, dimension(r.cur.width), d.l.where(r.pos)})
	}
	w.rows("Registers", rows)
	rows = nil
	for _, g := range m.generics {
		rows = append(rows, [3]string{g.v.name, dimension(g.w), d.l.where(g.pos)})
	}
	w.rows("Parameters", rows)
	rows = nil
	for _, p := range m.prims {
		rows = append(rows, [3]string{p.name, fmt.Sprintf("%s[0:%d] ", dimension(p.width), p.words-1), d.l.where(p.pos)})
	}
	w.rows("Memories", rows)
}

// head prints the head of a module.
func (d *designer) head(w *writer, m *module) {
	var params []string
	for _, g := range m.generics {
		params = append(params, fmt.Sprintf("parameter %s%s = %s", dimension(g.w), g.v.name, literal(g.w, g.value)))
	}
	if len(params) > 0 {
		w.line("module %s #(", m.name)
		w.line(indent+"%s", strings.Join(params, ",\n"+indent))
		w.line(") (")
	} else {
		w.line("module %s (", m.name)
	}
	list := []string{"input wire clk", "input wire rst"}
	for _, in := range m.inputs {
		list = append(list, "input wire "+dimension(in.width)+in.name)
	}
	for _, o := range m.outputs {
		for _, p := range o.ports {
			list = append(list, "output "+netOf(m, p)+" "+dimension(p.width)+p.name)
		}
	}
	w.WriteString(indent + strings.Join(list, ",\n"+indent) + "\n")
	w.line(");")
}

// constantPort returns the constant that an output always has, or nil.
func constantPort(m *module, p *variable) *expr {
	var x *expr
	n := 0
	walk(m.out.body, func(s stmt) {
		if a, ok := s.(*assign); ok && a.v == p {
			x, n = a.e, n+1
		}
	})
	if n == 1 && x.isConst() {
		return x
	}
	return nil
}

func netOf(m *module, p *variable) string {
	if constantPort(m, p) != nil {
		return "wire"
	}
	return "reg"
}

func (d *designer) declarations(w *writer, m *module) {
	for _, r := range m.regs {
		w.line("reg %s%s;", dimension(r.cur.width), r.cur.name)
	}
	for _, r := range m.regs {
		w.line("reg %s%s;", dimension(r.next.width), r.next.name)
		if r.data != nil && r.data != r.next {
			w.line("reg %s%s;", dimension(r.data.width), r.data.name)
		}
	}
	for _, p := range m.prims {
		w.declare("reg", p.pins)
		w.declare("reg", p.data)
		w.declare("wire", []*variable{p.head})
		if p.fifo {
			w.declare("reg", p.clear[:])
			w.declare("wire", []*variable{p.count})
		}
	}
	for _, c := range m.children {
		w.declare("reg", c.pins)
		for _, o := range c.mod.outputs {
			for _, p := range o.ports {
				w.declare("wire", []*variable{m.wire(c, p)})
			}
		}
	}
	w.declare("reg", m.out.locals)
	w.declare("reg", m.tick.locals)
}

// primitive prints the instance of a memory.
func (w *writer) primitive(p *primitive) {
	params := fmt.Sprintf("#(.WORDS(%d), .ADDR(%d)) ", p.words, p.addrBits())
	ports := []string{".clk(clk)", ".rst(rst)"}
	port := func(name string, v *variable) { ports = append(ports, fmt.Sprintf(".%s(%s)", name, v.name)) }
	switch {
	case p.fifo:
		params = fmt.Sprintf("#(.WIDTH(%d), .DEPTH(%d), .ADDR(%d)) ", p.width, p.words, p.addrBits())
		port("clear0", p.clear[0])
		port("clear1", p.clear[1])
		port("push", p.pins[0])
		port("pop", p.pins[1])
		var parts []string
		for i := len(p.data) - 1; i >= 0; i-- {
			parts = append(parts, p.data[i].name)
		}
		ports = append(ports, ".data({"+strings.Join(parts, ",\n"+indent+indent+indent)+"})")
		port("head", p.head)
		port("count", p.count)
	case p.rom != nil:
		params = ""
		port("read", p.pins[0])
		port("addr", p.pins[1])
		port("q", p.head)
	default:
		if p.width < wordBits {
			params = fmt.Sprintf("#(.WIDTH(%d), .WORDS(%d), .ADDR(%d)) ", p.width, p.words, p.addrBits())
		}
		for i, name := range []string{"read", "raddr", "enable", "waddr", "data"} {
			port(name, p.pins[i])
		}
		port("q", p.head)
	}
	w.line("")
	w.line("%s %s%s (", p.module(), params, p.name)
	w.line(indent+"%s", strings.Join(ports, ",\n"+indent+indent))
	w.line(");")
}

// blockDepth is the least depth of a FIFO in a block RAM. A shallow, wide FIFO
// would use many block RAMs for few words.
const blockDepth = 16

// wordBits is the width of a RAM that is not narrow.
const wordBits = 64

// module returns the name of the Verilog module. That of a ROM is known once the design is.
func (p *primitive) module() string {
	if p.rom != nil {
		return p.rom.name
	}
	return p.kind()
}

// kind returns what distinguishes the Verilog of p from that of other primitives, apart
// from words and width.
func (p *primitive) kind() string {
	switch {
	case p.rom != nil:
		return "hdl_rom " + p.rom.sum
	case p.fifo && p.words >= blockDepth:
		return "hdl_fifo_block"
	case p.fifo:
		return "hdl_fifo"
	case p.single:
		return "hdl_ram_single"
	case p.width < wordBits:
		return "hdl_ram_narrow"
	}
	return "hdl_ram"
}

// child prints the instance of a module.
func (w *writer) child(m *module, c *child) {
	ports := []string{".clk(clk)", ".rst(rst)"}
	for i, in := range c.mod.inputs {
		ports = append(ports, fmt.Sprintf(".%s(%s)", in.name, c.pins[i].name))
	}
	for _, o := range c.mod.outputs {
		for _, p := range o.ports {
			ports = append(ports, fmt.Sprintf(".%s(%s)", p.name, m.wire(c, p).name))
		}
	}
	w.line("")
	var params []string
	for i, g := range c.mod.generics {
		params = append(params, fmt.Sprintf(".%s(%s)", g.v.name, literal(g.w, c.values[i])))
	}
	with := ""
	if len(params) > 0 {
		with = "#(" + strings.Join(params, ", ") + ") "
	}
	w.line("%s %s%s (", c.mod.name, with, c.name)
	w.line(indent+"%s", strings.Join(ports, ",\n"+indent+indent))
	w.line(");")
}

// outputs prints the drivers of the outputs: constants, and a separate process,
// so that an input does not wake it.
func (d *designer) outputs(w *writer, m *module, at string) {
	body := m.out.body
	for _, o := range m.outputs {
		for _, p := range o.ports {
			if x := constantPort(m, p); x != nil {
				w.line("")
				w.wrap("assign "+p.name+" = ", x.outer(), ";")
				body = pruned(body, func(v *variable) bool { return v == p })
			}
		}
	}
	if len(body) > 0 {
		w.process(at, &process{body: body, locals: m.out.locals}, nil)
	}
}

// starts returns the assignments before the body of Tick.
func starts(m *module) []stmt {
	var out []stmt
	for _, r := range m.regs {
		if r.data != r.next {
			out = append(out, &assign{v: r.next, e: r.cur.ref()})
		}
		if r.strobe != nil {
			out = append(out, &assign{v: r.data, e: unknown(r.data.width)})
		}
	}
	for _, p := range m.prims {
		if p.fifo {
			out = append(out, &assign{v: p.clear[0], e: konst(1, 0)}, &assign{v: p.clear[1], e: konst(1, 0)})
		}
	}
	return out
}

// clocked prints the registers' process.
func (d *designer) clocked(w *writer, m *module, at string) {
	for _, r := range m.regs {
		if r.keeps {
			w.line("")
			w.line("initial %s = %s;", r.cur.name, r.value().text())
		}
	}
	if len(m.regs) == 0 {
		return
	}
	w.line("")
	w.line("(* src = %q *)", at)
	w.line("always @(posedge clk) begin")
	w.depth++
	for _, r := range m.regs {
		w.register(r)
	}
	w.depth--
	w.line("end")
}

// register prints the assignment of a register.
func (w *writer) register(r *register) {
	x, to := r.cur.name, r.cur.name+" <= "
	value := r.value().text()
	if r.keeps {
		value = x
	}
	switch {
	case r.strobe == nil:
		w.wrap(to, fmt.Sprintf("rst ? %s : %s", value, r.next.name), ";")
	case r.keeps:
		w.wrap(fmt.Sprintf("if (%s && !rst) %s", r.strobe.name, to), r.data.name, ";")
	default:
		w.wrap(fmt.Sprintf("if (%s || rst) %s", r.strobe.name, to), fmt.Sprintf("rst ? %s : %s", value, r.data.name), ";")
	}
}
