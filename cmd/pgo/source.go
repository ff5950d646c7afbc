package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// functions has the calls in each function of a package, by the function's name as in a
// profile, without the package. A call has the line and the last part of the callee's
// name.
type functions map[string]map[calling]bool

// A calling is a call in the source. Its line counts from that of its function.
type calling struct {
	line int
	name string
}

// source is the source of the module.
type source struct {
	root     string
	packages map[string]functions // by directory
}

// share returns the share of the weight of calls that are in the source, and the largest
// call that is not.
func (s *source) share(calls []weighted) (share float64, missing call, err error) {
	var found, total, largest int64
	for _, c := range calls {
		total += c.weight
		ok, err := s.has(c.call)
		if err != nil {
			return 0, missing, err
		}
		if ok {
			found += c.weight
		} else if c.weight > largest {
			largest, missing = c.weight, c.call
		}
	}
	if total == 0 {
		return 0, missing, fmt.Errorf("%w: no calls", errProfile)
	}
	return float64(found) / float64(total), missing, nil
}

// has reports whether the source has a call.
func (s *source) has(c call) (bool, error) {
	dir, caller := split(c.caller)
	calleeDir, callee := split(c.callee)
	in, err := s.load(dir)
	if err != nil {
		return false, err
	}
	of, err := s.load(calleeDir)
	if err != nil {
		return false, err
	}
	_, exists := of[callee]
	return exists && in[caller][calling{c.line, callee[strings.LastIndexByte(callee, '.')+1:]}], nil
}

// split returns the directory and the name within its package of a function, without type
// arguments.
func split(name string) (dir, function string) {
	if first, last := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); first >= 0 {
		name = name[:first] + name[last+1:]
	}
	name = strings.TrimPrefix(name, modulePath)
	slash := strings.LastIndexByte(name, '/') + 1
	pkg, function, _ := strings.Cut(name[slash:], ".")
	return name[:slash] + pkg, function
}

// load returns the functions of the package in a directory, none if there is no such
// directory.
func (s *source) load(dir string) (functions, error) {
	if f, ok := s.packages[dir]; ok {
		return f, nil
	}
	all := functions{}
	s.packages[dir] = all
	files, err := os.ReadDir(filepath.Join(s.root, dir))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("%w: %w", errProfile, err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join(s.root, dir, f.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errProfile, err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				all[nameOf(fn)] = callsOf(fset, fn)
			}
		}
	}
	return all, nil
}

// nameOf returns the name of a function: F, T.F or (*T).F.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	star, pointer := t.(*ast.StarExpr)
	if pointer {
		t = star.X
	}
	if x, ok := t.(*ast.IndexExpr); ok {
		t = x.X
	}
	if pointer {
		return fmt.Sprintf("(*%s).%s", t, fn.Name.Name)
	}
	return fmt.Sprintf("%s.%s", t, fn.Name.Name)
}

// callsOf returns the calls in a function, at the line of the opening parenthesis, where
// the compiler sees them.
func callsOf(fset *token.FileSet, fn *ast.FuncDecl) map[calling]bool {
	all := map[calling]bool{}
	start := fset.Position(fn.Pos()).Line
	ast.Inspect(fn, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		line := fset.Position(c.Lparen).Line - start
		switch f := ast.Unparen(c.Fun).(type) {
		case *ast.Ident:
			all[calling{line, f.Name}] = true
		case *ast.SelectorExpr:
			all[calling{line, f.Sel.Name}] = true
		}
		return true
	})
	return all
}
