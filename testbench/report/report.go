// Package report makes one page of a run: what ran, when each queue, node and interrupt
// worked, what broke, the registers, the last submissions, the frames, and what the run
// used. The page needs no other file and no network.
package report

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/timeline"
)

// ErrFolder is wrapped by the error of a folder without a file that a page shows.
var ErrFolder = errors.New("report: nothing to show")

// The files of a folder that a page shows. Each may be missing.
const (
	LogFile      = "events.log"   // the log
	MessagesFile = "messages.txt" // the checks that failed
	DumpFile     = "dump.txt"     // the kernel's dump of the GPU
	ReadmeFile   = "README.txt"   // what ran, and the command that repeats it
)

// A Source is what a page shows. Each part may be missing.
type Source struct {
	Title    string
	About    string // what ran, and the command that repeats it
	Messages string // the checks that failed
	Dump     string // the kernel's dump
	Frames   []Frame
	Files    []string // other files of the folder
	Inputs   []string // paths of the files that the page is made of

	Log func() (io.ReadCloser, error) // opens the log; nil: there is none

	damage error // see Damage
	cut    bool  // see Truncated

	// Chain explains an event: the chain of events that led to it, or "". nil: package why does.
	Chain func(e eventlog.Event) string
}

// Open returns the source of a log, or of a folder with the files of a failed test. It fails
// with an error of package os, or with ErrFolder.
func Open(path string) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openFolder(path)
	}
	return &Source{Title: filepath.Base(path), Log: opener(path), Inputs: []string{path}}, nil
}

// opener returns what opens a file.
func opener(path string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(path) }
}

// openFolder returns the source of a folder.
func openFolder(dir string) (*Source, error) {
	s := &Source{Title: filepath.Base(filepath.Clean(dir))}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
		if !e.IsDir() {
			s.Files = append(s.Files, e.Name())
		}
	}
	for _, name := range s.Files {
		if strings.HasSuffix(name, ".png") || slices.Contains([]string{LogFile, MessagesFile, DumpFile, ReadmeFile}, name) {
			s.Inputs = append(s.Inputs, filepath.Join(dir, name))
		}
	}
	if names[LogFile] {
		s.Log = opener(filepath.Join(dir, LogFile))
	}
	for name, to := range map[string]*string{ReadmeFile: &s.About, MessagesFile: &s.Messages, DumpFile: &s.Dump} {
		if !names[name] {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		*to = short(name, text)
	}
	if s.Frames, err = readFrames(dir, names); err != nil {
		return nil, err
	}
	if s.Log == nil && s.About+s.Messages+s.Dump == "" && len(s.Frames) == 0 {
		return nil, fmt.Errorf("%w: %s has neither %s nor a file of a failed test", ErrFolder, dir, LogFile)
	}
	return s, nil
}

// most is the number of bytes of a text that a page shows.
const most = 256 << 10

// short returns a text, or its first whole lines and how much more the file has.
func short(name string, text []byte) string {
	if len(text) <= most {
		return string(text)
	}
	end := bytes.LastIndexByte(text[:most], '\n') + 1
	if end == 0 {
		end = most
	}
	return fmt.Sprintf("%s... %d more bytes are in %s", bytes.ToValidUTF8(text[:end], nil), len(text)-end, name)
}

//go:embed page.html
var pageText string

// A page is what the template shows.
type page struct {
	*Source
	*run
	Overview template.HTML
}

// Write writes the page. It fails with an error of the log, or of w.
func (s *Source) Write(w io.Writer) error {
	p := page{Source: s}
	if s.Log != nil {
		chain := s.Chain
		if chain == nil {
			var err error
			if chain, err = s.chains(); err != nil {
				return err
			}
		}
		r, err := s.readRun(chain)
		if err != nil {
			return err
		}
		p.run = r
		if p.Overview, err = s.overview(); err != nil {
			return err
		}
	}
	t := template.Must(template.New("page").Parse(pageText))
	return t.Execute(w, p)
}

// Damage returns an error that wraps eventlog.ErrCorrupt if Write or WriteTimeline have passed over a gap of the log,
// which the page and the timeline show, or nil.
func (s *Source) Damage() error { return s.damage }

// Truncated reports whether the log that was written ends within a block, as eventlog.Reader.Truncated does.
func (s *Source) Truncated() bool { return s.cut }

// withLog calls do with a reader of the log, and keeps the damage that the reader has passed over.
func (s *Source) withLog(do func(l *eventlog.Reader) error) error {
	file, err := s.Log()
	if err != nil {
		return err
	}
	defer file.Close()
	l, err := eventlog.NewReader(file)
	if err != nil {
		return err
	}
	err = do(l)
	s.cut = l.Truncated()
	if damage := l.Damage(); damage != nil {
		s.damage = damage
	}
	return l.WithDamage(err)
}

// CheckMap fails with eventlog.ErrMap if the log has another register map than this program: packets would be decoded wrongly.
func (s *Source) CheckMap() error {
	if s.Log == nil {
		return nil
	}
	return s.withLog(func(l *eventlog.Reader) error { return l.Header.CheckMap(regmap.Hash()) })
}

// WriteTimeline writes the timeline of the log. It fails with ErrFolder if there is no log.
func (s *Source) WriteTimeline(w io.Writer) error {
	if s.Log == nil {
		return fmt.Errorf("%w: there is no log, and so no timeline", ErrFolder)
	}
	return s.withLog(func(l *eventlog.Reader) error { return timeline.Write(w, l) })
}
