package synth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// maxMemory is the block RAM of the largest iCE40, in bytes (iCE40 LP/HX Family
// Data Sheet, HX8K: 32 of 4 kbit).
const maxMemory = 32 * 512

// ErrSize is wrapped by the error for a design whose memory is too large for any
// device.
var ErrSize = errors.New("synth: memory too large")

// Netlist returns d as synthesised by yosys for iCE40: its cells, and yosys's
// models of them. The ports are those of d. Registers and memories have lost
// their names, so the manifest has none. Netlists are cached in
// sim.CacheDir(cache), under a hash of the Verilog and the version of yosys.
// Netlist fails with ErrTool, ErrYosys or sim.ErrBuild, or with ErrSize if the
// memories are larger than those of any iCE40.
func Netlist(d *verilog.Design, cache string) (*verilog.Design, error) {
	if err := Tools("yosys"); err != nil {
		return nil, err
	}
	for _, m := range d.Manifest.Memories {
		if n := m.Words * m.Width / 8; n > maxMemory {
			return nil, fmt.Errorf("%w: %s has %d bytes, and an iCE40 at most %d", ErrSize, m.Verilog, n, maxMemory)
		}
	}
	s := Of(d)
	place, err := netlistPlace(s, cache)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(place)
	if os.IsNotExist(err) {
		text, err = mapCells(s, place)
	}
	if err != nil {
		return nil, err
	}
	cells, err := cellModels(text)
	if err != nil {
		return nil, err
	}
	m := d.Manifest
	m.Registers, m.Memories = nil, nil
	return &verilog.Design{
		Files:    []verilog.File{{Name: "cells.v", Text: loops(cells)}, {Name: "netlist.v", Text: loops(text)}},
		Manifest: m,
	}, nil
}

// loops returns the Verilog with Verilator's loop warning turned off. In a
// netlist, bits of a vector may depend on other bits of it, as the carries of a
// sum do. That is not a loop.
func loops(text []byte) []byte {
	return append([]byte("/* verilator lint_off UNOPTFLAT */\n"), text...)
}

// netlistPlace returns the path of a netlist in the cache.
func netlistPlace(s Source, cache string) (string, error) {
	cache, err := sim.CacheDir(cache)
	if err != nil {
		return "", err
	}
	version, err := command(".", "yosys", "-V")
	if err != nil {
		return "", fmt.Errorf("%w: %w\n%s", ErrYosys, err, tail(version))
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s%s", version, cellScript(s))
	for _, f := range s.Files {
		fmt.Fprintf(h, "%q %d\n%s", f.Name, len(f.Text), f.Text)
	}
	return filepath.Join(cache, "netlist-"+hex.EncodeToString(h.Sum(nil)[:12])+".v"), nil
}

// cellScript returns the commands that write netlist.v.
func cellScript(s Source) string {
	return script(s, ICE40, false, mapping(ICE40)) + "write_verilog -noattr netlist.v\n"
}

// mapCells runs yosys, stores the netlist at place and returns it.
func mapCells(s Source, place string) ([]byte, error) {
	dir, err := scratch(s.Files)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "run.ys"), []byte(cellScript(s)), 0o666); err != nil {
		return nil, err
	}
	if out, err := command(dir, "yosys", "-q", "-s", "run.ys"); err != nil {
		return nil, fmt.Errorf("%w: %w\n%s", ErrYosys, err, tail(out))
	}
	text, err := os.ReadFile(filepath.Join(dir, "netlist.v"))
	if err != nil {
		return nil, err
	}
	return text, keep(place, text)
}

// keep writes a file of the cache. A file there is always complete.
func keep(place string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return fmt.Errorf("%w: %w", ErrDir, err)
	}
	f, err := os.CreateTemp(filepath.Dir(place), ".new-*")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDir, err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), place)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%w: %w", ErrDir, err)
	}
	return nil
}

// cellModels returns yosys's models of the cells in a netlist. It leaves out the
// models of pins and clocks, which no block uses, since some simulators cannot
// read them.
func cellModels(netlist []byte) ([]byte, error) {
	yosys, err := exec.LookPath("yosys")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(filepath.Dir(yosys), "..", "share", "yosys", "ice40", "cells_sim.v")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: yosys has no models of the cells: %w", ErrYosys, err)
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`\bSB_\w+`).FindAll(netlist, -1) {
		used[string(m)] = true
	}
	var b strings.Builder
	b.WriteString("`define NO_ICE40_DEFAULT_ASSIGNMENTS\n") // a netlist connects every pin
	head, _, _ := strings.Cut(string(text), "\nmodule ")
	b.WriteString(head + "\n")
	for _, m := range regexp.MustCompile(`(?ms)^module (\w+).*?^endmodule`).FindAllStringSubmatch(string(text), -1) {
		if used[m[1]] {
			b.WriteString(m[0] + "\n")
			delete(used, m[1])
		}
	}
	if len(used) != 0 {
		return nil, fmt.Errorf("%w: %s has no models of %d of the cells", ErrYosys, path, len(used))
	}
	return []byte(b.String()), nil
}
