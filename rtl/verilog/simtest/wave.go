package simtest

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Wave is a value change dump that Verilator wrote.
type Wave struct {
	Times  []uint64
	Values map[string][]string // binary values at Times, without leading zeros, by path
}

// ReadWave reads a value change dump of Verilator.
func ReadWave(t *testing.T, file string) *Wave {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	w, ids, now, scope := &Wave{Values: map[string][]string{}}, map[string][]string{}, map[string]string{}, []string(nil)
	sample := func() {
		for id, names := range ids {
			for _, name := range names {
				w.Values[name] = append(w.Values[name], now[id])
			}
		}
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.Fields(lines.Text())
		switch {
		case len(line) == 0:
		case line[0] == "$scope":
			scope = append(scope, line[2])
		case line[0] == "$upscope":
			scope = scope[:len(scope)-1]
		case line[0] == "$var":
			ids[line[3]] = append(ids[line[3]], strings.Join(append(scope[:len(scope):len(scope)], line[4]), "."))
		case line[0][0] == '#':
			if len(w.Times) > 0 {
				sample()
			}
			at, err := strconv.ParseUint(line[0][1:], 10, 64)
			require.NoError(t, err)
			w.Times = append(w.Times, at)
		case line[0][0] == 'b':
			now[line[1]] = significant(line[0][1:])
		case line[0][0] != '$':
			now[line[0][1:]] = line[0][:1]
		}
	}
	require.NoError(t, lines.Err())
	sample()
	for name, values := range w.Values {
		require.Len(t, values, len(w.Times), name)
	}
	return w
}

// significant returns a binary number without leading zeros.
func significant(s string) string {
	if s = strings.TrimLeft(s, "0"); s == "" {
		return "0"
	}
	return s
}
