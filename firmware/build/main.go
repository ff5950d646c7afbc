// Build builds the image of the firmware, or compares the image with the sources.
//
//	go run ./firmware/build [-root DIR] [-o DIR] [-check]
//
// It writes firmware/firmware.bin, firmware/log.table, firmware/elf.sha256, and the ELF file with the symbols in the
// directory of -o. With -check it writes nothing but the ELF file, prints the names of the files
// that differ, and exits 1 if there is one. It exits 1 if the compiler is missing or of another
// version than the pinned one, since that would build other bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its environment as arguments. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	set := flag.NewFlagSet("build", flag.ContinueOnError)
	set.SetOutput(stderr)
	root := set.String("root", ".", "root directory of the module")
	out := set.String("o", "out/firmware", "directory of the ELF file")
	check := set.Bool("check", false, "write nothing; print the files that differ and exit 1")
	if err := set.Parse(args); err != nil {
		return 2
	}
	if set.NArg() != 0 {
		fmt.Fprintf(stderr, "build: argument %q, want only flags\n", set.Arg(0))
		return 2
	}
	files, note, err := build(*root, *out)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintln(stdout, note)
	code := 0
	for _, f := range files {
		differs, err := f.update(*root, *check)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		if differs {
			fmt.Fprintln(stdout, f.path)
		}
		if differs && *check {
			code = 1
		}
	}
	return code
}

// A file is one that the build writes.
type file struct {
	path string // from the root
	data []byte
}

// update reports whether the file below root differs, and writes it unless check is set.
func (f file) update(root string, check bool) (differs bool, err error) {
	path := filepath.Join(root, f.path)
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, f.data) {
		return false, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if check {
		return true, nil
	}
	return true, os.WriteFile(path, f.data, 0o666)
}

// build builds the files, and returns a note with their sizes.
func build(root, out string) (files []file, note string, err error) {
	if err := checkCompiler(compiler); err != nil {
		return nil, "", err
	}
	src, err := filepath.Abs(filepath.Join(root, "firmware", "src"))
	if err != nil {
		return nil, "", err
	}
	if out, err = filepath.Abs(out); err != nil {
		return nil, "", err
	}
	b := builder{src: src, out: out}
	id, err := b.id()
	if err != nil {
		return nil, "", err
	}
	path, stack, err := b.compile(id)
	if err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	image, err := pack(text, id)
	if err != nil {
		return nil, "", err
	}
	formats, err := logTable(text, id)
	if err != nil {
		return nil, "", err
	}
	m, err := firmware.Parse(image)
	if err != nil {
		return nil, "", err
	}
	note = fmt.Sprintf("firmware: build %x, program of %d bytes, stack of %d, memory of %d", m.Build, m.Size, stack, m.Memory)
	return []file{
		{"firmware/firmware.bin", image},
		{"firmware/log.table", formats},
		{"firmware/elf.sha256", fmt.Appendf(nil, "%x\n", sha256.Sum256(text))},
	}, note, nil
}

// pack returns the image of an ELF file.
func pack(text []byte, id [fwabi.BuildBytes]byte) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	end, err := symbol(f, "program_end")
	if err != nil {
		return nil, err
	}
	top, err := symbol(f, "stack_top")
	if err != nil {
		return nil, err
	}
	program := make([]byte, end)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS || s.Size == 0 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		if s.Addr+s.Size > uint64(end) {
			return nil, fmt.Errorf("firmware: section %s at %#x ends after the program, %#x", s.Name, s.Addr, end)
		}
		copy(program[s.Addr:], data)
	}
	return firmware.Append(nil, firmware.Header{
		Version: fwabi.Version, Layout: fwabi.LayoutHash(), Build: id, Entry: uint32(f.Entry), Memory: top,
	}, program), nil
}

// logTable returns the build id and the formats of the log, which the image does not have.
func logTable(text []byte, id [fwabi.BuildBytes]byte) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	s := f.Section(".log")
	if s == nil {
		return id[:], nil
	}
	formats, err := s.Data()
	return append(id[:], formats...), err
}

// symbol returns the value of a symbol.
func symbol(f *elf.File, name string) (uint32, error) {
	all, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if s.Name == name {
			return uint32(s.Value), nil
		}
	}
	return 0, fmt.Errorf("firmware: the ELF file has no symbol %s", name)
}
