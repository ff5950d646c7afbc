package log

import (
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

// A Sample is a sample of what the nodes have done since the counters were cleared.
//
//	Number  from 0; samples that were lost have numbers too
//	Clocks  the time of the firmware
//	Cycles  clocks that the counters have counted
//	Busy    clocks in which each node was not idle
//	Bytes   bytes that each node has written
type Sample struct {
	Number uint32    `json:"number"`
	Clocks uint64    `json:"clocks"`
	Cycles uint64    `json:"cycles"`
	Busy   [2]uint64 `json:"busy"`
	Bytes  [2]uint64 `json:"bytes"`
}

// Samples takes the samples in the ring, and returns them with the number of samples that were lost
// since the start.
func Samples(m Memory) (all []Sample, lost uint32, err error) {
	entries, lost, err := drain(m, ring{fwabi.AreaTelemetryHead, fwabi.AreaTelemetryTail, fwabi.AreaTelemetryLost, fwabi.AreaTelemetry, fwabi.TelemetryBytes, fwabi.TelemetryEntries})
	for _, b := range entries {
		wide := func(i int) uint64 { return binary.LittleEndian.Uint64(b[4*i:]) }
		s := Sample{Number: binary.LittleEndian.Uint32(b), Clocks: wide(fwabi.SampleTime), Cycles: wide(fwabi.SampleCycles)}
		for n := range s.Busy {
			s.Busy[n], s.Bytes[n] = wide(fwabi.SampleBusy+n*fwabi.SampleNode), wide(fwabi.SampleBytes+n*fwabi.SampleNode)
		}
		all = append(all, s)
	}
	return all, lost, err
}

// SamplesText writes a line for each sample.
func SamplesText(w io.Writer, all []Sample) error {
	for _, s := range all {
		if _, err := fmt.Fprintf(w, "%12d node 0: busy %d, %d bytes; node 1: busy %d, %d bytes\n", s.Clocks, s.Busy[0], s.Bytes[0], s.Busy[1], s.Bytes[1]); err != nil {
			return err
		}
	}
	return nil
}

// SamplesJSON writes a JSON object for each sample.
func SamplesJSON(w io.Writer, all []Sample) error {
	e := json.NewEncoder(w)
	for _, s := range all {
		if err := e.Encode(s); err != nil {
			return err
		}
	}
	return nil
}

// SamplesCSV writes a table with the names of the columns in its first line.
func SamplesCSV(w io.Writer, all []Sample) error {
	rows := [][]string{{"number", "clocks", "cycles", "busy0", "bytes0", "busy1", "bytes1"}}
	for _, s := range all {
		var row []string
		for _, v := range []uint64{uint64(s.Number), s.Clocks, s.Cycles, s.Busy[0], s.Bytes[0], s.Busy[1], s.Bytes[1]} {
			row = append(row, strconv.FormatUint(v, 10))
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}
