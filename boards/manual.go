package boards

import (
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/boards/hwfault"
	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/fault"
)

// A Section is a section of the manual of selectors.
type Section struct {
	Title   string
	Entries []Entry
}

// An Entry is a scheme, an option or an injected fault.
type Entry struct {
	Name string // as written; placeholders are in capitals or angle brackets
	Doc  string
}

// Manual describes selectors: the schemes, then each option once, under the
// schemes that take it, then the injected faults.
func Manual() []Section {
	all := []Section{schemeSection()}
	all = append(all, optionSections()...)
	return append(all, faultSections()...)
}

func schemeSection() Section {
	s := Section{Title: "Schemes"}
	for _, k := range schemes() {
		name := k.name
		if k.place != "" {
			name += ":" + k.place
		}
		s.Entries = append(s.Entries, Entry{name, k.doc + onlyOn("", k.only)})
	}
	return s
}

// optionSections has an entry for each distinct description of an option, in
// the order in which the schemes first take it.
func optionSections() []Section {
	var entries []Entry
	takers := map[Entry][]string{}
	for _, k := range schemes() {
		for _, o := range k.options {
			e := Entry{o.name, o.manual()}
			if takers[e] == nil {
				entries = append(entries, e)
			}
			takers[e] = append(takers[e], k.name)
		}
	}
	var all []Section
	for _, e := range entries {
		title := "Options of " + sentence(takers[e])
		i := slices.IndexFunc(all, func(s Section) bool { return s.Title == title })
		if i < 0 {
			i, all = len(all), append(all, Section{Title: title})
		}
		all[i].Entries = append(all[i].Entries, e)
	}
	return all
}

// manual returns the description of the option.
func (o option) manual() string {
	doc := o.doc
	for _, v := range o.values {
		doc += onlyOn(v+" ", o.only[v])
	}
	return doc
}

// sentence joins names with commas and "and".
func sentence(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// takers returns the schemes that have the option with a value.
func takers(name, value string) string {
	var all []string
	for _, k := range schemes() {
		if slices.ContainsFunc(k.options, func(o option) bool { return o.name == name && slices.Contains(o.values, value) }) {
			all = append(all, k.name)
		}
	}
	return sentence(all)
}

func faultSections() []Section {
	ports := Section{Title: "Device faults to inject: fault= of " + takers("fault", portFaults()[0].name)}
	for _, f := range portFaults() {
		ports.Entries = append(ports.Entries, Entry{f.name, f.doc})
	}
	hardware := Section{Title: "Hardware faults to inject: fault= of " + takers("fault", hwfault.Forms()[0].Text)}
	for _, f := range hwfault.Forms() {
		hardware.Entries = append(hardware.Entries, Entry{f.Text, f.Doc})
	}
	line := Section{Title: "Line faults to inject: faults= of " + takers("faults", fault.Names()[0]) + ", and --link-faults of a served board"}
	for _, name := range fault.Names() {
		line.Entries = append(line.Entries, Entry{name, fault.Doc(name)})
	}
	atPins := Section{Title: "Pin faults to inject: faults= of " + takers("faults", pins.FaultDocs()[0][0])}
	for _, f := range pins.FaultDocs() {
		atPins.Entries = append(atPins.Entries, Entry{f[0], f[1] + "; a probability from 0 to 1"})
	}
	return []Section{ports, hardware, line, atPins}
}
