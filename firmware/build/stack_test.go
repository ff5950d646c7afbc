package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// text returns a call graph as gcc writes it: functions with their stacks, and calls.
func text(nodes, calls string) string {
	var w strings.Builder
	for _, n := range strings.Fields(nodes) {
		name, size, _ := strings.Cut(n, "=")
		w.WriteString(`node: { title: "` + name + `" label: "` + name + `\na.c:1:1\n` + size + ` bytes (static)" }` + "\n")
	}
	for _, c := range strings.Fields(calls) {
		from, to, _ := strings.Cut(c, ">")
		w.WriteString(`node: { title: "` + to + `" label: "` + to + `\nhw.h:1:1" shape : ellipse }` + "\n")
		w.WriteString(`edge: { sourcename: "` + from + `" targetname: "` + to + `" label: "a.c:2:2" }` + "\n")
	}
	return w.String()
}

func TestStack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files []string
		want  int
	}{
		{"one function", []string{text("boot=16 interrupt=0", "")}, 16 + 64},
		{"each part is aligned", []string{text("boot=1 interrupt=4", "")}, 16 + 64 + 16},
		{"the deepest chain", []string{text("boot=16 a=32 b=48 c=8 interrupt=0", "boot>a boot>b a>c boot>probe_read")}, 16 + 48 + 64},
		{"a chain below another", []string{text("boot=16 a=32 b=48 c=32 interrupt=0", "boot>a boot>b a>c")}, 16 + 64 + 64},
		{"with an interrupt on top", []string{text("boot=16 interrupt=16 a=32", "interrupt>a interrupt>stop")}, 16 + 64 + 48},
		{"two files", []string{text("boot=16", "boot>a"), text("a=32 interrupt=0", "")}, 48 + 64},
	} {
		g := newGraph()
		for _, f := range tt.files {
			require.NoError(t, g.add(f), tt.name)
		}
		got, err := g.bound()
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.want, got, tt.name)
	}
}

func TestNoBound(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"recursion", text("boot=16 a=8 b=8 interrupt=0", "boot>a a>b b>a"), "recursion boot -> a -> b -> a"},
		{"recursion of an interrupt", text("boot=16 interrupt=16", "interrupt>interrupt"), "recursion interrupt -> interrupt"},
		{"a pointer", text("boot=16 interrupt=0", "boot>__indirect_call"), "boot -> __indirect_call, whose stack is not known"},
		{"a function of a library", text("boot=16 a=0 interrupt=0", "boot>a a>memcpy"), "boot -> a -> memcpy, whose stack is not known"},
		{"no boot", text("interrupt=0", ""), " -> boot, whose stack is not known"},
		{"no interrupt", text("boot=0", ""), " -> interrupt, whose stack is not known"},
	} {
		g := newGraph()
		require.NoError(t, g.add(tt.file), tt.name)
		_, err := g.bound()
		assert.ErrorIs(t, err, errStack, tt.name)
		assert.EqualError(t, err, "firmware: no bound of the stack: "+tt.want, tt.name)
	}
	err := newGraph().add(strings.Replace(text("boot=16", ""), "(static)", "(dynamic,bounded)", 1))
	assert.EqualError(t, err, "firmware: no bound of the stack: boot has 16 bytes (dynamic,bounded)")
}
