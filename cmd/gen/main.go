// Gen writes the files that are generated from tables, or checks them.
//
//	go run ./cmd/gen [-root DIR] [-check]
//
// With -check it writes nothing, prints the name of each generated file that is
// missing or out of date, and exits 1 if there is one. It exits 2 on bad usage,
// and 1 if a file cannot be generated, read or written.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// An output is a file generated from tables. The same tables give the same
// bytes.
type output struct {
	path string // relative to the root of the module, slash-separated
	make func() ([]byte, error)
}

// outputs lists every generated file of the module at root.
func outputs(root string) []output {
	all := append([]output{
		{"docs/registers.md", registersDoc},
		{"docs/packets.md", packetsDoc},
		{"docs/rules.md", rulesDoc},
		{"rtl/cp/table.go", decoder},
		{"docs/selectors.md", selectorsDoc},
		{"docs/boards.md", boardsDoc},
		{"docs/wireshark/hilgpu.lua", dissector},
		{"firmware/gen/registers.h", registersH},
		{"firmware/gen/boot_abi.h", bootH},
		{"firmware/gen/message_abi.h", messageH},
		{"firmware/gen/queue_abi.h", queueH},
		{"docs/stack.svg", func() ([]byte, error) { return stackPicture(root) }},
		{"docs/gpu.svg", func() ([]byte, error) { return gpuPicture(root) }},
		{blocksDir + "/" + blocksFile, func() ([]byte, error) { return blocks(root) }},
		{"runtime/verifier/wrap.go", func() ([]byte, error) { return wrappers(root) }},
		{"runtime/verifier/arguments.go", func() ([]byte, error) { return arguments(root) }},
	}, snapshots(root)...)
	return append(all, output{buildsFile, func() ([]byte, error) { return buildsGo(root) }}, output{exportsFile, exports})
}

func main() { os.Exit(run(outputs, os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its environment as arguments. It returns the exit code.
func run(outputs func(root string) []output, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "root directory of the module")
	check := flags.Bool("check", false, "write nothing; print the files that differ and exit 1")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 0 {
		fmt.Fprintf(stderr, "gen: argument %q, want only flags\n", flags.Arg(0))
		return 2
	}
	code := 0
	for _, o := range outputs(*root) {
		differs, err := o.update(*root, *check)
		if err != nil {
			fmt.Fprintf(stderr, "gen: %s: %v\n", o.path, err)
			code = 1
		}
		if differs {
			fmt.Fprintln(stdout, o.path)
		}
		if differs && *check {
			code = 1
		}
	}
	return code
}

// update generates the file and reports whether the one below root differs.
// Unless check is set, it then writes the file and creates its directories.
func (o output) update(root string, check bool) (differs bool, err error) {
	want, err := o.make()
	if err != nil {
		return false, err
	}
	path := filepath.Join(root, filepath.FromSlash(o.path))
	got, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err == nil && bytes.Equal(got, want) {
		return false, nil
	}
	if check {
		return true, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return false, err
	}
	return true, os.WriteFile(path, want, 0o666)
}
