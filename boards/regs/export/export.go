// Package export writes the map of BAR0 in the formats of other tools: debuggers, generators
// of registers, compilers and simulators. It also writes save files for viewers of waves. Each
// format is made from the same tables as the RTL, so none can differ from it.
package export

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/wave/savefile"
)

// ErrFormat is returned for a format that does not exist.
var ErrFormat = errors.New("export: unknown format")

// A Format is a format with its name, the suffix of the file to open, and its use.
type Format struct {
	Name, Suffix, Doc string

	write  func(w *bytes.Buffer, blocks []reg.Block)
	folder func() []savefile.File // instead of write, for a format of several files
}

// Formats returns all formats.
func Formats() []Format {
	return []Format{
		{"json", ".json", "map of registers and packets; ID.MAP_HASH is made from these bytes", canonical, nil},
		{"c", ".h", "header in C: offsets, masks, shifts, values", cHeader, nil},
		{"sv", ".sv", "package of SystemVerilog: offsets, masks, shifts, values", systemVerilog, nil},
		{"svd", ".svd", "CMSIS-SVD 1.3, for debuggers", svdAll, nil},
		{"svd-safe", ".safe.svd", "the same, but a register whose read has an effect is write-only", svdSafe, nil},
		{"rdl", ".rdl", "SystemRDL 2.0, for PeakRDL and other generators", systemRDL, nil},
		{"html", ".html", "page for a browser, with search and a decoder of values", html, nil},
		{"csv", ".csv", "csr.csv of LiteX: blocks and registers without fields", liteX, nil},
		{"gtkw", ".gtkw", "folder for GTKWave: signals of --wave in groups, translate filters", nil, savefile.GTKWave},
		{"surfer", ".sucl", "folder for Surfer: signals of --wave in groups, mappings", nil, savefile.Surfer},
	}
}

// Names returns the names of the formats.
func Names() []string {
	var all []string
	for _, f := range Formats() {
		all = append(all, f.Name)
	}
	return all
}

// Find returns the format with a name. It fails with ErrFormat.
func Find(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("%w %q, want one of %s", ErrFormat, name, strings.Join(Names(), ", "))
}

// Folder reports whether the format has several files.
func (f Format) Folder() bool { return f.folder != nil }

// Files returns the files of the format, the one to open first. The same map gives the same bytes.
func (f Format) Files() []savefile.File {
	if f.Folder() {
		return f.folder()
	}
	var w bytes.Buffer
	f.write(&w, regmap.New().Blocks())
	return []savefile.File{{Name: "hilgpu" + f.Suffix, Data: w.Bytes()}}
}

func canonical(w *bytes.Buffer, _ []reg.Block) {
	w.Write(regmap.Canonical())
	w.WriteByte('\n')
}

// note is the first comment of each file. begin and end enclose a comment.
func note(w *bytes.Buffer, begin, end string) {
	fmt.Fprintf(w, "%sRegisters of hilgpu in BAR0, map hash %#08x. Made by hilgpu reg export.%s\n", begin, regmap.Hash(), end)
}

// fields returns the fields of a register. One without fields has VALUE, with all bits.
func fields(r reg.Reg) []reg.Field {
	if len(r.Fields) > 0 {
		return r.Fields
	}
	return []reg.Field{{Mask: ^uint32(0), Name: "VALUE", Doc: r.Doc, Unit: r.Unit, Write: r.Write}}
}

// span returns the highest and the lowest bit of a field.
func span(f reg.Field) (high, low int) {
	return 31 - bits.LeadingZeros32(f.Mask), bits.TrailingZeros32(f.Mask)
}

// about returns the description of a register, with what an access does besides.
func about(b reg.Block, r reg.Reg) string {
	var more []string
	if r.Unit != "" {
		more = append(more, "in "+r.Unit)
	}
	if r.Config {
		more = append(more, "value after reset depends on the configuration")
	}
	if r.Volatile {
		more = append(more, "the device may change it")
	}
	if r.Read != reg.Plain {
		more = append(more, "a read is a "+r.Read.String())
	}
	if r.Write != reg.Plain {
		more = append(more, "a write is a "+r.Write.String())
	}
	if r.Access != reg.RO && r.Poke != reg.Safe {
		more = append(more, "poke "+r.Poke.String())
	}
	if needs := b.Needs | r.Needs; needs != 0 {
		more = append(more, "present if "+idreg.Condition(needs))
	}
	return described(r.Doc, more)
}

// described adds remarks to a description.
func described(doc string, more []string) string {
	if len(more) == 0 {
		return doc
	}
	return doc + " [" + strings.Join(more, "; ") + "]"
}

// aboutField returns the description of a field.
func aboutField(f reg.Field) string {
	var more []string
	if f.Unit != "" {
		more = append(more, "in "+f.Unit)
	}
	if f.Write != reg.Plain {
		more = append(more, "a write is a "+f.Write.String())
	}
	if f.Needs != 0 {
		more = append(more, "present if "+idreg.Condition(f.Needs))
	}
	return described(f.Doc, more)
}
