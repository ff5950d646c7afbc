// Package junit writes test results in the XML format that CI systems read. JUnit's
// Ant task introduced it, and Jenkins and GitLab document it.
package junit

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// A Property is a name and a value of a suite or a case.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// A Case is one test. It has passed if both Failure and Skipped are empty.
type Case struct {
	Class       string // group of the test
	Name        string
	Time        time.Duration
	Failure     string   // text of the failure
	Message     string   // the failure in a line; "": the first line of Failure
	Skipped     string   // reason for skipping
	Output      string   // printed text
	Attachments []string // files, relative to where the XML is; a line each in Output, as Jenkins and GitLab read them
	Properties  []Property
}

// A Suite is a run of several cases.
type Suite struct {
	Name       string
	Properties []Property
	Cases      []Case
}

type testSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	totals
	Suites []testSuite `xml:"testsuite"`
}

// totals are the counts of a suite; the outer element has them too. A case that
// could not be run counts as a failure, not as an error.
type totals struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type testSuite struct {
	Name string `xml:"name,attr"`
	totals
	Properties *properties `xml:"properties"`
	Cases      []testCase  `xml:"testcase"`
}

type properties struct {
	List []Property `xml:"property"`
}

type testCase struct {
	Class      string      `xml:"classname,attr"`
	Name       string      `xml:"name,attr"`
	Time       string      `xml:"time,attr"`
	Properties *properties `xml:"properties"`
	Failure    *failure    `xml:"failure"`
	Skipped    *skipped    `xml:"skipped"`
	Output     string      `xml:"system-out,omitempty"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type skipped struct {
	Message string `xml:"message,attr"`
}

// Write writes the suite as one document.
func Write(w io.Writer, s Suite) error {
	out := testSuite{Name: s.Name, totals: totals{Tests: len(s.Cases)}, Properties: listOf(s.Properties)}
	var total time.Duration
	for _, c := range s.Cases {
		total += c.Time
		if c.Failure != "" {
			out.Failures++
		} else if c.Skipped != "" {
			out.Skipped++
		}
		out.Cases = append(out.Cases, caseOf(c))
	}
	out.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(testSuites{totals: out.totals, Suites: []testSuite{out}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func listOf(p []Property) *properties {
	if len(p) == 0 {
		return nil
	}
	return &properties{List: p}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func caseOf(c Case) testCase {
	out := testCase{Class: c.Class, Name: c.Name, Time: seconds(c.Time), Properties: listOf(c.Properties), Output: printable(c.Output)}
	for _, a := range c.Attachments {
		out.Output += fmt.Sprintf("\n[[ATTACHMENT|%s]]", a)
	}
	switch {
	case c.Failure != "":
		first, _, _ := strings.Cut(strings.TrimSpace(c.Failure), "\n")
		out.Failure = &failure{Message: printable(cmp.Or(c.Message, first)), Text: printable(c.Failure)}
	case c.Skipped != "":
		out.Skipped = &skipped{Message: printable(c.Skipped)}
	}
	return out
}

// printable replaces characters that XML 1.0 does not allow.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r != utf8.RuneError && r != 0xfffe && r != 0xffff {
			return r
		}
		return '?'
	}, s)
}
