package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// blockFiles are packages of blocks, and a GPU with these fields.
func blockFiles(fields string) map[string]string {
	const plain = "func (m *Module) Tick() {}\nfunc (m *Module) Reset() {}\n"
	return map[string]string{
		"rtl/a/a.go":     "package a\ntype Module struct{ x bool }\n" + plain + "func (m *Module) Skip(n uint64) {}\nfunc (m *Module) IdleFor() uint64 { return 0 }\nfunc (m *Module) Rsp() bool { return m.x }\n",
		"rtl/b/b.go":     "package b\ntype Module struct{ x bool }\n" + plain + "func (m *Module) Skip(n uint64, busy bool) {}\nfunc (m *Module) IdleFor(busy bool) uint64 { return 0 }\nfunc (m *Module) Quiet() bool { return m.x }\n",
		"rtl/c/c.go":     "package c\ntype Module struct{ x bool }\n" + plain,
		"rtl/d/d.go":     "package d\ntype Module struct{ x bool }\n" + plain + "func (m *Module) IdleFor() uint64 { return 0 }\n",
		"rtl/e/e.go":     "package e\ntype Module struct{ x bool }\nfunc (m *Module) Tick() {}\n",
		"rtl/hdl/hdl.go": fakeHDL,
		"rtl/gpu/gpu.go": "package gpu\nimport (\n\"" + modulePath + "rtl/a\"\n\"" + modulePath + "rtl/b\"\n\"" + modulePath + "rtl/c\"\n\"" + modulePath + "rtl/d\"\n\"" + modulePath + "rtl/e\"\n\"" + modulePath + "rtl/hdl\"\n)\n" +
			"type own struct{}\nfunc (o *own) Tick() {}\ntype GPU struct {\n" + fields + "\n}\n",
	}
}

// between returns the body of a method.
func between(t *testing.T, text []byte, name string) string {
	_, body, ok := strings.Cut(string(text), "func (g *GPU) "+name+"(")
	require.True(t, ok, name)
	body, _, _ = strings.Cut(body, "\n}\n")
	return strings.Join(strings.Fields(body[strings.Index(body, "\n"):]), " ")
}

func TestBlocks(t *testing.T) {
	got, err := blocks(tree(t, blockFiles("a0 a.Module `plane:\"control\"`\na1 a.Module `if:\"second\" idle:\"first\"`\nb b.Module `plane:\"control\"`\nc c.Module `idle:\"-\"`\nwires own\nnap hdl.Nap\nmoved uint64")))
	require.NoError(t, err)
	assert.Equal(t, "g.a0.Reset() g.a1.Reset() g.b.Reset() g.c.Reset() g.nap = false", between(t, got, "Reset"))
	assert.Equal(t, "g.skipB(n) g.a0.Skip(n) if g.second() { g.a1.Skip(n) } g.nap = false", between(t, got, "Skip"), "who looks at others is first")
	assert.Equal(t, "n := uint64(math.MaxUint64) if g.second() { if n = min(n, g.a1.IdleFor()); n == 0 { return 0 } } "+
		"if n = min(n, g.a0.IdleFor()); n == 0 { return 0 } if n = min(n, g.idleB()); n == 0 { return 0 } if g.inTransit() { return 0 } return n", between(t, got, "IdleFor"))
	assert.Equal(t, "return g.a0.IdleFor() != 0 && g.b.Quiet()", between(t, got, "controlQuiet"))
	assert.Equal(t, "return or(g.a0.Rsp(), g.a1.Rsp())", between(t, got, "rsp"))
}

// A block that lacks a method is an error with its name.
func TestBlocksRefuses(t *testing.T) {
	for fields, says := range map[string]string{
		"odd d.Module":               "odd has one of IdleFor and Skip, want both",
		"odd e.Module":               "odd has no Reset",
		"odd c.Module":               `odd has IdleFor: false, and the tag idle:"-": false`,
		"odd a.Module `idle:\"-\"`":  `odd has IdleFor: true, and the tag idle:"-": true`,
		"odd a.Module `idel:\"-\"`":  `odd has the tag idel:"-", want if, idle, plane or slept`,
		"odd a.Module `plane:\"x\"`": `odd has the tag plane:"x", want control`,
		"odd a.Module `idle:\"x\"`":  `odd has the tag idle:"x", want first or -`,
	} {
		_, err := blocks(tree(t, blockFiles(fields)))
		assert.ErrorIs(t, err, errBlock, fields)
		assert.ErrorContains(t, err, says, fields)
	}
	_, err := blocks(tree(t, map[string]string{"rtl/gpu/gpu.go": "package gpu\n"}))
	assert.ErrorContains(t, err, "rtl/gpu has no type GPU")
}
