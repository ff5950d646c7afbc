package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
)

// note keeps a test that was skipped because this system cannot run it.
func (s *sum) note(e event, reason string) {
	if reason != tool.LongReason && !strings.HasPrefix(reason, notApplicable) {
		test, _, _ := strings.Cut(e.Test, "/")
		s.skipped = append(s.skipped, e.Package+" "+test)
	}
}

// writeSkipped writes a line for each test that this system cannot run: its package and its name.
func (s *sum) writeSkipped(path string) error {
	slices.Sort(s.skipped)
	var text strings.Builder
	for _, line := range slices.Compact(s.skipped) {
		text.WriteString(line + "\n")
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}

// skippedTests returns the arguments of go test that run the tests of a file that writeSkipped has written. It fails
// if the file has none.
func skippedTests(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var packages, names []string
	for line := range strings.Lines(string(text)) {
		at, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			return nil, errors.New(path + ": want lines of a package and a test")
		}
		packages, names = append(packages, at), append(names, name)
	}
	if len(names) == 0 {
		return nil, errors.New(path + " has no test")
	}
	return selection(names, packages), nil
}

// selection returns the arguments of go test that run tests by their names.
func selection(names, packages []string) []string {
	slices.Sort(names)
	slices.Sort(packages)
	return append([]string{"-run", "^(" + strings.Join(slices.Compact(names), "|") + ")$"}, slices.Compact(packages)...)
}
