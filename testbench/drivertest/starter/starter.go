// Package starter writes the module with which the author of a driver begins: a small
// miniport and a small user-mode driver, their test, and a program that tests them.
// The files in the folder module are its templates. They are packages of this module
// too, so they are compiled and tested here.
package starter

import (
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/hilgpu/hilgpu/testbench/output"
)

// ErrInput is wrapped by errors of options that Write refuses.
var ErrInput = errors.New("drivertest: bad input")

// Hilgpu is the path of this module.
const Hilgpu = "github.com/hilgpu/hilgpu"

// goVersion is the version of Go that hilgpu needs.
const goVersion = "1.26.0"

// template is the import path of the templates.
const template = Hilgpu + "/testbench/drivertest/starter/module"

// templates has the files, below the folder module.
//
//go:embed all:module
var templates embed.FS

// Options are the settings of a new module.
type Options struct {
	Dir     string // folder to write to: new, or empty
	Module  string // path of the module; "": example.com/ and the name of Dir
	Version string // version of hilgpu to require; unused with Source
	Source  string // folder with the source of hilgpu, which replaces its module; "": none
}

// A Summary describes a module that Write has written.
type Summary struct {
	Dir     string   `json:"dir"`
	Module  string   `json:"module"`
	Version string   `json:"version"`           // required version of hilgpu
	Replace string   `json:"replace,omitempty"` // folder that replaces it
	Files   []string `json:"files"`             // below Dir, with slashes
}

// Write writes a module. go.mod requires hilgpu in o.Version. With o.Source it
// replaces hilgpu by that folder, and has the requirements and the go.sum of the
// folder, so that neither a network nor "go mod tidy" is needed. Without it the
// module has no go.sum, which "go mod tidy" makes.
//
// Write fails with ErrInput or output.ErrWrite. It has then changed nothing.
func Write(o Options) (*Summary, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w: folder %s: %w", ErrInput, o.Dir, err)
	}
	if o.Module == "" {
		o.Module = "example.com/" + filepath.Base(dir)
	}
	if err := checkModule(o.Module); err != nil {
		return nil, err
	}
	files, err := render(o.Module)
	if err != nil {
		return nil, err
	}
	s := &Summary{Dir: o.Dir, Module: o.Module, Version: o.Version}
	mod, err := newModule(&o, s)
	if err != nil {
		return nil, err
	}
	return s, write(o.Dir, append(files, mod...), s)
}

// checkModule checks the path of a new module. A path without a dot in its first
// element is reserved for the standard library.
func checkModule(name string) error {
	if err := module.CheckPath(name); err != nil {
		return fmt.Errorf("%w: module %q: %w; want a path as in example.com/driver", ErrInput, name, err)
	}
	if name == Hilgpu || strings.HasPrefix(name, Hilgpu+"/") {
		return fmt.Errorf("%w: module %q is in hilgpu itself, want a path as in example.com/driver", ErrInput, name)
	}
	return nil
}

// A file is a file of the new module.
type file struct {
	name string // with slashes
	data []byte
}

// render returns the templates for a module of the given path.
func render(name string) (files []file, err error) {
	err = fs.WalkDir(templates, "module", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := templates.ReadFile(at)
		if err != nil {
			return err
		}
		if path.Ext(at) == ".go" { // the order of imports depends on the path
			if data, err = format.Source([]byte(strings.ReplaceAll(string(data), template, name))); err != nil {
				return err
			}
		}
		files = append(files, file{strings.TrimPrefix(at, "module/"), data})
		return nil
	})
	return files, err
}

// newModule returns go.mod and, with a source, go.sum.
func newModule(o *Options, s *Summary) ([]file, error) {
	mod := new(modfile.File)
	if err := errors.Join(mod.AddModuleStmt(o.Module), mod.AddGoStmt(goVersion)); err != nil {
		return nil, err
	}
	var sum []byte
	var indirect []*modfile.Require
	if o.Source != "" {
		var err error
		s.Version = "v0.0.0"
		if sum, indirect, err = replaced(o, s, mod); err != nil {
			return nil, err
		}
	}
	direct := &modfile.Require{Mod: module.Version{Path: Hilgpu, Version: s.Version}}
	mod.SetRequireSeparateIndirect(append([]*modfile.Require{direct}, indirect...))
	mod.Cleanup()
	text, err := mod.Format()
	if err != nil {
		return nil, err
	}
	files := []file{{"go.mod", text}}
	if sum != nil {
		files = append(files, file{"go.sum", sum})
	}
	return files, nil
}

// replaced replaces hilgpu by the folder of its source and returns the go.sum and the
// requirements of that. They may be more than the new module needs.
func replaced(o *Options, s *Summary, mod *modfile.File) (sum []byte, indirect []*modfile.Require, err error) {
	if s.Replace, err = filepath.Abs(o.Source); err != nil {
		return nil, nil, fmt.Errorf("%w: source %s: %w", ErrInput, o.Source, err)
	}
	text, err := os.ReadFile(filepath.Join(s.Replace, "go.mod"))
	if err != nil || modfile.ModulePath(text) != Hilgpu {
		return nil, nil, fmt.Errorf("%w: source %s is not the root of %s's source tree", ErrInput, o.Source, Hilgpu)
	}
	theirs, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: source %s: %w", ErrInput, o.Source, err)
	}
	for _, r := range theirs.Require {
		indirect = append(indirect, &modfile.Require{Mod: r.Mod, Indirect: true})
	}
	if sum, err = os.ReadFile(filepath.Join(s.Replace, "go.sum")); err != nil {
		return nil, nil, fmt.Errorf("%w: source %s: %w", ErrInput, o.Source, err)
	}
	return sum, indirect, mod.AddReplace(Hilgpu, "", filepath.ToSlash(s.Replace), "")
}

// write writes the files to dir. If it fails, it removes what it has written.
func write(dir string, files []file, s *Summary) (err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.Mkdir(dir, 0o777); err != nil {
			return output.Failed(dir, err)
		}
		defer func() {
			if err != nil {
				os.Remove(dir)
			}
		}()
	case err != nil:
		return fmt.Errorf("%w: %w, want a new or an empty folder", ErrInput, err)
	case len(entries) > 0:
		return fmt.Errorf("%w: %s is not empty, it has %s; want a new or an empty folder", ErrInput, dir, entries[0].Name())
	}
	defer func() {
		for _, f := range files {
			if top, _, _ := strings.Cut(f.name, "/"); err != nil {
				os.RemoveAll(filepath.Join(dir, top))
			}
		}
	}()
	for _, f := range files {
		to := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o777), os.WriteFile(to, f.data, 0o666)); err != nil {
			return output.Failed(to, err)
		}
		s.Files = append(s.Files, f.name)
	}
	return nil
}
