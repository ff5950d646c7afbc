package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestListsPrintWhatTheyCost(t *testing.T) {
	for _, args := range [][]string{
		{"--contexts", "2"},
		{"--recycle=false", "--verify=false"},
		{"--native=false", "--ops", "3"},
		{"--board", "emu?nodes=1&vram=8KiB", "--alive", "5"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			code, stdout, stderr := hilgpu(append([]string{"run", "lists", "--lists", "300"}, args...)...)
			require.Zero(t, code, stderr)
			assert.Empty(t, stderr)
			for _, line := range []string{"lists    300 of", "speed ", "ns/list  record ", "kernel ", "heap ", "counted in a separate run", "  pfnResourceCopy "} {
				assert.Contains(t, stdout, line)
			}
		})
	}
}

func TestListsAsJSON(t *testing.T) {
	code, stdout, stderr := hilgpu("run", "lists", "--lists", "500", "--json")
	require.Zero(t, code, stderr)
	var r struct {
		Lists          int
		Recycle        bool
		ListsPerSecond float64            `json:"lists_per_second"`
		Parts          map[string]float64 `json:"ns_per_list"`
		Calls          []struct {
			Name    string
			PerList float64 `json:"per_list"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, 500, r.Lists)
	assert.True(t, r.Recycle)
	assert.Positive(t, r.ListsPerSecond)
	assert.Len(t, r.Parts, 5)
	assert.NotEmpty(t, r.Calls)
}

func TestListsBadInput(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"no lists", []string{"--lists", "0"}, "0 lists"},
		{"negative lists", []string{"--lists", "-5"}, "-5 lists"},
		{"too many lists", []string{"--lists", "1000000001"}, "1000000001 lists"},
		{"no copies", []string{"--ops", "0"}, "0 ops"},
		{"no contexts", []string{"--contexts", "0"}, "0 contexts"},
		{"more contexts than lists", []string{"--lists", "3", "--contexts", "4"}, "4 contexts"},
		{"none alive", []string{"--alive", "0"}, "0 alive"},
		{"unknown board", []string{"--board", "vapour"}, `"vapour"`},
		{"unknown rule", []string{"--waive", "manners"}, "manners"},
		{"text for a number", []string{"--lists", "many"}, "lists"},
		{"text for a truth value", []string{"--recycle=perhaps"}, "recycle"},
		{"an argument", []string{"all"}, "all"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := hilgpu(append([]string{"run", "lists"}, tt.args...)...)
			assert.Equal(t, exit.Usage, code, stderr)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.Contains(t, stderr, tt.says)
		})
	}
}

func TestListsOnADeadGPU(t *testing.T) {
	code, stdout, stderr := hilgpu("run", "lists", "--lists", "300", "--board", "emu?fault=dead")
	assert.Equal(t, exit.Device, code, stderr)
	assert.Empty(t, stdout)
}
