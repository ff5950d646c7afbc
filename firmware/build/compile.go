package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

const (
	compiler = "riscv64-unknown-elf-gcc"
	version  = "12.2.0"

	// interruptBytes is what the start code keeps on the stack in an interrupt.
	interruptBytes = 64

	// memoryBytes is the memory that the program may have.
	memoryBytes = 32 << 10
)

// errCompiler is wrapped by the error of a compiler that does not build the same bytes.
var errCompiler = errors.New("firmware: no compiler")

// flags are those of each file. The path of the directory is not in the ELF.
func flags(dir string) []string {
	return []string{
		"-march=rv32i", "-misa-spec=2.2", "-mabi=ilp32", "-std=c17", "-Os", "-g", "-ffreestanding", "-fno-common",
		"-Wall", "-Wextra", "-Werror", "-fanalyzer", "-fstack-usage", "-fcallgraph-info=su",
		"-fdebug-prefix-map=" + dir + "=firmware/src", "-I.", "-I../target", "-I../gen",
	}
}

// checkCompiler returns an error unless the compiler is there and of the pinned version.
func checkCompiler(name string) error {
	out, err := exec.Command(name, "-dumpfullversion").Output()
	if err != nil {
		return fmt.Errorf("%w: %s is missing, want version %s (Debian package gcc-riscv64-unknown-elf)", errCompiler, name, version)
	}
	if got := strings.TrimSpace(string(out)); got != version {
		return fmt.Errorf("%w: %s has version %s, want %s", errCompiler, name, got, version)
	}
	return nil
}

// A builder compiles the sources below root, in src and target, to out.
type builder struct {
	src string // with the sources in C and assembler
	out string
}

// run runs the compiler in the directory of the sources.
func (b builder) run(args ...string) error {
	cmd := exec.Command(compiler, args...)
	cmd.Dir = b.src
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("firmware: %s: %w\n%s", compiler, err, out)
	}
	return nil
}

// sources returns the sources with an extension, in order.
func (b builder) sources(extension string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(b.src, "*"+extension))
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	slices.Sort(names)
	return names, err
}

// id returns the build id: the hash of compiler, flags, sources and layouts.
func (b builder) id() (id [fwabi.BuildBytes]byte, err error) {
	var all bytes.Buffer
	fmt.Fprintln(&all, compiler, version, flags(""), interruptBytes, memoryBytes)
	fmt.Fprint(&all, fwabi.Layout())
	var names []string
	for _, pattern := range []string{"*.c", "*.h", "*.S", "*.ld", "../target/*.h"} {
		found, err := filepath.Glob(filepath.Join(b.src, pattern))
		if err != nil {
			return id, err
		}
		names = append(names, found...)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return id, err
		}
		fmt.Fprintf(&all, "%s %d\n%s", filepath.Base(name), len(text), text)
	}
	sum := sha256.Sum256(all.Bytes())
	return [fwabi.BuildBytes]byte(sum[:]), nil
}

// compile makes the ELF file out/firmware.elf.
func (b builder) compile(id [fwabi.BuildBytes]byte) (elf string, stack int, err error) {
	if err := os.MkdirAll(b.out, 0o777); err != nil {
		return "", 0, err
	}
	g := newGraph()
	options := append(flags(b.src), fmt.Sprintf("-DINTERRUPT_BYTES=%d", interruptBytes))
	for i := range fwabi.BuildBytes / 4 {
		options = append(options, fmt.Sprintf("-DBUILD%d=%#08x", i, binary.LittleEndian.Uint32(id[4*i:])))
	}
	objects, err := b.objects(g, options)
	if err != nil {
		return "", 0, err
	}
	if stack, err = g.bound(); err != nil {
		return "", 0, err
	}
	elf = filepath.Join(b.out, "firmware.elf")
	link := append(options, "-nostdlib", "-nostartfiles", "-T", "firmware.ld", "-Wl,--build-id=none,--fatal-warnings,--no-warn-rwx-segments",
		fmt.Sprintf("-Wl,--defsym=stack_bytes=%d,--defsym=memory_bytes=%d", stack, memoryBytes), "-o", elf)
	return elf, stack, b.run(append(link, objects...)...)
}

// objects compiles each source, and adds the functions in C to the graph.
func (b builder) objects(g *graph, options []string) (objects []string, err error) {
	assembler, err := b.sources(".S")
	if err != nil {
		return nil, err
	}
	c, err := b.sources(".c")
	if err != nil {
		return nil, err
	}
	for _, name := range append(assembler, c...) {
		object := filepath.Join(b.out, name+".o")
		if err := b.run(append(slices.Clone(options), "-c", name, "-o", object)...); err != nil {
			return nil, err
		}
		objects = append(objects, object)
		if filepath.Ext(name) != ".c" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(b.out, name+".ci"))
		if err != nil {
			return nil, err
		}
		if err := g.add(string(text)); err != nil {
			return nil, err
		}
	}
	return objects, nil
}
