package verilog

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/token"
	"strings"
)

//go:embed hdl_ram.v
var ramText []byte

//go:embed hdl_ram_narrow.v
var ramNarrowText []byte

//go:embed hdl_ram_single.v
var ramSingleText []byte

//go:embed hdl_fifo.v
var fifoText []byte

//go:embed hdl_fifo_block.v
var fifoBlockText []byte

// outer returns e in Verilog without parentheses around it.
func (e *expr) outer() string {
	text := e.text()
	if strings.HasPrefix(text, "(") {
		return text[1 : len(text)-1] // only infix and conditional operators begin with one
	}
	return text
}

// infix returns an infix operation. A left operand with the same operator, unless it is a
// comparison, has no parentheses: Verilog associates to the left. A constant is on the right of
// a comparison.
func (e *expr) infix(op string) string {
	if e.op >= opEq && e.op <= opLe && e.args[0].isConst() {
		mirror := map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">="}[op]
		return "(" + e.args[1].text() + " " + mirror + " " + e.args[0].text() + ")"
	}
	left := e.args[0].text()
	if e.op == e.args[0].op && (e.op < opEq || e.op > opLe) {
		left = left[1 : len(left)-1]
	}
	return "(" + left + " " + op + " " + e.args[1].text() + ")"
}

// text returns e in Verilog. Every operand has its own width.
func (e *expr) text() string {
	a := func(i int) string { return e.args[i].text() }
	infix := e.infix
	switch e.op {
	case opConst:
		return constantText(e)
	case opX:
		return fmt.Sprintf("%d'bx", e.width)
	case opVar:
		return e.v.name
	case opSlice:
		return sliceText(e)
	case opZext:
		return fmt.Sprintf("{%s, %s}", literal(e.width-e.args[0].width, 0), a(0))
	case opNot:
		if e.width == 1 {
			return "!" + a(0)
		}
		return "~" + a(0)
	case opAdd:
		return infix("+")
	case opSub:
		return infix("-")
	case opMul:
		return infix("*")
	case opAnd:
		return infix("&")
	case opOr:
		return infix("|")
	case opXor:
		return infix("^")
	case opShl, opShr:
		return shiftText(e)
	case opEq:
		return infix("==")
	case opNe:
		return infix("!=")
	case opLt:
		return infix("<")
	case opLe:
		return infix("<=")
	case opLAnd:
		return infix("&&")
	case opLOr:
		return infix("||")
	}
	return "(" + a(0) + " ? " + a(1) + " : " + a(2) + ")"
}

// constantText returns the name of a constant, or its value.
func constantText(e *expr) string {
	switch s := e.sym; {
	case s == nil || s.width == 0 || s.width > e.width:
		return literal(e.width, e.val)
	case s.width == e.width:
		return s.name
	default:
		return fmt.Sprintf("{%s, %s}", literal(e.width-s.width, 0), s.name)
	}
}

func sliceText(e *expr) string {
	switch {
	case e.width == e.v.width:
		return e.v.name
	case e.width == 1:
		return fmt.Sprintf("%s[%d]", e.v.name, e.lo)
	}
	return fmt.Sprintf("%s[%d:%d]", e.v.name, e.lo+e.width-1, e.lo)
}

func shiftText(e *expr) string {
	op := "<<"
	if e.op == opShr {
		op = ">>"
	}
	by := e.args[1].text()
	if e.args[1].isConst() {
		by = fmt.Sprint(e.args[1].val)
	}
	return "(" + e.args[0].text() + " " + op + " " + by + ")"
}

func literal(w int, v uint64) string {
	switch {
	case w == 1:
		return fmt.Sprintf("1'b%d", v)
	case v < 10:
		return fmt.Sprintf("%d'd%d", w, v)
	}
	return fmt.Sprintf("%d'h%x", w, v)
}

// dimension returns the range of a signal of w bits, empty for 1.
func dimension(w int) string {
	if w == 1 {
		return ""
	}
	return fmt.Sprintf("[%d:0] ", w-1)
}

const (
	indent  = "  "
	columns = 120 // of the longest line
)

// writer prints a module.
type writer struct {
	bytes.Buffer
	depth int
	where func(token.Pos) string // file:line in the Go source
	src   string                 // of the last src comment in this process
}

func (w *writer) line(format string, args ...any) {
	if format != "" {
		w.WriteString(strings.Repeat(indent, w.depth))
	}
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// wrap prints text between head and tail. Where the line is too long, it ends after
// an operator or a comma outside as many parentheses as possible.
func (w *writer) wrap(head, text, tail string) {
	line := head + text + tail
	room := columns - w.depth*len(indent)
	for more := 0; ; {
		at := len(line)
		if more+len(line) > room {
			at = lastBreak(line, room-more, max(len(head), 1))
		}
		w.line("%*s%s", more, "", strings.TrimRight(line[:at], " "))
		if at == len(line) {
			return
		}
		line, head, more = line[at:], "", 2*len(indent)
	}
}

// lastBreak returns the end of the first line of text, at least from and at most
// limit bytes long: after the last of the spaces that are in the fewest parentheses.
// It is the end of text if there is no such space.
func lastBreak(text string, limit, from int) int {
	depth, best, at := 0, len(text), len(text)
	for i := 0; i < min(limit, len(text)); i++ {
		switch text[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		case ' ':
			if i >= from && strings.IndexByte("+-*&|^<>=?:,", text[i-1]) >= 0 && depth <= best {
				best, at = depth, i+1
			}
		}
	}
	return at
}

func (w *writer) block(body []stmt) {
	w.depth++
	for _, s := range body {
		w.comment(s)
		w.stmt(s)
	}
	w.depth--
}

// remark prints a comment, which ends a line at a space where it is too long.
func (w *writer) remark(text string) {
	line := "//"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > columns-w.depth*len(indent) {
			w.line("%s", line)
			line = "//  "
		}
		line += " " + word
	}
	w.line("%s", line)
}

// comment prints the place of s in the Go source, unless the last comment did.
func (w *writer) comment(s stmt) {
	if src := w.place(s); src != "" {
		w.line("%s", src)
	}
}

// place returns the comment with the place of s in the Go source, or "" if it is
// that of the last comment.
func (w *writer) place(s stmt) string {
	if s.source() == token.NoPos {
		return ""
	}
	src := w.where(s.source())
	if src == w.src {
		return ""
	}
	w.src = src
	return "// src " + src
}

// rows prints a comment with a title and a table.
func (w *writer) rows(title string, rows [][3]string) {
	if len(rows) == 0 {
		return
	}
	var size [3]int
	for _, r := range rows {
		for i, cell := range r {
			size[i] = max(size[i], len(cell))
		}
	}
	w.line("// %s:", title)
	for _, r := range rows {
		w.line("//   %-*s  %*s %s", size[0], r[0], size[1], r[1], r[2])
	}
}

func (w *writer) stmt(s stmt) {
	switch s := s.(type) {
	case *assign:
		w.wrap(s.v.name+" = ", s.e.outer(), ";")
	case *ifStmt:
		w.wrap("if (", s.cond.outer(), ") begin")
		w.ifRest(s)
	case *caseStmt:
		w.wrap("case (", s.sel.outer(), ")")
		for _, a := range s.arms {
			w.arm(a)
		}
		w.line("endcase")
	}
}

// ifRest prints an if after its condition. An else that contains only an if
// becomes else if.
func (w *writer) ifRest(s *ifStmt) {
	w.block(s.yes)
	if len(s.no) == 1 {
		if in, ok := s.no[0].(*ifStmt); ok {
			src := w.place(in)
			if src != "" {
				src = " " + src
			}
			w.wrap("end else if (", in.cond.outer(), ") begin"+src)
			w.ifRest(in)
			return
		}
	}
	if len(s.no) > 0 {
		w.line("end else begin")
		w.block(s.no)
	}
	w.line("end")
}

func (w *writer) arm(a arm) {
	label := "default"
	if len(a.vals) > 0 {
		var ls []string
		for _, v := range a.vals {
			ls = append(ls, v.text())
		}
		label = strings.Join(ls, ", ")
	}
	w.wrap("", label, ": begin")
	w.block(a.body)
	w.line("end")
}

// declare prints the declarations of variables.
func (w *writer) declare(what string, vs []*variable) {
	for _, v := range vs {
		w.line("%s %s%s;", what, dimension(v.width), v.name)
	}
}

// process prints an always @* block that starts with the assignments starts.
func (w *writer) process(src string, p *process, starts []stmt) {
	for _, v := range p.defaults() {
		starts = append(starts, &assign{v: v, e: v.zero()})
	}
	w.line("")
	w.line("(* src = %q *)", src)
	w.line("always @* begin")
	w.src = ""
	w.block(starts)
	w.block(p.body)
	w.line("end")
}
