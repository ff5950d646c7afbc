package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A target is a system for which the program is built.
type target struct{ os, arch string } // GOOS and GOARCH

func (t target) String() string { return t.os + "_" + t.arch }

// program returns the name of the program's file.
func (t target) program() string {
	if t.os == "windows" {
		return "hilgpu.exe"
	}
	return "hilgpu"
}

// targets returns the systems that have an archive.
func targets() []target {
	return []target{
		{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
	}
}

// chosen returns the targets with names, or all targets for none.
func chosen(names []string) ([]target, error) {
	all := targets()
	if len(names) == 0 {
		return all, nil
	}
	var some []target
	for _, name := range names {
		i := slices.IndexFunc(all, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("no system %s, want one of %v", name, all)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// A builder builds a source in the same way as go install: from its module,
// with the module's version, and from the modules in its go.sum.
type builder struct {
	*source
	proxies string
}

// newBuilder packs the module, then downloads and verifies its dependencies.
func newBuilder(s *source) (*builder, error) {
	own := filepath.Join(s.work, "proxy")
	if err := s.writeProxy(own); err != nil {
		return nil, err
	}
	for _, verb := range []string{"download", "verify"} {
		cmd := exec.Command("go", "mod", verb)
		cmd.Dir = s.tree
		if _, err := output(cmd); err != nil {
			return nil, err
		}
	}
	cache, err := output(exec.Command("go", "env", "GOMODCACHE"))
	if err != nil {
		return nil, err
	}
	downloads := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
	return &builder{s, fileURL(own) + "," + fileURL(downloads)}, nil
}

// fileURL returns the file URL of a path, for GOPROXY.
func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // before a drive letter
	}
	return "file://" + path
}

// install builds the program for a target and returns its path.
func (b *builder) install(t target) (string, error) {
	gopath := filepath.Join(b.work, "go")
	cmd := exec.Command("go", "install", "github.com/hilgpu/hilgpu/cmd/hilgpu@"+b.version)
	cmd.Dir = b.work
	// GOSUMDB=off: newBuilder has verified the modules.
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOPROXY="+b.proxies, "GONOPROXY=none",
		"GOSUMDB=off", "GOFLAGS=-trimpath -modcacherw", "GOPATH="+gopath, "GOMODCACHE="+filepath.Join(b.work, "mod"), "GOBIN=", "GOWORK=off")
	if _, err := output(cmd); err != nil {
		return "", fmt.Errorf("%s: %w", t, err)
	}
	bin := filepath.Join(gopath, "bin")
	if t != (target{runtime.GOOS, runtime.GOARCH}) {
		bin = filepath.Join(bin, t.String())
	}
	return filepath.Join(bin, t.program()), nil
}
