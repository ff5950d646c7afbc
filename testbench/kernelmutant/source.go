package kernelmutant

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// errSource is wrapped by the error of a package that cannot be read or checked.
var errSource = errors.New("kernelmutant: cannot load the source")

// A Source is the source of the kernel, with its types.
type Source struct {
	root  string
	pkg   *packages.Package
	texts map[string][]byte // of the files that get mutants, by base name
	files map[string]*ast.File
	calls map[ast.Expr]*ast.CallExpr // by their arguments
	all   []*Mutant                  // that Mutants returns
}

// Load reads the kernel of the module in folder root.
func Load(root string) (*Source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSource, err)
	}
	list, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: root}, "./"+Folder)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSource, err)
	}
	if len(list) != 1 || len(list[0].Errors) > 0 {
		return nil, fmt.Errorf("%w: %d packages in %s, want 1 without errors: %v", errSource, len(list), Folder, list[0].Errors)
	}
	s := &Source{root: root, pkg: list[0], texts: map[string][]byte{}, files: map[string]*ast.File{}, calls: map[ast.Expr]*ast.CallExpr{}}
	for _, f := range s.pkg.Syntax {
		s.files[filepath.Base(s.pkg.Fset.Position(f.Package).Filename)] = f
		s.noteCalls(f)
	}
	for _, p := range parts {
		for _, name := range p.files {
			name += ".go"
			if s.files[name] == nil {
				return nil, fmt.Errorf("%w: %s has no %s, of the part %s", errSource, Folder, name, p.name)
			}
			if s.texts[name], err = os.ReadFile(s.path(name)); err != nil {
				return nil, fmt.Errorf("%w: %w", errSource, err)
			}
			s.all = append(s.all, s.mutantsOf(name)...)
		}
	}
	return s, nil
}

// noteCalls notes of which calls the expressions of a file are arguments.
func (s *Source) noteCalls(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			for _, a := range call.Args {
				s.calls[a] = call
			}
		}
		return true
	})
}

// path returns the full name of a file of the package.
func (s *Source) path(name string) string {
	return filepath.Join(s.root, filepath.FromSlash(Folder), name)
}

// line returns a line of a file, without the space around it.
func (s *Source) line(name string, number int) string {
	lines := bytes.SplitN(s.texts[name], []byte("\n"), number+1)
	return string(bytes.TrimSpace(lines[number-1]))
}

// Mutants returns all mutants in the order of their files and places, also those that do
// not compile and those that change nothing.
func (s *Source) Mutants() []*Mutant { return s.all }

// Import implements types.Importer with the packages that the kernel imports.
func (s *Source) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := s.pkg.Imports[path]; p != nil {
		return p.Types, nil
	}
	return nil, fmt.Errorf("%w: %s is not imported", errSource, path)
}

// compiles reports whether the kernel compiles with a mistake.
func (s *Source) compiles(m *Mutant) bool {
	changed, err := parser.ParseFile(s.pkg.Fset, m.File, m.apply(s.texts[m.File]), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := []*ast.File{changed}
	for name, f := range s.files {
		if name != m.File {
			files = append(files, f)
		}
	}
	conf := types.Config{Importer: s}
	_, err = conf.Check(s.pkg.PkgPath, s.pkg.Fset, files, nil)
	return err == nil
}
