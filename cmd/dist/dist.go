package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// writeArchives writes an archive for each of the targets to dir, and SHA256SUMS.
func writeArchives(s *source, dir string, targets []target) error {
	b, err := newBuilder(s)
	if err != nil {
		return err
	}
	shared, err := b.shared()
	if err != nil {
		return err
	}
	for _, t := range targets {
		program, err := b.install(t)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		name, err := writeArchive(dir, s, t, append(slices.Clone(shared), file{t.program(), 0o755, data}))
		if err != nil {
			return err
		}
		fmt.Println(filepath.Join(dir, name))
	}
	return writeSums(dir)
}

// shared returns the files that all archives have in common.
func (b *builder) shared() ([]file, error) {
	files, err := documents(b.tree)
	if err != nil {
		return nil, err
	}
	program, err := b.install(target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	pages, err := b.manPages(program)
	if err != nil {
		return nil, err
	}
	files = append(files, pages...)
	for shell, name := range map[string]string{"bash": "hilgpu.bash", "zsh": "_hilgpu", "fish": "hilgpu.fish", "powershell": "hilgpu.ps1"} {
		script, err := output(exec.Command(program, "completion", shell))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path.Join("completions", name), 0o644, script})
	}
	return files, nil
}

// documents returns the user documents of the source.
func documents(tree string) ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs"} {
		err := filepath.WalkDir(filepath.Join(tree, name), func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(tree, at)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(at)
			files = append(files, file{filepath.ToSlash(rel), 0o644, data})
			return err
		})
		if err != nil && !(name == "CHANGELOG.md" && errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	return files, nil
}

// manPages returns the man page of each command, dated like the commit.
func (b *builder) manPages(program string) ([]file, error) {
	dir := filepath.Join(b.work, "man1")
	cmd := exec.Command(program, "man", dir)
	cmd.Env = append(os.Environ(), "TZ=UTC", "SOURCE_DATE_EPOCH="+strconv.FormatInt(b.time.Unix(), 10))
	if _, err := output(cmd); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	var files []file
	for _, e := range entries {
		data, rerr := os.ReadFile(filepath.Join(dir, e.Name()))
		err = errors.Join(err, rerr)
		files = append(files, file{path.Join("man", "man1", e.Name()), 0o644, data})
	}
	return files, err
}

// writeArchive writes the archive of a target and returns its name.
func writeArchive(dir string, s *source, t target, files []file) (string, error) {
	stem := strings.Join([]string{"hilgpu", s.version, t.os, t.arch}, "_")
	for i := range files {
		files[i].name = path.Join(stem, files[i].name)
	}
	var write func(io.Writer, []file, time.Time) error = writeTar
	name := stem + ".tar.gz"
	if t.os == "windows" {
		write, name = writeZip, stem+".zip"
	}
	var b bytes.Buffer
	if err := write(&b, files, s.time); err != nil {
		return "", err
	}
	return name, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644)
}

// writeSums writes SHA256SUMS of the files in dir, in the format of sha256sum
// -c.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), sums.Bytes(), 0o644)
}
