package verilog

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// ErrSource is wrapped by the error of source that cannot be read or checked.
var ErrSource = errors.New("verilog: cannot load the source")

// loader parses and checks the packages of one Go module from source. Packages
// of the standard library are checked without their bodies.
type loader struct {
	enables bool // blocks have their sleep conditions as clock enables
	root    string
	module  string // module path
	fset    *token.FileSet
	ctx     build.Context
	info    *types.Info
	pkgs    map[string]*types.Package
	decls   map[*types.Func]*ast.FuncDecl
	blocks  map[*types.Const]token.Pos // declarations of the constants of this module
	lines   map[string][][]byte        // by file name
}

func newLoader(root string) (*loader, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	path := ""
	for line := range strings.Lines(string(mod)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "module" {
			path = f[1]
		}
	}
	if path == "" {
		return nil, fmt.Errorf("%w: %s/go.mod has no module line", ErrSource, root)
	}
	ctx, err := toolchain()
	if err != nil {
		return nil, err
	}
	return &loader{
		root: root, module: path, fset: token.NewFileSet(), ctx: ctx,
		info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
			Implicits: map[ast.Node]types.Object{},
		},
		pkgs: map[string]*types.Package{}, decls: map[*types.Func]*ast.FuncDecl{}, blocks: map[*types.Const]token.Pos{}, lines: map[string][][]byte{},
	}, nil
}

// toolchain returns the build context of the Go installation. A binary built with
// -trimpath does not know where that is and asks the go command.
func toolchain() (build.Context, error) {
	ctx := build.Default
	ctx.CgoEnabled = false
	if ctx.GOROOT == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return ctx, fmt.Errorf("%w: the standard library is not found: set GOROOT, or install Go: %w", ErrSource, err)
		}
		ctx.GOROOT = strings.TrimSpace(string(out))
	}
	return ctx, nil
}

// Import implements types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	if p := l.pkgs[path]; p != nil {
		return p, nil
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	rel, ours := strings.CutPrefix(path, l.module+"/")
	dir := filepath.Join(l.root, filepath.FromSlash(rel))
	if !ours {
		dir = filepath.Join(l.ctx.GOROOT, "src", filepath.FromSlash(path))
		if _, err := os.Stat(dir); err != nil {
			dir = filepath.Join(l.ctx.GOROOT, "src", "vendor", filepath.FromSlash(path))
		}
	}
	p, err := l.check(path, dir, ours)
	if err != nil {
		return nil, err
	}
	l.pkgs[path] = p
	return p, nil
}

// check parses and type-checks the package in dir. If ours is false, only the
// declarations are checked, and type errors are ignored.
func (l *loader) check(path, dir string, ours bool) (*types.Package, error) {
	bp, err := l.ctx.ImportDir(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	var files []*ast.File
	for _, name := range bp.GoFiles {
		full := filepath.Join(dir, name)
		text, err := os.ReadFile(full)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
		f, err := parser.ParseFile(l.fset, full, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
		files = append(files, f)
		if ours {
			l.lines[full] = bytes.Split(text, []byte("\n"))
		}
	}
	if ours {
		return l.types(path, files)
	}
	conf := types.Config{Importer: l, FakeImportC: true, IgnoreFuncBodies: true, Error: func(error) {}}
	p, _ := conf.Check(path, l.fset, files, nil)
	return p, nil
}

// types type-checks a package of this module and records its functions and constants. If an
// imported package has an error, that error is returned instead of the failed
// import.
func (l *loader) types(path string, files []*ast.File) (*types.Package, error) {
	imports := &importer{l: l}
	conf := types.Config{Importer: imports}
	p, err := conf.Check(path, l.fset, files, l.info)
	if imports.wrong != nil {
		return nil, imports.wrong
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Body != nil {
				l.decls[l.info.Defs[fd.Name].(*types.Func)] = fd
			}
		}
		l.constants(f)
	}
	return p, nil
}

// constants records the declarations of the constants of a file.
func (l *loader) constants(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			return true
		}
		for _, spec := range d.Specs {
			for _, id := range spec.(*ast.ValueSpec).Names {
				if c, ok := l.info.Defs[id].(*types.Const); ok {
					l.blocks[c] = d.Pos()
				}
			}
		}
		return false
	})
}

// importer is the loader as one package sees it.
type importer struct {
	l     *loader
	wrong error // the first import error that has a position in the source
}

// Import implements types.Importer.
func (i *importer) Import(path string) (*types.Package, error) {
	p, err := i.l.Import(path)
	var syntax scanner.ErrorList
	var semantics types.Error
	if i.wrong == nil && (errors.As(err, &syntax) || errors.As(err, &semantics)) {
		i.wrong = err
	}
	return p, err
}

// position returns pos with the file relative to the module root.
func (l *loader) position(pos token.Pos) token.Position {
	p := l.fset.Position(pos)
	if rel, err := filepath.Rel(l.root, p.Filename); err == nil {
		p.Filename = filepath.ToSlash(rel)
	}
	return p
}

// where returns file:line of pos.
func (l *loader) where(pos token.Pos) string {
	p := l.position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// fail returns the Error of a construct at pos.
func (l *loader) fail(pos token.Pos, code subset.Code, reason, rewrite string) *Error {
	e := &Error{Code: code, Pos: l.position(pos), Reason: reason, Rewrite: rewrite}
	lines := l.lines[l.fset.Position(pos).Filename]
	if n := e.Pos.Line - 1; n >= 0 && n < len(lines) {
		e.Line = strings.ReplaceAll(string(lines[n]), "\t", " ")
	}
	return e
}
