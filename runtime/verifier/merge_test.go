package verifier

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A mergeCall is a call in the traces below: its order and the objects in its
// arguments.
type mergeCall struct {
	context int
	name    string
	objects []string
}

// lines returns the entry and return lines of each call.
func lines(calls ...mergeCall) []string {
	seq := map[int]int{}
	var out []string
	for _, c := range calls {
		seq[c.context]++
		args := ""
		for i, o := range c.objects {
			args += fmt.Sprintf(`,"%s":%q`, []string{"h", "arg", "res"}[i], o)
		}
		for _, at := range []string{"enter", "leave"} {
			out = append(out, fmt.Sprintf(`{"at":%q,"context":%d,"seq":%d,"name":%q,"args":{%s}}`+"\n", at, c.context, seq[c.context], c.name, strings.TrimPrefix(args, ",")))
			args = ""
		}
	}
	return out
}

func mergedText(t require.TestingT, lines []string) string {
	var out bytes.Buffer
	require.NoError(t, Merge(strings.NewReader(traceHeader+strings.Join(lines, "")), &out))
	text, ok := strings.CutPrefix(out.String(), traceHeader)
	require.True(t, ok)
	return text
}

// Three contexts and their dependencies, in the order that Merge must produce.
// The list of context 1 is executed inside that of context 2, which is
// executed; context 3 is recorded but never used.
var mergeOrder = []mergeCall{
	{0, "pfnCreateDeferredContext", []string{"device 1", "context 1"}},
	{0, "pfnCreateDeferredContext", []string{"device 1", "context 2"}},
	{0, "pfnCreateDeferredContext", []string{"device 1", "context 3"}},
	{0, "pfnFlush", []string{"device 1"}},
	{2, "pfnIaSetTopology", []string{"context 2"}},
	{1, "pfnResourceCopy", []string{"context 1", "resource 1.1"}},
	{1, "pfnCreateCommandList", []string{"device 1", "context 1", "list 1.1"}},
	{2, "pfnCreateCommandList", []string{"context 2", "list 2.1", "list 1.1"}}, // a local handle
	{2, "pfnCommandListExecute", []string{"context 2", "list 2.1"}},
	{2, "pfnCreateCommandList", []string{"device 1", "context 2", "list 2.2"}},
	{0, "pfnCommandListExecute", []string{"device 1", "list 2.2"}},
	{0, "DxgkDdiRender", []string{"km_context 1"}},
	{1, "pfnSetViewports", []string{"context 1"}},
	{0, "pfnDestroyDevice", []string{"context 1"}},
	{0, "pfnDestroyDevice", []string{"device 1"}},
	{2, "pfnFlush", []string{"context 2"}},
	{3, "pfnIaSetTopology", []string{"context 3"}},
	{3, "pfnCreateCommandList", []string{"device 1", "context 3", "list 3.1"}},
}

func TestMergeKeepsItsOwnOrder(t *testing.T) {
	all := lines(mergeOrder...)
	assert.Equal(t, strings.Join(all, ""), mergedText(t, all))
}

// The order is the same however the contexts interleave.
func TestMergeOfAnyArrival(t *testing.T) {
	want := strings.Join(lines(mergeOrder...), "")
	rapid.Check(t, func(t *rapid.T) {
		queues := map[int][]mergeCall{}
		for _, c := range mergeOrder {
			queues[c.context] = append(queues[c.context], c)
		}
		// A context may be arbitrarily late, as long as no other context uses
		// an object that it has not yet created.
		made := map[string]bool{}
		for _, c := range mergeOrder {
			for _, o := range c.objects {
				made[o] = false
			}
		}
		var got []mergeCall
		for len(got) < len(mergeOrder) {
			var ready []int
			for c, q := range queues {
				if len(q) > 0 && possible(q[0], made) {
					ready = append(ready, c)
				}
			}
			slices.Sort(ready)
			c := rapid.SampledFrom(ready).Draw(t, "context")
			for _, o := range queues[c][0].objects {
				made[o] = true
			}
			got = append(got, queues[c][0])
			queues[c] = queues[c][1:]
		}
		assert.Equal(t, want, mergedText(t, lines(got...)))
	})
}

// possible reports whether the context of a call and the objects of other
// contexts that it names exist.
func possible(c mergeCall, made map[string]bool) bool {
	if c.context != 0 && !made[fmt.Sprintf("context %d", c.context)] {
		return false
	}
	for _, o := range c.objects {
		if of := contextOfObject(o); of != 0 && of != c.context && !made[o] {
			return false
		}
	}
	return true
}

// A call that did not return needs all earlier calls of its context.
func TestMergeOfAHang(t *testing.T) {
	hung := lines(
		mergeCall{0, "pfnFlush", []string{"device 1"}},
		mergeCall{1, "pfnCreateCommandList", []string{"device 1", "context 1", "list 1.1"}},
	)
	hung = hung[:3]
	assert.Equal(t, strings.Join(hung, ""), mergedText(t, hung))
	assert.Equal(t, strings.Join(hung, ""), mergedText(t, append(hung, `{"at":"enter","contex`)), "a truncated line is omitted")
}

func TestTracesThatFollowEachOther(t *testing.T) {
	one := traceHeader + strings.Join(lines(mergeOrder...), "")
	var out bytes.Buffer
	require.NoError(t, Merge(strings.NewReader(one+one), &out))
	assert.Equal(t, one+one, out.String())
	all, err := ReadTrace(strings.NewReader(one + one))
	require.NoError(t, err)
	assert.Len(t, all, 4*len(mergeOrder))
}

func TestBadTraces(t *testing.T) {
	for _, tt := range []struct{ name, text, says string }{
		{"empty", "", "it has no first line"},
		{"another file", "hello\n", `it begins with "hello"`},
		{"without a header", `{"at":"enter"}` + "\n", "it begins with"},
		{"a newer version", `{"trace":"hilgpu-ddi","version":7}` + "\n", "version 7, want 1"},
		{"not JSON", traceHeader + "{\n", "line 2: "},
		{"another kind of line", traceHeader + `{"at":"tea","name":"x"}` + "\n", `line 2: "x" at "tea", want enter or leave`},
		{"a negative context", traceHeader + `{"at":"enter","context":-1}` + "\n", "line 2: context -1"},
		{"a context without calls", traceHeader + `{"at":"enter","context":1000000000}` + "\n", "line 2: context 1000000000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			err := Merge(strings.NewReader(tt.text), &out)
			require.ErrorIs(t, err, ErrTrace)
			assert.ErrorContains(t, err, tt.says)
			assert.Empty(t, out.String())
		})
	}
	err := Merge(strings.NewReader(traceHeader+strings.Join(lines(mergeOrder...), "")), failingWriter{})
	assert.ErrorIs(t, err, errDisk)
	_, err = ReadTrace(os.NewFile(^uintptr(0), "closed"))
	assert.Error(t, err)
}

// A lineReader gives a line in each Read, and calls before before it.
type lineReader struct {
	lines  []string
	before func(read int)
	read   int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if r.read == len(r.lines) {
		return 0, io.EOF
	}
	r.before(r.read)
	r.read++
	return copy(p, r.lines[r.read-1]), nil
}

// MergeFrom writes a line of the immediate context when it has read the line, also the execution of a list
// whose lines it has read.
func TestMergeFromHoldsLittle(t *testing.T) {
	all := []string{traceHeader}
	for list := range 50 {
		name := fmt.Sprintf("list 1.%d", list)
		all = append(all, lines(mergeCall{1, "pfnResourceCopy", []string{"context 1"}}, mergeCall{1, "pfnCreateCommandList", []string{"device 1", "context 1", name}},
			mergeCall{0, "pfnCommandListExecute", []string{"device 1", name}}, mergeCall{0, "pfnFlush", []string{"device 1"}})...)
	}
	var out bytes.Buffer
	passes := 0
	require.NoError(t, MergeFrom(func() (io.Reader, error) {
		passes++
		return &lineReader{lines: all, before: func(read int) {
			if passes == 2 && read > 0 && (read-1)%8 == 0 { // bufio has no line of the next list yet
				assert.Equal(t, read, strings.Count(out.String(), "\n"), "lines written of those read")
			}
		}}, nil
	}, &out))
	assert.Equal(t, len(all), strings.Count(out.String(), "\n"))
}
