package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// A source is a commit of the repository.
type source struct {
	work    string // temporary directory of this run
	tree    string // directory with the files of the commit
	version string // module version: the tag of the commit, or a pseudo-version
	time    time.Time
	dirty   bool // the working directory has uncommitted changes
}

// checkout writes the files of HEAD of the repository at root to a directory
// below work.
func checkout(root, work string) (*source, error) {
	head, err := git(root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	rev, seconds, _ := strings.Cut(strings.TrimSpace(string(head)), " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("time of HEAD: %w", err)
	}
	s := &source{work: work, tree: filepath.Join(work, "tree"), time: time.Unix(unix, 0).UTC()}
	s.version = version(root, rev, s.time)
	changes, err := git(root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	s.dirty = len(changes) > 0
	// The files must be as in the repository on every system.
	packed, err := git(root, "-c", "core.autocrlf=input", "-c", "core.eol=lf", "archive", "--format=zip", "HEAD")
	if err != nil {
		return nil, err
	}
	return s, unpack(packed, s.tree)
}

// version returns the tag of a commit, or else its pseudo-version.
func version(root, rev string, at time.Time) string {
	match := []string{"describe", "--tags", "--match", "v[0-9]*"}
	if tag, err := git(root, append(match, "--exact-match", rev)...); err == nil {
		return strings.TrimSpace(string(tag))
	}
	older := ""
	if tag, err := git(root, append(match, "--abbrev=0", rev)...); err == nil {
		older = strings.TrimSpace(string(tag))
	}
	return module.PseudoVersion("", older, at, rev[:12])
}

// git runs git in a directory and returns its output.
func git(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	return output(cmd)
}

// output runs a command and returns its standard output. Its standard error is
// part of the error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, err
}

// unpack writes the files of a zip archive below dir. It refuses links, because a
// module cannot contain them.
func unpack(archive []byte, dir string) error {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return err
	}
	for _, f := range r.File {
		if f.FileInfo().IsDir() {
			continue
		}
		if !f.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file, want only regular files in a module", f.Name)
		}
		if err := unpackFile(f, filepath.Join(dir, filepath.FromSlash(f.Name))); err != nil {
			return err
		}
	}
	return nil
}

func unpackFile(f *zip.File, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// writeProxy writes the module to dir in the layout of GOPROXY=file://dir
// (go.dev/ref/mod, "GOPROXY protocol").
func (s *source) writeProxy(dir string) (err error) {
	text, err := os.ReadFile(filepath.Join(s.tree, "go.mod"))
	if err != nil {
		return err
	}
	m := module.Version{Path: modfile.ModulePath(text), Version: s.version}
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	escaped, err := module.EscapeVersion(m.Version)
	if err != nil {
		return err
	}
	at := filepath.Join(dir, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version, s.time})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"list": []byte(m.Version + "\n"), escaped + ".info": info, escaped + ".mod": text} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(at, escaped+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(modzip.CreateFromDir(f, m, s.tree), f.Close())
}
