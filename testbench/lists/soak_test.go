package lists

import (
	"flag"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench"
)

// soak is the number of lists of TestMemory:
//
//	go test ./testbench/lists -run TestMemory -lists.soak 10000000 -timeout 60m
var soak = flag.Int("lists.soak", 8000, "number of `lists` of TestMemory")

// heap returns the number of reachable bytes and objects.
func heap() (bytes, objects uint64) {
	var m runtime.MemStats
	for range 3 { // pooled objects survive one collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.HeapObjects
}

// Memory does not grow after the first lists, which use every buffer of the system,
// with a thousand lists at a time.
func TestMemory(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options)
	}{
		{"native", func(*Options) {}},
		{"emulated", func(o *Options) { o.Emulated = true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Board: "emu", Lists: *soak, Ops: 1, Contexts: 2, Alive: 500, System: testbench.Options{NoVerify: true}}
			tt.change(&o)
			require.NoError(t, o.with(func(r *run) error {
				_, err := r.cycles(14_000)
				require.NoError(t, err)
				bytes, objects := heap()
				_, err = r.cycles(o.Lists)
				require.NoError(t, err)
				after, left := heap()
				assert.LessOrEqual(t, after, bytes+64<<10, "bytes of the heap")
				assert.LessOrEqual(t, left, objects+200, "objects of the heap")
				return r.verify()
			}))
		})
	}
}
