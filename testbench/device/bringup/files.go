package bringup

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/testbench/junit"
)

// WriteJSON writes the report as one document.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteJUnit writes the report as a JUnit test suite with a case per stage. Times
// are on the board's clock.
func (r *Report) WriteJUnit(w io.Writer) error {
	doc := junit.Suite{Name: "bringup", Properties: []junit.Property{
		{Name: "board", Value: r.Board}, {Name: "seed", Value: strconv.FormatUint(r.Seed, 10)},
		{Name: "map_hash", Value: fmt.Sprintf("%08x", r.Device.MapHash)},
	}}
	for _, res := range r.Results {
		c := junit.Case{Class: "bringup", Name: res.Stage, Time: time.Duration(res.Seconds * float64(time.Second)), Output: res.Line()}
		switch res.Status {
		case Fail:
			c.Failure = strings.Join(append([]string{res.Summary}, res.lines()...), "\n")
			c.Output += "repeat: " + res.Replay
		case Skip:
			c.Skipped = res.Summary
		}
		doc.Cases = append(doc.Cases, c)
	}
	return junit.Write(w, doc)
}

// WriteHTML writes the report as a self-contained page.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{"seconds": seconds, "size": size}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>bring-up of {{.Board}}</title>
<style>
body { font: 15px/1.4 sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3em .8em .3em 0; border-bottom: 1px solid #ddd }
pre, code { font: 13px/1.4 monospace; white-space: pre-wrap; margin: .2em 0 }
.ok { color: #176f2c } .FAIL { color: #b3261e; font-weight: bold } .skip { color: #777 } .warn { color: #8a5a00; font-weight: bold }
</style>
</head>
<body>
<h1>Bring-up of <code>{{.Board}}</code></h1>
<p>{{.Failed}} failed, {{.Passed}} passed{{if .Warned}}, {{.Warned}} of them with a warning{{end}}, {{.Skipped}} not run; seed {{.Seed}}</p>
{{with .Device}}<p>device {{printf "%04x:%04x" .Vendor .Product}}, map {{printf "%08x" .MapHash}}, {{.Nodes}} nodes, {{size .VRAM}} of VRAM, {{.ClockHz}} Hz</p>{{end}}
{{if .LinkErrors}}<p>The link recovered from errors:{{range .LinkErrors}} {{.Name}} {{.Count}}{{end}}{{.LinkNote}}</p>{{end}}
<table>
<tr><th>stage</th><th>purpose</th><th>outcome</th><th>findings</th><th>board time</th></tr>
{{range .Results}}<tr>
<td><code>{{.Stage}}</code></td><td>{{.Title}}</td><td class="{{.Status}}">{{.Status}}</td>
<td>{{.Summary}}{{range .Details}}<pre>{{.}}</pre>{{end}}
{{- if .Bits}}<pre>wrong words by data line, D0 first: {{.Bits}}</pre>{{end}}
{{- if .Error}}<pre>error: {{.Error}}</pre>{{end}}
{{- if .Likely}}<p>Likely: {{.Likely}}</p>{{end}}
{{- if .Replay}}<pre>{{.Replay}}</pre>{{end}}</td>
<td>{{if ne .Status "skip"}}{{seconds .Seconds}}{{end}}</td>
</tr>
{{end}}</table>
</body>
</html>
`
