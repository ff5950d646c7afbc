package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

func TestRulesDoc(t *testing.T) {
	got := lines(t, rulesDoc)
	for _, want := range []string{
		"| [`list-state`](#list-state) | runtime | A command-list handle follows only the transitions of the state diagram. |",
		"| [`error-create-layer`](#error-create-layer) | driver, warning | Create functions of a deferred context report errors to the device's core layer. |",
		"| source | Supporting Command Lists, state diagram of command-list handles |",
		"| example | `pfnFlush: reports S_OK` |",
		"| violation | is counted and printed at the end |",
		"| bugcheck | 0x119, parameter 1 is 0x2 |",
	} {
		assert.Contains(t, got, want)
	}
	text := strings.Join(got, "\n")
	for _, r := range rule.All() {
		assert.Equal(t, 1, strings.Count(text, "\n## "+r.Name+"\n"), r.Name)
	}
}
