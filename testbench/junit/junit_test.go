package junit_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/junit"
)

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, junit.Write(&b, junit.Suite{
		Name:       "suite",
		Properties: []junit.Property{{Name: "board", Value: "emu?nodes=1&vram=8KiB"}},
		Cases: []junit.Case{
			{Class: "all", Name: "good", Time: 1500 * time.Millisecond},
			{Class: "all", Name: "bad", Time: time.Millisecond, Failure: "\nfirst <line>\nsecond\x1b", Output: "log", Attachments: []string{"bad/ddi.jsonl"}},
			{Class: "all", Name: "not run", Skipped: "no board"},
		},
	}))
	assert.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" skipped="1" time="1.501">
  <testsuite name="suite" tests="3" failures="1" errors="0" skipped="1" time="1.501">
    <properties>
      <property name="board" value="emu?nodes=1&amp;vram=8KiB"></property>
    </properties>
    <testcase classname="all" name="good" time="1.500"></testcase>
    <testcase classname="all" name="bad" time="0.001">
      <failure message="first &lt;line&gt;">&#xA;first &lt;line&gt;&#xA;second?</failure>
      <system-out>log&#xA;[[ATTACHMENT|bad/ddi.jsonl]]</system-out>
    </testcase>
    <testcase classname="all" name="not run" time="0.000">
      <skipped message="no board"></skipped>
    </testcase>
  </testsuite>
</testsuites>
`, b.String())
	require.NoError(t, xml.Unmarshal(b.Bytes(), new(any)))
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteReportsErrors(t *testing.T) {
	assert.ErrorIs(t, junit.Write(full{}, junit.Suite{}), errFull)
}
