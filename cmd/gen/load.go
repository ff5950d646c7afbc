package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// modulePath is the prefix of the packages of the module.
const modulePath = "github.com/hilgpu/hilgpu/"

// loader type-checks the declarations of the module's packages, without the
// files generated from them, so that a stale generated file does not block
// generation. Other modules and the standard library are empty.
type loader struct {
	root string
	fset *token.FileSet
	pkgs map[string]*types.Package
}

func newLoader(root string) *loader {
	return &loader{root: root, fset: token.NewFileSet(), pkgs: map[string]*types.Package{}}
}

// Import implements types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	if p, ok := l.pkgs[path]; ok {
		return p, nil
	}
	dir, ours := strings.CutPrefix(path, modulePath)
	if !ours {
		p := types.NewPackage(path, path[strings.LastIndexByte(path, '/')+1:])
		p.MarkComplete()
		l.pkgs[path] = p
		return p, nil
	}
	files, err := l.parse(filepath.Join(l.root, filepath.FromSlash(dir)))
	if err != nil {
		return nil, err
	}
	// Names of packages that are empty here, and generated methods, cause
	// errors that can be ignored.
	conf := types.Config{Importer: l, IgnoreFuncBodies: true, Error: func(error) {}}
	p, err := conf.Check(path, l.fset, files, nil)
	if p == nil {
		return nil, err
	}
	l.pkgs[path] = p
	return p, nil
}

// parse returns the files of a package, without tests and what is generated from them.
func (l *loader) parse(dir string) ([]*ast.File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == snapshotFile || name == blocksFile && strings.HasSuffix(dir, blocksDir) {
			continue
		}
		file, err := parser.ParseFile(l.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("gen: %s: %w", dir, errNoFiles)
	}
	return files, nil
}

var errNoFiles = errors.New("no Go files")
