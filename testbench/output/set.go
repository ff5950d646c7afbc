package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// A Set is the output files of one command, which must be different files, and none of
// those that it reads. The zero value is an empty set. Its methods may be called from
// several goroutines, because a signal handler may discard files that are being created.
type Set struct {
	mu     sync.Mutex
	files  []*File
	inputs []string // absolute
}

// Reads notes files that the command reads. It fails with ErrWrite if one of them is an output.
func (s *Set) Reads(paths ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		s.inputs = append(s.inputs, absolute(path))
	}
	for _, o := range s.files {
		if s.read(o) {
			return o.Failed(errRead)
		}
	}
	return nil
}

// ReadFile is os.ReadFile of a file that the command reads.
func (s *Set) ReadFile(path string) ([]byte, error) {
	if err := s.Reads(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// errRead is why a file cannot be an output.
var errRead = errors.New("the command reads it")

// read reports whether the command reads a file.
func (s *Set) read(o *File) bool {
	return !o.special && slices.Contains(s.inputs, absolute(o.place))
}

// Create calls the function Create and adds the file to the set. It fails with
// ErrWrite if the file is in the set already, or the command reads it, also under
// another name, unless that is a hard link. Pipes and devices may be added twice.
func (s *Set) Create(path string) (*File, error) {
	o, err := Create(path)
	if err != nil || o == nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.files {
		if same(other, o) {
			o.Discard()
			return nil, o.Failed(errors.New("it is used for two outputs"))
		}
	}
	if s.read(o) {
		o.Discard()
		return nil, o.Failed(errRead)
	}
	s.files = append(s.files, o)
	return o, nil
}

// Discard discards all files that are not committed.
func (s *Set) Discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.Discard()
	}
}

// same reports whether two outputs are the same file.
func same(a, b *File) bool {
	return !a.special && !b.special && absolute(a.place) == absolute(b.place)
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	return path
}

// An Entry is a file of a folder. Name has no directory.
type Entry struct {
	Name string
	Data []byte
}

// Replace writes all entries to the folder dir, which it creates, or none. Then it
// removes the files named in old that are not entries. It fails with ErrWrite.
func Replace(dir string, entries []Entry, old []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	if err := writeAll(dir, entries); err != nil {
		return err
	}
	for _, name := range old {
		if slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == name }) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", ErrWrite, err)
		}
	}
	return nil
}

// writeAll writes all entries, or none.
func writeAll(dir string, entries []Entry) error {
	var outs []*File
	defer func() {
		for _, o := range outs {
			o.Discard()
		}
	}()
	for _, e := range entries {
		o, err := Create(filepath.Join(dir, e.Name))
		if err != nil {
			return err
		}
		outs = append(outs, o)
		if _, err := o.Write(e.Data); err != nil {
			return err
		}
	}
	for _, o := range outs {
		if err := o.Commit(); err != nil {
			return err
		}
	}
	return nil
}
