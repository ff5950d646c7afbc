// Typecheck checks the types of all packages and their tests for other systems.
//
//	go run ./cmd/typecheck OS/ARCH...
//
// It reads the source of every package, also those of Go and of the libraries, and compiles
// nothing, so it is faster than go build. Packages with cgo are read
// without it. It prints each error with its system, and exits 1 if there is one. It exits 2
// on bad usage, and if a package cannot be read.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() { os.Exit(run(".", os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its environment as arguments: dir is in the module. It returns the exit
// code.
func run(dir string, systems []string, stdout, stderr io.Writer) int {
	if len(systems) == 0 {
		fmt.Fprintln(stderr, "typecheck: want systems, for example windows/amd64")
		return 2
	}
	code := 0
	for _, system := range systems {
		found, err := check(dir, system)
		if err != nil {
			fmt.Fprintf(stderr, "%s: %v\n", system, err)
			return 2
		}
		for _, e := range found {
			fmt.Fprintf(stdout, "%s: %v\n", system, e)
			code = 1
		}
	}
	return code
}

// check returns the errors in the module in dir for a system.
func check(dir, system string) ([]packages.Error, error) {
	goos, arch, ok := strings.Cut(system, "/")
	if !ok {
		return nil, fmt.Errorf("want OS/ARCH")
	}
	list, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax,
		Dir:   dir,
		Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch),
		Tests: true,
	}, "./...")
	if err != nil {
		return nil, err
	}
	var found []packages.Error
	packages.Visit(list, nil, func(p *packages.Package) {
		for _, e := range p.Errors { // a package and its tests are read as two, with the same errors
			if !slices.Contains(found, e) {
				found = append(found, e)
			}
		}
	})
	return found, nil
}
