package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// A wrong command line is one clear line and exit code 2.
func TestUsageErrors(t *testing.T) {
	for line, want := range map[string]string{
		"why":                               `want "hilgpu why FILE QUESTION", got 0 arguments`,
		"why a":                             `want "hilgpu why FILE QUESTION", got 1 argument`,
		"why a b c d":                       `want "hilgpu why FILE QUESTION", got 4 arguments`,
		"board serve":                       `want "hilgpu board serve SELECTOR...", got 0 arguments`,
		"run storm extra":                   `"hilgpu run storm" takes no arguments, got "extra"`,
		"log --kind":                        "--kind needs a value: kinds",
		"run compose -o":                    "--output needs a value: file",
		"log --from x y":                    `bad input: --from "x", want a number from 0 on`,
		"log --from -1 y":                   `bad input: --from "-1", want a number from 0 on`,
		"log --from 18446744073709551616 y": `bad input: --from "18446744073709551616", want a number from 0 to 18446744073709551615`,
		"run compose --contexts x":          `bad input: --contexts "x", want a number`,
		"run stress --hang x":               `bad input: --hang "x", want a number`,
		"run stress --pressure 1e999":       `bad input: --pressure "1e999", want a number`,
		"run compose --tdr-delay 5":         `bad input: --tdr-delay "5", want a duration as in 30s`,
		"run copy --json=maybe":             `bad input: --json "maybe", want true or false`,
		"run compose --nosuch=3":            `unknown flag --nosuch for "hilgpu run compose", see hilgpu run compose --help`,
		"run compose -z":                    `unknown flag -z for "hilgpu run compose", see hilgpu run compose --help`,
		"run compose ---z":                  `bad flag "---z" for "hilgpu run compose", see hilgpu run compose --help`,
		"log --ddi --jsonl x":               "--ddi and --jsonl exclude each other",
		"lockstep --session --storm":        "--session and --storm exclude each other",
		"verilog":                           "--output must be given",
	} {
		code, stdout, stderr := hilgpu(strings.Fields(line)...)
		assert.Equal(t, exit.Usage, code, line)
		assert.Empty(t, stdout, line)
		assert.Equal(t, "hilgpu: "+want+"\n", stderr)
	}
}

// Each command refuses a flag that it does not have in the same words.
func TestUnknownFlagOfEachCommand(t *testing.T) {
	tooltest.Long(t)
	n := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if !c.Runnable() || c.DisableFlagParsing {
			return
		}
		n++
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		code, _, stderr := hilgpu(append(strings.Fields(path), "--nosuch")...)
		assert.Equal(t, exit.Usage, code, path)
		assert.Equal(t, "hilgpu: unknown flag --nosuch for \""+c.CommandPath()+"\", see "+c.CommandPath()+" --help\n", stderr)
	}
	walk(newApp(io.Discard, io.Discard, nil).Tree())
	assert.Greater(t, n, 30)
}
