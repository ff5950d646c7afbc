package boards

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/bus/ether"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// A Candidate is a completion of a text up to the next choice.
type Candidate struct {
	Text string
	Doc  string // a few words, or ""
}

// Complete returns the completions of the beginning of a selector: schemes,
// serial ports and Ethernet interfaces of this machine, files, options, and option values if they are
// few.
func Complete(text string) []Candidate {
	head, query, options := strings.Cut(text, "?")
	if options {
		name, _, _ := strings.Cut(head, ":")
		i := slices.IndexFunc(schemes(), func(s scheme) bool { return s.name == name })
		if i < 0 {
			return nil
		}
		return completeQuery(head+"?", query, schemes()[i].options)
	}
	name, place, colon := strings.Cut(head, ":")
	if !colon {
		return completeScheme(name)
	}
	switch name {
	case "serial":
		return completePort(text)
	case "eth":
		return completeInterface(text)
	case "snap", "capture":
		return completeFile(name+":", place)
	}
	return nil
}

// CompleteConfig is Complete for the argument of Config.
func CompleteConfig(text string) []Candidate {
	head, query, options := strings.Cut(text, "?")
	if options {
		return completeQuery(head+"?", query, configOptions()[1:])
	}
	var all []Candidate
	for _, name := range ConfigNames() {
		all = appendMatch(all, Candidate{name, ""}, text)
	}
	return all
}

// CompleteServed is Complete for the argument of Device.
func CompleteServed(text string) []Candidate {
	return slices.DeleteFunc(Complete(text), func(c Candidate) bool {
		option := strings.TrimSuffix(c.Text[strings.LastIndexAny(c.Text, "?&")+1:], "=")
		return !strings.HasPrefix(c.Text, "emu") || strings.HasSuffix(c.Text, "=") && slices.Contains(wireOptions, option)
	})
}

func appendMatch(all []Candidate, c Candidate, text string) []Candidate {
	if strings.HasPrefix(c.Text, text) {
		all = append(all, c)
	}
	return all
}

// completeInterface returns the Ethernet interfaces of this machine.
func completeInterface(text string) []Candidate {
	var all []Candidate
	for _, name := range ether.Interfaces() {
		all = appendMatch(all, Candidate{"eth:" + name + "/", ""}, text)
	}
	return all
}

func completeScheme(text string) []Candidate {
	var all []Candidate
	for _, s := range schemes() {
		c := Candidate{s.name, s.doc}
		if s.place != "" {
			c.Text += ":"
		}
		all = appendMatch(all, c, text)
		if c.Text == text {
			all = append(all, Candidate{text + "?", "with options"})
		}
	}
	return all
}

func completePort(text string) []Candidate {
	ports, err := serial.List()
	if err != nil {
		return nil // nothing to offer
	}
	var all []Candidate
	for _, p := range ports {
		all = appendMatch(all, Candidate{"serial:" + p.String(), strings.TrimSpace(p.Manufacturer + " " + p.Name)}, text)
	}
	return all
}

// completeFile offers files and folders, folders with a slash.
func completeFile(before, path string) []Candidate {
	folder, name := filepath.Split(path)
	found, err := filepath.Glob(escape(folder) + escape(name) + "*")
	if err != nil {
		return nil
	}
	var all []Candidate
	for _, f := range found {
		c := Candidate{before + f, ""}
		if inside, _ := filepath.Glob(escape(f) + "/"); inside != nil {
			c.Text += "/"
		}
		all = append(all, c)
	}
	return all
}

// escape escapes the metacharacters of a pattern in a path.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// completeQuery completes the last option of a query.
func completeQuery(before, query string, options []option) []Candidate {
	given, last := "", query
	if i := strings.LastIndex(query, "&"); i >= 0 {
		given, last = query[:i+1], query[i+1:]
	}
	name, value, valued := strings.Cut(last, "=")
	var all []Candidate
	for _, o := range options {
		if valued && o.name == name {
			return completeValue(before+given+name+"=", value, o)
		}
		if !valued && !strings.Contains("&"+given, "&"+o.name+"=") {
			all = appendMatch(all, Candidate{before + given + o.name + "=", o.doc}, before+query)
		}
	}
	return all
}

// completeValue completes a value, or the last of several values separated by
// commas. It leaves parts in angle brackets to the user.
func completeValue(before, value string, o option) []Candidate {
	var all []Candidate
	complete := slices.Contains(o.values, value)
	if i := strings.LastIndex(value, ","); i >= 0 && (o.name == "fault" || o.name == "faults") {
		before, value = before+value[:i+1], value[i+1:]
		complete = slices.Contains(o.values, value)
	}
	for _, v := range o.values {
		v, _, _ = strings.Cut(v, "<")
		if o.name == "faults" {
			v += "="
		}
		all = appendMatch(all, Candidate{before + v, ""}, before+value)
	}
	if complete {
		all = append(all, Candidate{before + value + "&", "another option"})
	}
	return all
}
