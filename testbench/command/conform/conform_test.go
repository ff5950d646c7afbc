package conform

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// sample returns a report with a result of each outcome.
func sample(t *testing.T) *Report {
	t.Helper()
	broken, err := rule.Named("error-success")
	require.NoError(t, err)
	results := []suite.Result{
		{Name: "present", Tier: suite.API, Doc: "Present copies", Source: "a page", Outcome: suite.Passed, Time: time.Second,
			Coverage: &suite.Coverage{Calls: map[string]uint64{"pfnFlush": 2, "DxgkDdiPatch": 1}, Packets: map[string]uint64{"COPY": 3}}},
		{Name: "order-flush", Tier: suite.DDI, Doc: "steps", Source: "another page", Seed: 4, Outcome: suite.Failed,
			Messages: []string{`got <script>alert("x")</script>`},
			Violation: &verifier.Violation{
				Rule: broken, Function: "pfnFlush", Text: "reports S_OK",
				Culprit: &verifier.Culprit{Function: "pfnSetErrorCb", Call: 7, Ago: 2, Argument: "argument hr", Why: "is S_OK"},
			},
			Coverage: &suite.Coverage{Calls: map[string]uint64{"pfnFlush": 5}, NotDecodable: 7}},
		{Name: "driver-lists", Tier: suite.Caps, Outcome: suite.Skipped, Messages: []string{"the driver does not claim CapsCommandListsBuild2"}},
	}
	info := &debug.BuildInfo{
		GoVersion: "go1.26", Main: debug.Module{Path: "example.com/mine", Version: "v0.3.0"},
		Deps:     []*debug.Module{{Path: "example.com/other"}, {Path: hilgpu, Version: "v1.2.3"}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}},
	}
	return New(suite.NewReport("emu?nodes=1", results), 4, info, time.Unix(0, 0))
}

func TestReport(t *testing.T) {
	r := sample(t)
	assert.Equal(t, Module{"example.com/mine", "v0.3.0", "abc"}, r.Drivers)
	assert.Equal(t, Module{hilgpu, "v1.2.3", ""}, r.Hilgpu)
	assert.Equal(t, "1970-01-01T00:00:00Z", r.Date)
	assert.Equal(t, []Count{{"DxgkDdiPatch", 1}, {"pfnFlush", 7}}, r.Calls)
	assert.Equal(t, []Count{{"COPY", 3}}, r.Packets)
	assert.EqualValues(t, 7, r.NotDecodable)
	assert.Contains(t, r.Uncalled, "DxgkDdiResetFromTimeout")
	assert.Contains(t, r.Uncalled, "pfnPresent")
	assert.Contains(t, r.Uncalled, "OpenAdapter10_2")
	assert.NotContains(t, r.Uncalled, "pfnFlush")
	assert.NotContains(t, r.Uncalled, "DxgkDdiPatch")
	var tiers []string
	for _, x := range r.Tiers {
		tiers = append(tiers, string(x.Name))
	}
	assert.Equal(t, []string{"ddi", "api", "caps"}, tiers, "the tiers with a case, in order")
	assert.Len(t, r.Tiers[0].Violations(), 1)
	var html bytes.Buffer
	require.NoError(t, r.WriteHTML(&html))
	assert.Contains(t, html.String(), "reports S_OK<br/>The call to blame: pfnSetErrorCb (call #7, 2 calls ago), argument hr, which is S_OK.<br/>")

	var b bytes.Buffer
	require.NoError(t, r.WriteJSON(&b))
	var back map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	for _, key := range []string{"drivers", "hilgpu", "go", "date", "board", "seed", "tiers", "calls", "uncalled", "packets", "not_decodable"} {
		assert.Contains(t, back, key)
	}
	assert.Regexp(t, `"culprit": \{\s*"function": "pfnSetErrorCb",\s*"call": 7,\s*"ago": 2,\s*"argument": "argument hr",\s*"why": "is S_OK"\s*\}`, b.String())
}

// A driver that a folder replaces, and a program without build information.
func TestModules(t *testing.T) {
	r := New(suite.NewReport("emu", nil), 0, nil, time.Unix(0, 0))
	assert.Equal(t, Module{"unknown", "unknown", ""}, r.Drivers)
	r = New(suite.NewReport("emu", nil), 0, &debug.BuildInfo{
		Main: debug.Module{Path: "example.com/mine"}, Deps: []*debug.Module{{Path: hilgpu, Version: "v0.0.0", Replace: &debug.Module{Path: "../hilgpu"}}},
	}, time.Unix(0, 0))
	assert.Equal(t, "(devel)", r.Drivers.Version)
	assert.Equal(t, Module{hilgpu, "(devel)", ""}, r.Hilgpu)
	r = New(suite.NewReport("emu", nil), 0, &debug.BuildInfo{Main: debug.Module{Path: hilgpu, Version: "v1.0.0"}}, time.Unix(0, 0))
	assert.Equal(t, r.Drivers, r.Hilgpu)
}

// The page is complete, well-formed, the same each time, and loads nothing.
func TestPage(t *testing.T) {
	var page, again bytes.Buffer
	require.NoError(t, sample(t).WriteHTML(&page))
	require.NoError(t, sample(t).WriteHTML(&again))
	assert.Equal(t, page.String(), again.String())
	text := page.String()
	for _, says := range []string{
		"Conformance of example.com/mine", "v0.3.0, revision abc", "v1.2.3", "go1.26", "emu?nodes=1", "1 passed, 1 failed, 1 skipped",
		"error-success", "reports S_OK", "another page", "the driver does not claim CapsCommandListsBuild2",
		"hilgpu test --board &#39;emu?nodes=1&#39; --filter", "pfnFlush: 7", "COPY: 3", "<li>DxgkDdiResetFromTimeout</li>", "7 submissions are not decodable",
		"got &lt;script&gt;", "facts of Direct3D 11",
	} {
		assert.Contains(t, text, says)
	}
	assert.NotRegexp(t, regexp.MustCompile(`(?i)<(script|link|img|iframe)|src=|url\(|@import|https?:`), text)

	body := regexp.MustCompile(`(?s)^<!DOCTYPE html>|<meta charset="utf-8">`).ReplaceAllString(text, "")
	d := xml.NewDecoder(strings.NewReader(body))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
}

// The names of the functions that a driver may lack are those of the trace: every
// call of a driver in a case is one of them.
func TestEntries(t *testing.T) {
	res := suite.Run(suite.Options{Selector: "emu", Drivers: testbench.HostDrivers(), Cover: true, Filter: regexp.MustCompile("^(present|driver-lists)$")})
	all := entries()
	require.Len(t, res, 2)
	for _, r := range res {
		require.NotNil(t, r.Coverage)
		assert.Greater(t, len(r.Coverage.Calls), 40)
		for name := range r.Coverage.Calls {
			callback := strings.HasSuffix(name, "Cb") || strings.HasPrefix(name, "DxgkCb") || strings.HasPrefix(name, "Mm") || strings.HasSuffix(name, "_ULONG")
			assert.NotEqual(t, callback, slices.Contains(all, name), name)
		}
	}
	assert.Empty(t, slices.DeleteFunc(all, func(n string) bool {
		return strings.HasPrefix(n, "DxgkDdi") || strings.HasPrefix(n, "pfn") || n == "OpenAdapter10_2"
	}))
}
