package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// longTests returns the arguments of go test that run the long tests of the module in dir. It fails if there are none.
func longTests(dir string) ([]string, error) {
	var packages, names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != dir && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return fs.SkipDir // as go does
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		long, err := longTestsOf(path)
		if len(long) > 0 {
			packages = append(packages, "./"+filepath.ToSlash(filepath.Dir(path)))
			names = append(names, long...)
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = errors.New("no test calls tooltest.Long")
	}
	if err != nil {
		return nil, err
	}
	return append([]string{"-timeout", "40m"}, selection(names, packages)...), nil
}

// longTestsOf returns the tests of a file that call tooltest.Long. It fails if another function calls it, whose tests
// it cannot know.
func longTestsOf(path string) (names []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("tooltest.Long(")) {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !callsLong(f) {
			continue
		}
		if f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
			return nil, fmt.Errorf("%s: %s calls tooltest.Long and is no test", path, f.Name.Name)
		}
		names = append(names, f.Name.Name)
	}
	return names, nil
}

// callsLong reports whether a function calls tooltest.Long.
func callsLong(f *ast.FuncDecl) (long bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Long" {
			x, ok := s.X.(*ast.Ident)
			long = long || ok && x.Name == "tooltest"
		}
		return !long
	})
	return long
}
