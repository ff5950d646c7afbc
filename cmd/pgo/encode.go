package main

import (
	"bytes"
	"fmt"

	"github.com/google/pprof/profile"
)

// startLine is the line on which each function of an encoded profile begins: only lines
// within functions count.
const startLine = 1

// An encoder makes a profile. Identifiers count from 1, in the order of their first use.
type encoder struct {
	out       profile.Profile
	functions map[string]*profile.Function
	locations map[string]*profile.Location
}

// encode returns a profile with one sample for each call.
func encode(calls []weighted) ([]byte, error) {
	e := &encoder{functions: map[string]*profile.Function{}, locations: map[string]*profile.Location{}}
	e.out.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}}
	for _, c := range calls {
		stack := []*profile.Location{e.location(c.callee, 0), e.location(c.caller, c.line)} // the innermost first
		e.out.Sample = append(e.out.Sample, &profile.Sample{Location: stack, Value: []int64{c.weight}})
	}
	var b bytes.Buffer
	if err := e.out.Write(&b); err != nil {
		return nil, fmt.Errorf("pgo: %w", err)
	}
	return b.Bytes(), nil
}

// function returns the function with a name.
func (e *encoder) function(name string) *profile.Function {
	f, ok := e.functions[name]
	if !ok {
		f = &profile.Function{ID: uint64(len(e.functions)) + 1, Name: name, SystemName: name, StartLine: startLine}
		e.functions[name] = f
		e.out.Function = append(e.out.Function, f)
	}
	return f
}

// location returns a line of a function.
func (e *encoder) location(function string, line int) *profile.Location {
	key := fmt.Sprint(function, " ", line)
	l, ok := e.locations[key]
	if !ok {
		at := profile.Line{Function: e.function(function), Line: int64(startLine + line)}
		l = &profile.Location{ID: uint64(len(e.locations)) + 1, Line: []profile.Line{at}}
		e.locations[key] = l
		e.out.Location = append(e.out.Location, l)
	}
	return l
}
