package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const (
	// snapshotFile is the name of the generated file in each package that has
	// registers.
	snapshotFile = "snapshot.go"

	hdlPath = modulePath + "rtl/hdl"
)

// errState is wrapped by the error of a field that cannot be state.
var errState = errors.New("gen: no state")

// configTypes are the structs that configure a block; their fields are not
// state.
var configTypes = map[string]bool{"Config": true, "Params": true}

// snapshotPackages lists the packages with registers, each with the types that
// other packages use as instances.
var snapshotPackages = []struct {
	dir   string
	types []string
}{
	{"rtl/arbiter", []string{"Module"}},
	{"rtl/cp", []string{"Module"}},
	{"rtl/dma", []string{"Module"}},
	{"rtl/fence", []string{"Module"}},
	{"rtl/gart", []string{"Module"}},
	{"rtl/gpu", []string{"GPU"}},
	{"rtl/ident", []string{"Module"}},
	{"rtl/intc", []string{"Module"}},
	{"rtl/eth", []string{"Module"}},
	{"rtl/eth/ip", []string{"Parser", "Builder"}},
	{"rtl/eth/mac", []string{"Receiver", "Transmitter"}},
	{"rtl/link", []string{"Module"}},
	{"rtl/link/cobs", []string{"Decoder", "Encoder"}},
	{"rtl/link/datagram", []string{"Decoder", "Encoder"}},
	{"rtl/link/deframe", []string{"Module"}},
	{"rtl/link/enframe", []string{"Module"}},
	{"rtl/link/hard", []string{"Module"}},
	{"rtl/link/hard/dlink", []string{"Module"}},
	{"rtl/link/hard/inbound", []string{"Module"}},
	{"rtl/link/hard/outbound", []string{"Module"}},
	{"rtl/link/hard/receive", []string{"Module"}},
	{"rtl/link/hard/transmit", []string{"Module"}},
	{"rtl/link/rate", []string{"Module"}},
	{"rtl/link/seq", []string{"Module"}},
	{"rtl/link/vsec", []string{"Module"}},
	{"rtl/link/lights", []string{"Module"}},
	{"rtl/mcu", []string{"Module"}},
	{"rtl/mcu/core", []string{"Module"}},
	{"rtl/mem", []string{"Module"}},
	{"rtl/noc", []string{"Initiator", "Reads", "Writes", "Beats"}},
	{"rtl/pcie", []string{"Module"}},
	{"rtl/perf", []string{"Module"}},
	{"rtl/regram", []string{"Module"}},
	{"rtl/reset", []string{"Module"}},
	{"rtl/uart", []string{"Module"}},
	{"rtl/watchdog", []string{"Module"}},
	{"rtl/wave", []string{"ports"}},
	{"boards/colorlighti5", []string{"Module"}},
	{"boards/ice40hx8k", []string{"Module"}},
	{"boards/ulx3s", []string{"Module"}},
}

// snapshots lists the generated files of the blocks.
func snapshots(root string) []output {
	var out []output
	for _, p := range snapshotPackages {
		out = append(out, output{p.dir + "/" + snapshotFile, func() ([]byte, error) { return snapshot(root, p.dir, p.types) }})
	}
	return out
}

// snapshot generates the file of one package.
func snapshot(root, dir string, names []string) ([]byte, error) {
	pkg, err := newLoader(root).Import(modulePath + dir)
	if err != nil {
		return nil, err
	}
	s := &snapshotter{pkg: pkg, imports: map[string]bool{hdlPath: true}, enums: map[string]*types.Named{}}
	for _, name := range names {
		obj := pkg.Scope().Lookup(name)
		if obj == nil {
			return nil, fmt.Errorf("%w: %s has no type %s", errState, dir, name)
		}
		if err := s.instance(obj.Type().(*types.Named)); err != nil {
			return nil, err
		}
	}
	return s.file()
}

// snapshotter generates the methods of one package's instances.
type snapshotter struct {
	pkg     *types.Package
	imports map[string]bool
	enums   map[string]*types.Named // by the name of the function that returns their names
	body    bytes.Buffer
}

// A block describes an instance, in the order of its declaration.
type block struct {
	registers []register
	inner     []inner
	memories  []memory
	naps      []string // paths of fields that Restore clears
}

// A register is a scalar. Its path is the Go field relative to the instance.
type register struct {
	path  string
	typ   types.Type
	width int
}

// An inner is an instance with its own methods.
type inner struct {
	path      string
	words     string // expression for its number of words
	primitive bool   // in package hdl; the block owns its memory
	slept     string // field that reports that the last clock did not change it, or ""
}

// A memory is a FIFO, or a primitive with numeric words.
type memory struct {
	path   string
	elem   types.Type // element type of a FIFO, else nil
	values []register // registers in an element of a FIFO
}

// collect adds the contents of the field at path; tag is its w tag.
func (s *snapshotter) collect(b *block, path string, t types.Type, tag string) error {
	if named, ok := types.Unalias(t).(*types.Named); ok {
		if done, err := s.collectNamed(b, path, named); done || err != nil {
			return err
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		width, err := widthOf(u, tag)
		if err != nil {
			return fmt.Errorf("%w: %s.%s: %w", errState, s.pkg.Path(), path, err)
		}
		b.registers = append(b.registers, register{path, t, width})
		return nil
	case *types.Array:
		for i := range u.Len() {
			if err := s.collect(b, fmt.Sprintf("%s[%d]", path, i), u.Elem(), tag); err != nil {
				return err
			}
		}
		return nil
	case *types.Struct:
		return s.collectStruct(b, path, u)
	}
	return fmt.Errorf("%w: %s.%s is a %s", errState, s.pkg.Path(), path, t)
}

func (s *snapshotter) collectStruct(b *block, path string, u *types.Struct) error {
	for i := range u.NumFields() {
		f := u.Field(i)
		if named, ok := types.Unalias(f.Type()).(*types.Named); ok && configTypes[named.Obj().Name()] {
			continue
		}
		sub := strings.TrimPrefix(path+"."+f.Name(), ".")
		if f.Embedded() {
			sub = path // embedded: its fields are promoted
		}
		tag, before := reflect.StructTag(u.Tag(i)), len(b.inner)
		if err := s.collect(b, sub, f.Type(), tag.Get("w")); err != nil {
			return err
		}
		slept := tag.Get("slept")
		if slept != "" && !slices.Contains(naps(u), slept) {
			return fmt.Errorf("%w: %s.%s has the tag slept:%q, want an hdl.Nap", errState, s.pkg.Path(), sub, slept)
		}
		for j := range b.inner[before:] {
			b.inner[before+j].slept = slept
		}
	}
	return nil
}

// collectNamed adds a memory, an instance with its own methods or a nap, and
// reports whether named is one of these.
func (s *snapshotter) collectNamed(b *block, path string, named *types.Named) (done bool, err error) {
	obj := named.Obj()
	switch {
	case obj.Pkg() == nil:
		return false, nil
	case obj.Pkg().Path() == hdlPath && obj.Name() == "Nap":
		b.naps = append(b.naps, path)
		return true, nil
	case obj.Pkg().Path() == hdlPath && obj.Name() == "FIFO":
		m := memory{path: path, elem: named.TypeArgs().At(0)}
		values := &block{}
		if err := s.collect(values, "", m.elem, ""); err != nil {
			return false, err
		}
		m.values = values.registers
		b.inner = append(b.inner, inner{path: path, words: "hdl.FIFOWords", primitive: true})
		b.memories = append(b.memories, m)
		return true, nil
	case obj.Pkg().Path() == hdlPath:
		b.inner = append(b.inner, inner{path: path, words: "hdl." + obj.Name() + "Words", primitive: true})
		if obj.Name() != "ROM" { // its words never change
			b.memories = append(b.memories, memory{path: path})
		}
		return true, nil
	case obj.Pkg() == s.pkg || !hidden(named):
		return false, nil
	}
	s.imports[obj.Pkg().Path()] = true
	words := obj.Pkg().Name() + "." + obj.Name() + "Words"
	b.inner = append(b.inner, inner{path: path, words: words})
	return true, nil
}

// hidden reports whether a struct has unexported fields.
func hidden(t *types.Named) bool {
	u, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i := range u.NumFields() {
		if !u.Field(i).Exported() {
			return true
		}
	}
	return false
}

// widthOf returns the width of a scalar in bits.
func widthOf(b *types.Basic, tag string) (int, error) {
	widths := map[types.BasicKind]int{types.Bool: 1, types.Uint8: 8, types.Uint16: 16, types.Uint32: 32, types.Uint64: 64}
	n, ok := widths[b.Kind()]
	if !ok {
		return 0, fmt.Errorf("a %s has no width", b)
	}
	if tag == "" {
		return n, nil
	}
	return strconv.Atoi(tag)
}
