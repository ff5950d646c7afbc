package bustest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/bus/bustest"
)

// printed records the output of a benchmark.
type printed struct {
	testing.TB
	logs, errors []string
}

func (p *printed) Helper() {}

func (p *printed) Logf(format string, args ...any) {
	p.logs = append(p.logs, fmt.Sprintf(format, args...))
}

func (p *printed) Errorf(format string, args ...any) {
	p.errors = append(p.errors, fmt.Sprintf(format, args...))
}

// A missed target is printed, and fails the benchmark if figures are strict.
func TestFigure(t *testing.T) {
	for _, tt := range []struct {
		variable   string
		got        float64
		logs, errs []string
	}{
		{"", 1.25, []string{line("1.250", "holds")}, nil},
		{"", 1.75, []string{line("1.750", "MISSED")}, nil},
		{"strict", 1.25, []string{line("1.250", "holds")}, nil},
		{"strict", 1.75, nil, []string{line("1.750", "MISSED")}},
		{"other", 1.75, []string{line("1.750", "MISSED")}, nil},
	} {
		t.Run(fmt.Sprint(tt.variable, tt.got), func(t *testing.T) {
			t.Setenv(bustest.FiguresVariable, tt.variable)
			p := &printed{TB: t}
			bustest.Figure(p, "read", tt.got, "x echo", tt.got <= 1.5, "at most 1.5")
			assert.Equal(t, tt.logs, p.logs)
			assert.Equal(t, tt.errs, p.errors)
		})
	}
}

func line(got, verdict string) string {
	return fmt.Sprintf("%-34s %10s %-12s want %-28s %s", "read", got, "x echo", "at most 1.5", verdict)
}
