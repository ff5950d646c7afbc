package figures

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// ErrEdit is wrapped by the error of a source tree that cannot be edited, built or
// run.
var ErrEdit = errors.New("figures: the edit loop failed")

// An Edit is the time from a change of one block to the end of a run with that
// change.
type Edit struct {
	Block     string  `json:"block"`
	Workload  string  `json:"workload"`
	Settings  Setting `json:"verilator_settings"`
	Go        float64 `json:"go_seconds"`        // go build and run; median
	Verilator float64 `json:"verilator_seconds"` // translation, verilator, C++ compiler and run; median
	Ratio     float64 `json:"ratio"`
	Target    float64 `json:"target,omitempty"` // 0: none
	Holds     bool    `json:"holds"`            // the target is reached, or there is none
}

// The edited file, the method that is edited, and the statement that is added to
// it, which never takes effect.
const (
	editFile   = "rtl/fence/module.go"
	editMethod = "func (m *Module) Tick("
	editText   = "\n\tif time == 0xfeed_0000_0000_%04x {\n\t\tm.event = !m.event\n\t}"
)

// Settings of the models of the edit loop.
const (
	Optimized   Setting = "verilator -O3, g++ -O3"
	Unoptimized Setting = "verilator -O3, g++ -O0"
)

// editBoards lists the models of the edit loop, the boards and the targets.
var editBoards = []struct {
	settings Setting
	board    string
	target   float64
}{{Optimized, "verilated", 0}, {Unoptimized, "verilated?optimize=0", EditTarget}}

// EditLoop copies the module at root and changes a block the given number of times.
// After each change it builds and runs the composition in Go, and then translates,
// builds and runs it with Verilator, compiled with and without optimization. The time of
// Verilator excludes go build.
func EditLoop(root string, runs int) ([]Edit, error) {
	tmp, err := os.MkdirTemp("", "hilgpu-edit-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEdit, err)
	}
	defer os.RemoveAll(tmp)
	l := &loop{tree: filepath.Join(tmp, "tree"), cache: filepath.Join(tmp, "cache"), bin: filepath.Join(tmp, "hilgpu")}
	if err := copySource(root, l.tree); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEdit, err)
	}
	if l.source, err = os.ReadFile(filepath.Join(l.tree, editFile)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEdit, err)
	}
	var ours []time.Duration
	theirs := make([][]time.Duration, len(editBoards))
	for i := range runs + 1 {
		a, b, err := l.once(i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			continue // the first run fills Go's build cache
		}
		ours = append(ours, a)
		for j := range b {
			theirs[j] = append(theirs[j], b[j])
		}
	}
	var edits []Edit
	for j, b := range editBoards {
		edits = append(edits, newEdit(b.settings, median(ours), median(theirs[j]), b.target))
	}
	return edits, nil
}

func newEdit(s Setting, ours, theirs time.Duration, target float64) Edit {
	e := Edit{
		Block: path.Dir(editFile), Workload: "run compose --check", Settings: s,
		Go: ours.Seconds(), Verilator: theirs.Seconds(), Ratio: float64(theirs) / float64(ours), Target: target,
	}
	e.Holds = e.Ratio >= target
	return e
}

// loop is a copy of the module.
type loop struct {
	tree, cache, bin string
	source           []byte // unchanged source of the block
}

// once changes the block and runs all sides.
func (l *loop) once(i int) (ours time.Duration, theirs []time.Duration, err error) {
	text, err := edited(l.source, i)
	if err != nil {
		return 0, nil, err
	}
	if err := os.WriteFile(filepath.Join(l.tree, editFile), text, 0o644); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrEdit, err)
	}
	start := time.Now()
	if err := l.run("go", "build", "-o", l.bin, "./cmd/hilgpu"); err != nil {
		return 0, nil, err
	}
	if err := l.run(l.bin, "run", "compose", "--check"); err != nil {
		return 0, nil, err
	}
	ours = time.Since(start)
	for _, b := range editBoards {
		start = time.Now()
		if err := l.run(l.bin, "run", "compose", "--check", "--board", b.board); err != nil {
			return 0, nil, err
		}
		theirs = append(theirs, time.Since(start))
	}
	return ours, theirs, nil
}

// run runs a command in the copy, with a separate cache of Verilated models.
func (l *loop) run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = l.tree
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	if name == l.bin {
		cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+l.cache)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s %s: %w\n%s", ErrEdit, filepath.Base(name), strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// edited returns the source with a change that is different for each i.
func edited(source []byte, i int) ([]byte, error) {
	_, rest, ok := bytes.Cut(source, []byte(editMethod))
	_, _, ok2 := bytes.Cut(rest, []byte("{\n"))
	if !ok || !ok2 {
		return nil, fmt.Errorf("%w: %s has no %s", ErrEdit, editFile, editMethod)
	}
	at := len(source) - len(rest) + bytes.Index(rest, []byte("{\n")) + 1
	return fmt.Appendf(nil, "%s"+editText+"%s", source[:at], i, source[at:]), nil
}

// copySource copies the source files: everything except hidden files and build
// output.
func copySource(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && rel != "."
		switch {
		case d.IsDir() && (hidden || rel == "bin" || rel == "out"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular() || hidden:
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
}
