package suite

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/report"
)

// reportFile is the page in the folder of a failed case.
const reportFile = "report.html"

// Save writes the artifacts of each failed or flaky case to dir, as Result.Save does, and a list of
// all cases, as index.html and summary.md. It returns the paths of the files by the name of
// the case. If dir is "" it writes nothing. It fails with output.ErrWrite.
func (r *Report) Save(dir string) (map[string][]string, error) {
	files := map[string][]string{}
	if dir == "" {
		return files, nil
	}
	for _, res := range r.Results {
		if res.Outcome != Failed && !res.Flaky {
			continue
		}
		var err error
		if files[res.Name], err = res.Save(dir, r.Board); err != nil {
			return files, err
		}
	}
	return files, r.saveIndex(dir)
}

// saveIndex writes the list of all cases.
func (r *Report) saveIndex(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return output.Failed(dir, err)
	}
	index := r.index()
	for name, write := range map[string]func(io.Writer) error{"index.html": index.WriteHTML, "summary.md": index.WriteMarkdown} {
		var b bytes.Buffer
		path := filepath.Join(dir, name)
		err := write(&b)
		if err == nil {
			err = os.WriteFile(path, b.Bytes(), 0o666)
		}
		if err != nil {
			return output.Failed(path, err)
		}
	}
	return nil
}

// index returns the list of all cases, with those that need a look first.
func (r *Report) index() report.Index {
	out := report.Index{Title: r.Counts()}
	for _, res := range r.Results {
		row := report.Row{Name: res.Name, Outcome: res.Word(), Doc: res.Doc, Message: res.head()}
		if res.Outcome == Failed || res.Flaky {
			row.Page, row.Repeat = res.folder()+"/"+reportFile, res.Replay(r.Board)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// Counts returns the numbers of outcomes in a line.
func (r *Report) Counts() string {
	text := fmt.Sprintf("%d passed, %d failed, %d skipped", r.Passed, r.Failed, r.Skipped)
	if r.Known > 0 {
		text += fmt.Sprintf(", %d of the failures known", r.Known)
	}
	if r.Flaky > 0 {
		text += fmt.Sprintf(", %d of the passes flaky", r.Flaky)
	}
	return text + " on " + r.Board
}

// folder returns the name of the folder of a case.
func (r Result) folder() string { return strings.Map(fileRune, r.Name) }

// savePage writes the page of the folder of a case.
func (r Result) savePage(path string) error {
	os.Remove(path) // of an earlier run; it is no file that a page shows
	s, err := report.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	s.Title = r.Name + ": " + r.Word()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// Save writes the artifacts of a failed case to its own folder in dir, and returns
// the paths of the files. It removes files of an earlier run that are not among
// them. It fails with output.ErrWrite.
func (r Result) Save(dir, board string) ([]string, error) {
	folder := filepath.Join(dir, r.folder())
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, output.Failed(folder, err)
	}
	readme := fmt.Sprintf("%s: %s\nsource: %s\nboard %s, seed %d\nrepeat: %s\n\n", r.Name, r.Doc, r.Source, r.Selector, r.Seed, r.Replay(board))
	diff, err := report.DifferencePNG(r.Got, r.Expected)
	if err != nil {
		return nil, output.Failed(folder, err)
	}
	var out []string
	for _, file := range []struct {
		name, doc string
		data      []byte
	}{
		{report.MessagesFile, "the checks that failed", []byte(strings.Join(r.Messages, "\n"))},
		{"ddi.jsonl", "the DDI calls as JSON lines; only the last ones of a long trace", r.Trace},
		{report.DumpFile, "the kernel's dump of the GPU when it stopped", []byte(r.Dump)},
		{"bus.pcapng", "the packets of the link; only the last ones of a long capture", r.Bus},
		{"wave.vcd", "every register of an emulated GPU in its last clocks", r.Wave},
		{report.LogFile, "what happened, for hilgpu log, why and report, such as hilgpu why events.log fault; only the last events of a long run", r.Log},
		{"registers.json", "the registers after the failure, for --board snap:registers.json", r.Registers},
		{report.GotEnd, "the frame", r.Got},
		{report.ExpectedEnd, "the expected frame", r.Expected},
		{report.DiffEnd, "where they differ", diff},
	} {
		path := filepath.Join(folder, file.name)
		if len(file.data) == 0 {
			os.Remove(path) // a file of an earlier run
			continue
		}
		if err := os.WriteFile(path, file.data, 0o666); err != nil {
			return nil, output.Failed(path, err)
		}
		readme += fmt.Sprintf("%-15s %s\n", file.name, file.doc)
		out = append(out, path)
	}
	readme += fmt.Sprintf("%-15s %s\n", reportFile, "a page of all this")
	if r.Unread != nil {
		readme += fmt.Sprintf("no registers.json: %v\n", r.Unread)
	}
	path := filepath.Join(folder, report.ReadmeFile)
	if err := os.WriteFile(path, []byte(readme), 0o666); err != nil {
		return nil, output.Failed(path, err)
	}
	page := filepath.Join(folder, reportFile)
	if err := r.savePage(page); err != nil {
		return nil, output.Failed(page, err)
	}
	return append([]string{path, page}, out...), nil
}

// fileRune replaces characters that some file systems do not allow in names.
func fileRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '=':
		return r
	}
	return '_'
}
