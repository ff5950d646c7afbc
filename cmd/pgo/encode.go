package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
)

// Fields of the messages of a profile (github.com/google/pprof, proto/profile.proto).
const (
	profileSampleType = 1
	profileSample     = 2
	profileLocation   = 4
	profileFunction   = 5
	profileString     = 6

	typeType = 1 // of a ValueType
	typeUnit = 2

	sampleLocations = 1 // the innermost function first
	sampleValues    = 2

	locationID   = 1
	locationLine = 4
	lineFunction = 1
	lineLine     = 2

	functionID    = 1
	functionName  = 2
	functionStart = 5 // line
)

// startLine is the line on which each function of an encoded profile begins: only lines
// within functions count.
const startLine = 1

// A message is an encoded message.
type message []byte

func (m message) number(field int, v uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), v)
}

func (m message) bytes(field int, p []byte) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|2)
	return append(binary.AppendUvarint(m, uint64(len(p))), p...)
}

// packed appends a list of numbers.
func (m message) packed(field int, all ...uint64) message {
	var p []byte
	for _, v := range all {
		p = binary.AppendUvarint(p, v)
	}
	return m.bytes(field, p)
}

// An encoder makes a profile. Identifiers and strings count from 1, in the order of
// their first use.
type encoder struct {
	out       message
	strings   map[string]uint64
	functions map[string]uint64
	locations map[string]uint64
}

// encode returns a profile with one sample for each call.
func encode(calls []weighted) ([]byte, error) {
	e := &encoder{strings: map[string]uint64{}, functions: map[string]uint64{}, locations: map[string]uint64{}}
	e.out = e.out.bytes(profileString, nil)
	e.out = e.out.bytes(profileSampleType, message{}.number(typeType, e.text("samples")).number(typeUnit, e.text("count")))
	for _, c := range calls {
		callee, caller := e.location(c.callee, 0), e.location(c.caller, c.line)
		e.out = e.out.bytes(profileSample, message{}.packed(sampleLocations, callee, caller).packed(sampleValues, uint64(c.weight)))
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(e.out)
	}
	if err == nil {
		err = z.Close()
	}
	return b.Bytes(), err
}

// text returns the number of a string.
func (e *encoder) text(s string) uint64 {
	n, ok := e.strings[s]
	if !ok {
		n = uint64(len(e.strings)) + 1
		e.strings[s] = n
		e.out = e.out.bytes(profileString, []byte(s))
	}
	return n
}

// function returns the identifier of a function.
func (e *encoder) function(name string) uint64 {
	id, ok := e.functions[name]
	if !ok {
		id = uint64(len(e.functions)) + 1
		e.functions[name] = id
		e.out = e.out.bytes(profileFunction, message{}.number(functionID, id).number(functionName, e.text(name)).number(functionStart, startLine))
	}
	return id
}

// location returns the identifier of a line of a function.
func (e *encoder) location(function string, line int) uint64 {
	key := fmt.Sprint(function, " ", line)
	id, ok := e.locations[key]
	if !ok {
		id = uint64(len(e.locations)) + 1
		e.locations[key] = id
		at := message{}.number(lineFunction, e.function(function)).number(lineLine, uint64(startLine+line))
		e.out = e.out.bytes(profileLocation, message{}.number(locationID, id).bytes(locationLine, at))
	}
	return id
}
