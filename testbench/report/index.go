package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

// An Index lists the cases of a run.
type Index struct {
	Title string // the counts
	Rows  []Row
}

// A Row is a case. Page, the path of its page from the index, and Repeat, the command that
// repeats it, are empty for a case without a folder.
type Row struct {
	Name, Outcome, Doc, Message, Page, Repeat string
}

// outcomes is the order of the outcomes in a list: those to look at first.
var outcomes = []string{"failed", "flaky", "known", "passed", "skipped"}

//go:embed index.html
var indexText string

// sorted returns the rows, those to look at first.
func (x Index) sorted() []Row {
	rows := slices.Clone(x.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return slices.Index(outcomes, a.Outcome) - slices.Index(outcomes, b.Outcome) })
	return rows
}

// WriteHTML writes the list as a page with links to the pages of cases.
func (x Index) WriteHTML(w io.Writer) error {
	t := template.Must(template.New("index").Parse(indexText))
	return t.Execute(w, Index{x.Title, x.sorted()})
}

// markdown escapes the signs of Markdown in a text, and makes it one line.
var markdown = strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "<", "&lt;", "|", "\\|", "#", "\\#", "\n", " ")

// maxMessage bounds a message in a summary, in bytes.
const maxMessage = 1000

// WriteMarkdown writes the cases that did not simply pass, for the summary of a job of CI.
func (x Index) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", markdown.Replace(x.Title))
	last := ""
	for _, r := range x.sorted() {
		if r.Outcome == "passed" {
			continue
		}
		if r.Outcome != last {
			last = r.Outcome
			fmt.Fprintf(&b, "\n## %s\n\n", strings.ToUpper(last[:1])+last[1:])
		}
		message := strings.ToValidUTF8(r.Message[:min(len(r.Message), maxMessage)], "")
		fmt.Fprintf(&b, "- **%s**: %s\n", markdown.Replace(r.Name), markdown.Replace(message))
		if r.Page != "" {
			fmt.Fprintf(&b, "  [report](%s)\n\n  ```\n  %s\n  ```\n", r.Page, r.Repeat)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
