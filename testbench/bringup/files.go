package bringup

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
)

// WriteJSON writes the report as one document.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// The form of JUnit files that continuous-integration servers read.
type (
	junitSuite struct {
		XMLName    xml.Name        `xml:"testsuite"`
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as a JUnit test suite; times are on the board's
// clock.
func (r *Report) WriteJUnit(w io.Writer) error {
	total := 0.0
	suite := junitSuite{
		Name: "bringup", Tests: len(r.Results), Failures: r.Failed, Skipped: r.Skipped,
		Properties: []junitProperty{
			{"board", r.Board}, {"seed", fmt.Sprint(r.Seed)}, {"map_hash", fmt.Sprintf("%08x", r.Device.MapHash)},
		},
	}
	for _, res := range r.Results {
		total += res.Seconds
		c := junitCase{Class: "bringup", Name: res.Stage, Time: fmt.Sprintf("%.6f", res.Seconds)}
		switch res.Status {
		case Fail:
			c.Failure = &junitMessage{res.Summary, res.Line() + res.Replay}
		case Skip:
			c.Skipped = &junitMessage{Message: res.Summary}
		default:
			c.Out = res.Line()
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = fmt.Sprintf("%.6f", total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// WriteHTML writes the report as a page that needs nothing else.
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
.ok { color: #176f2c } .FAIL { color: #b3261e; font-weight: bold } .skip { color: #777 }
</style>
</head>
<body>
<h1>Bring-up of <code>{{.Board}}</code></h1>
<p>{{.Failed}} failed, {{.Passed}} passed, {{.Skipped}} not run; seed {{.Seed}}</p>
{{with .Device}}<p>device {{printf "%04x:%04x" .Vendor .Product}}, map {{printf "%08x" .MapHash}}, {{.Nodes}} nodes, {{size .VRAM}} of VRAM, {{.ClockHz}} Hz</p>{{end}}
<table>
<tr><th>stage</th><th>what it does</th><th>outcome</th><th>found</th><th>time of the board</th></tr>
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
