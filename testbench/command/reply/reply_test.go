package reply

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// result is an object with one member.
type result struct {
	Name string `json:"name"`
}

func TestReply(t *testing.T) {
	broken := &Failure{4, "link", "link down"}
	for _, tt := range []struct {
		name   string
		json   bool
		do     func(r *Reply)
		failed *Failure
		want   string
	}{
		{"text", false, func(r *Reply) { r.Document(result{"x"}) }, broken, ""},
		{"a document", true, func(r *Reply) { r.Document(result{"<x>"}) }, nil, "{\n  \"name\": \"<x>\"\n}\n"},
		{"the last result counts", true, func(r *Reply) { r.Document(result{"x"}); r.Document(result{"y"}) }, nil, "{\n  \"name\": \"y\"\n}\n"},
		{"no result", true, func(*Reply) {}, nil, "{}\n"},
		{"an error alone", true, func(*Reply) {}, broken,
			"{\n  \"error\": {\n    \"code\": 4,\n    \"kind\": \"link\",\n    \"message\": \"link down\"\n  }\n}\n"},
		{"lines", false, func(r *Reply) {
			add := r.Lines("rounds")
			_ = add(result{"x"})
			_ = add(result{"y"})
		}, nil, "{\"name\":\"x\"}\n{\"name\":\"y\"}\n{\"done\":true,\"rounds\":2,\"exit_code\":0}\n"},
		{"an aside does not count", false, func(r *Reply) {
			add := r.Lines("rounds")
			_ = add(result{"x"})
			_ = r.Aside(result{"y"})
		}, nil, "{\"name\":\"x\"}\n{\"name\":\"y\"}\n{\"done\":true,\"rounds\":1,\"exit_code\":0}\n"},
		{"lines with an error", true, func(r *Reply) { r.Lines("rounds") }, broken,
			"{\"done\":true,\"rounds\":0,\"exit_code\":4,\"error\":{\"code\":4,\"kind\":\"link\",\"message\":\"link down\"}}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			r := &Reply{Out: &out, JSON: tt.json}
			tt.do(r)
			assert.Equal(t, tt.want == "", r.Text())
			require.NoError(t, r.End(tt.failed))
			require.NoError(t, r.End(broken), "only once")
			assert.Equal(t, tt.want, out.String())
		})
	}
}

// A round that ends after End, for instance because of a signal, is not
// printed.
func TestLineAfterTheEnd(t *testing.T) {
	var out bytes.Buffer
	r := &Reply{Out: &out}
	add := r.Lines("rounds")
	require.NoError(t, r.End(nil))
	require.NoError(t, add(result{"x"}))
	assert.Equal(t, "{\"done\":true,\"rounds\":0,\"exit_code\":0}\n", out.String())
}

func TestOnlyObjects(t *testing.T) {
	r := &Reply{Out: new(bytes.Buffer), JSON: true}
	r.Document([]int{1})
	assert.Panics(t, func() { _ = r.End(nil) })
}
