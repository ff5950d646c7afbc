package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A stage is a script of a page and the output that the page shows for it.
type stage struct {
	line           int // of the script's fence
	script, output string
	shown          bool // the page shows an output
}

// stages returns the blocks marked sh, each with the block marked text that follows it.
func stages(page string) ([]stage, error) {
	var all []stage
	mark, text, begin := "", "", 0
	for i, l := range strings.Split(page, "\n") {
		fence, ok := strings.CutPrefix(l, "```")
		switch {
		case !ok && mark != "":
			text += l + "\n"
		case !ok:
		case mark == "":
			mark, text, begin = fence, "", i+1
			if mark == "" {
				return nil, fmt.Errorf("line %d: a block without a mark, want sh, text or go", begin)
			}
		default:
			last := len(all) - 1
			switch {
			case mark == "sh":
				all = append(all, stage{line: begin, script: text})
			case mark == "text" && (last < 0 || all[last].shown):
				return nil, fmt.Errorf("line %d: an output without a script", begin)
			case mark == "text":
				all[last].output, all[last].shown = text, true
			}
			mark = ""
		}
	}
	if mark != "" {
		return nil, fmt.Errorf("line %d: the block does not end", begin)
	}
	return all, nil
}

// shows reports whether the page's text shows the output. A line of three dots stands
// for any lines, three dots in a line for any text.
func shows(text, output string) bool {
	var b strings.Builder
	for l := range strings.Lines(text) {
		if l == "...\n" {
			b.WriteString(`(.*\n)*`)
			continue
		}
		parts := strings.Split(l, "...")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		b.WriteString(strings.Join(parts, ".*"))
	}
	return regexp.MustCompile(`\A` + b.String() + `\z`).MatchString(output)
}

// TestTour runs the scripts of docs/tour.md one after the other, as a reader would.
func TestTour(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "bash")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "tour.md"))
	require.NoError(t, err)
	all, err := stages(string(page))
	require.NoError(t, err)
	assert.Greater(t, len(all), 10)

	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "bin", "hilgpu"), ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Symlink(filepath.Join(root, "docs"), filepath.Join(dir, "docs")))
	for _, s := range all {
		t.Run(fmt.Sprintf("line %d", s.line), func(t *testing.T) {
			for _, p := range tool.Programs() {
				if strings.HasPrefix(s.script, p.Name+" ") {
					tooltest.Need(t, p.Name)
				}
			}
			cmd := exec.Command("bash", "-euo", "pipefail", "-c", s.script)
			cmd.Dir = dir
			var stderr strings.Builder
			cmd.Stderr = &stderr
			got, err := cmd.Output()
			require.NoError(t, err, "%s\n%s", s.script, stderr.String())
			assert.True(t, shows(s.output, string(got)), "docs/tour.md line %d shows\n%s\nthe command printed\n%s", s.line, s.output, got)
		})
	}
}

func TestShows(t *testing.T) {
	for _, tt := range []struct {
		name, text, output string
		want               bool
	}{
		{"the same", "a\nb\n", "a\nb\n", true},
		{"another line", "a\nb\n", "a\nc\n", false},
		{"a line more at the end", "a\n", "a\nb\n", false},
		{"a line more at the beginning", "b\n", "a\nb\n", false},
		{"a line less", "a\nb\n", "a\n", false},
		{"lines left out", "a\n...\nd\n", "a\nb\nc\nd\n", true},
		{"no line left out", "a\n...\nd\n", "a\nd\n", true},
		{"lines left out at the end", "a\n...\n", "a\nb\n", true},
		{"a line after those left out", "a\n...\nd\n", "a\nb\ne\n", false},
		{"text left out", "a ... c\n", "a b c\n", true},
		{"text left out is of one line", "a ... c\n", "a b\nb c\n", false},
		{"the rest of the line counts", "a ... c\n", "a b d\n", false},
		{"a dot is a dot", "a.b\n", "axb\n", false},
		{"nothing", "", "", true},
		{"an output that is not shown", "", "a\n", false},
	} {
		assert.Equal(t, tt.want, shows(tt.text, tt.output), tt.name)
	}
}

func TestStages(t *testing.T) {
	got, err := stages("x\n```sh\na\nb\n```\ny\n```text\nc\n```\n```go\nd\n```\n```sh\ne\n```\n")
	require.NoError(t, err)
	assert.Equal(t, []stage{{line: 2, script: "a\nb\n", output: "c\n", shown: true}, {line: 13, script: "e\n"}}, got)
	for page, says := range map[string]string{
		"```text\na\n```\n":                             "line 1: an output without a script",
		"```sh\na\n```\n```text\n```\n\n```text\n```\n": "line 7: an output without a script",
		"```sh\na\n":                                    "line 1: the block does not end",
		"\n```\na\n```\n":                               "line 2: a block without a mark",
	} {
		_, err := stages(page)
		assert.ErrorContains(t, err, says, page)
	}
}
