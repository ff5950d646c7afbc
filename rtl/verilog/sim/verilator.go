package sim

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// verilatorSources returns the design with its main program, and the commands
// that build the executable obj/model from them.
func verilatorSources(d *verilog.Design, l *Layout, program string) ([]verilog.File, [][]string) {
	files := append([]verilog.File{
		{Name: "main.cpp", Text: []byte(program)},
		{Name: "public.vlt", Text: []byte(publicList(l))},
	}, d.Files...)
	args := []string{
		"verilator", "--cc", "--exe", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert",
		"--flatten", "-Wno-lint", "-Wno-style", "--top-module", l.Top, "--prefix", "Vdut", "--Mdir", "obj",
		"-o", "model", "public.vlt", "main.cpp",
	}
	for _, f := range d.Files {
		if strings.HasSuffix(f.Name, ".v") {
			args = append(args, f.Name)
		}
	}
	return files, [][]string{args, {"make", "-s", "-j2", "-C", "obj", "-f", "Vdut.mk", "OPT_FAST=-O3", "model"}}
}

// publicList makes the registers and the memories visible, by the last part of
// their names in any module.
func publicList(l *Layout) string {
	var b strings.Builder
	b.WriteString("`verilator_config\n")
	seen := map[string]bool{}
	show := func(path string) {
		name := path[strings.LastIndexByte(path, '.')+1:]
		name, _, _ = strings.Cut(name, "[")
		if !seen[name] {
			seen[name] = true
			fmt.Fprintf(&b, "public_flat_rd -module \"*\" -var \"%s\"\n", name)
		}
	}
	for _, s := range l.Out[l.Outputs:] {
		show(s.Name)
	}
	if len(l.Out) > l.Outputs {
		for _, m := range l.Memories {
			show(m.Verilog)
		}
	}
	return b.String()
}

// member returns the C++ expression of a hierarchical name.
func (l *Layout) member(path string) string {
	name, index, ok := strings.Cut(path, "[")
	if ok {
		index = "[" + index
	}
	parts := strings.Split(l.Top+"."+name, ".")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(p, "__", "___05F")
	}
	return "r." + strings.Join(parts, "__DOT__") + index
}

// mainHead has the functions that read and write a batch.
const mainHead = `// Clocks the design in batches. A batch is a count and that many records of
// inputs. The answer is as many records of outputs. A count of 0 requests the
// memories and ends the program. The end of the input also ends it. With bit 31
// set, the count is a limit: one record of inputs follows and is held for that
// many clocks, or until the output ports change. The answer is the number of
// clocks and the record after the last one.
#include <cstdint>
#include <cstdlib>
#include <unistd.h>
#include <vector>
#include "Vdut.h"
#include "Vdut___024root.h"

static void get(void* p, size_t n) {
  char* c = static_cast<char*>(p);
  while (n > 0) {
    ssize_t k = read(0, c, n);
    if (k <= 0) exit(0);
    c += k;
    n -= k;
  }
}

static void put(const void* p, size_t n) {
  const char* c = static_cast<const char*>(p);
  while (n > 0) {
    ssize_t k = write(1, c, n);
    if (k <= 0) exit(1);
    c += k;
    n -= k;
  }
}

`

// mainTail is the main loop.
const mainTail = `
static void clock(Vdut& dut) {
  dut.clk = 1;
  dut.eval();
  dut.clk = 0;
  dut.eval();
}

static void hold(Vdut& dut, const uint32_t* in, uint32_t limit) {
  uint32_t out[1 + outWords], before[outWords];
  sample(dut, before);
  drive(dut, in);
  uint32_t n = 0;
  do {
    clock(dut);
    n++;
  } while (n < limit && same(dut, before));
  out[0] = n;
  sample(dut, out + 1);
  put(out, sizeof out);
}

int main() {
  VerilatedContext context;
  Vdut dut{&context};
  std::vector<uint32_t> in, out;
  dut.clk = 0;
  dut.eval();
  for (;;) {
    uint32_t n;
    get(&n, 4);
    if (n == 0) {
      memories(dut);
      return 0;
    }
    if (n >> 31) {
      in.resize(inWords);
      get(in.data(), in.size() * 4);
      hold(dut, in.data(), n & 0x7fffffff);
      continue;
    }
    in.resize(size_t(n) * inWords);
    out.resize(size_t(n) * outWords);
    get(in.data(), in.size() * 4);
    for (uint32_t i = 0; i < n; i++) {
      drive(dut, &in[size_t(i) * inWords]);
      clock(dut);
      sample(dut, &out[size_t(i) * outWords]);
    }
    put(out.data(), out.size() * 4);
  }
}
`

// verilatorMain returns the program around the simulation.
func verilatorMain(l *Layout) string {
	var b strings.Builder
	b.WriteString(mainHead)
	fmt.Fprintf(&b, "static const size_t inWords = %d, outWords = %d;\n\n", l.InBytes/4, l.OutBytes/4)
	b.WriteString(driveInputs(l))
	b.WriteString("static void sample(Vdut& d, uint32_t* w) {\n")
	b.WriteString("  const Vdut___024root& r = *d.rootp;\n  (void)r;\n")
	for i := range l.Out {
		s := &l.Out[i]
		v := "d." + strings.ReplaceAll(s.Name, "__", "___05F")
		if i >= l.Outputs {
			v = l.member(s.Name)
		}
		fmt.Fprintf(&b, "  w[%d] = %s;\n", s.At/4, v)
		if s.Wide() {
			fmt.Fprintf(&b, "  w[%d] = %s >> 32;\n", s.At/4+1, v)
		}
	}
	b.WriteString("}\n\n" + sameOutputs(l) + "static void memories(Vdut& d) {\n")
	b.WriteString("  const Vdut___024root& r = *d.rootp;\n  (void)r;\n  std::vector<uint32_t> all;\n")
	if len(l.Out) > l.Outputs {
		for _, m := range l.Memories {
			b.WriteString(dumpMemory(m, l.member(m.Verilog)))
		}
	}
	b.WriteString("}\n")
	b.WriteString(mainTail)
	return b.String()
}

// driveInputs returns the function that sets the inputs from a record.
func driveInputs(l *Layout) string {
	var b strings.Builder
	b.WriteString("static void drive(Vdut& d, const uint32_t* w) {\n")
	for i := range l.In {
		s := &l.In[i]
		v := fmt.Sprintf("w[%d]", s.At/4)
		if s.Wide() {
			v += fmt.Sprintf(" | uint64_t(w[%d]) << 32", s.At/4+1)
		}
		fmt.Fprintf(&b, "  d.%s = %s;\n", strings.ReplaceAll(s.Name, "__", "___05F"), v)
	}
	b.WriteString("}\n\n")
	return b.String()
}

// sameOutputs returns the function that compares the output ports with a record.
func sameOutputs(l *Layout) string {
	var b strings.Builder
	b.WriteString("static bool same(Vdut& d, const uint32_t* w) {\n  return true")
	for i := range l.Out[:l.Outputs] {
		s := &l.Out[i]
		fmt.Fprintf(&b, "\n    && d.%s == (w[%d]", strings.ReplaceAll(s.Name, "__", "___05F"), s.At/4)
		if s.Wide() {
			fmt.Fprintf(&b, " | uint64_t(w[%d]) << 32", s.At/4+1)
		}
		b.WriteString(")")
	}
	b.WriteString(";\n}\n\n")
	return b.String()
}

// dumpMemory returns the statement that writes the words of a memory.
func dumpMemory(m verilog.Memory, name string) string {
	var b strings.Builder
	n := WordBytes(m) / 4
	fmt.Fprintf(&b, "  all.resize(size_t(%d) * %d);\n  for (size_t i = 0; i < %d; i++) {\n    uint32_t* w = &all[i * %d];\n",
		m.Words, n, m.Words, n)
	for k := range n {
		if m.Width > 64 {
			fmt.Fprintf(&b, "    w[%d] = %s[i].at(%d);\n", k, name, k)
		} else {
			fmt.Fprintf(&b, "    w[%d] = uint64_t(%s[i]) >> %d;\n", k, name, 32*k)
		}
	}
	b.WriteString("  }\n  put(all.data(), all.size() * 4);\n")
	return b.String()
}
