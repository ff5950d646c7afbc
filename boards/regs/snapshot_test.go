package regs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/regs"
)

func take(t *testing.T, b *board) *regs.Snapshot {
	t.Helper()
	f, err := regs.Open(b, regs.Options{})
	require.NoError(t, err)
	s, err := f.Take("emu")
	require.NoError(t, err)
	return s
}

func TestSnapshotFile(t *testing.T) {
	s := take(t, full())
	data, err := s.Encode()
	require.NoError(t, err)
	assert.True(t, json.Valid(data))
	assert.Contains(t, string(data), "\n  {\"name\":\"cp0.wptr\",\"offset\":\"0x1018\",\"value\":\"0x8\"},\n")
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	got, err := regs.Load(path)
	require.NoError(t, err)
	assert.Equal(t, s, got)
	again, err := got.Encode()
	require.NoError(t, err)
	assert.Equal(t, string(data), string(again))
}

func TestBadSnapshots(t *testing.T) {
	const head = `{"format":"hilgpu-registers-1","board":"x","identity":{},`
	for _, tt := range []struct{ name, text, says string }{
		{"empty", "", "EOF"},
		{"cut", head + `"config":[`, "EOF"},
		{"not JSON", "id.magic 0x1", "invalid character"},
		{"another format", `{"format":"hilgpu-registers-2"}`, "hilgpu-registers-2"},
		{"unknown member", head + `"ram":[]}`, "ram"},
		{"text after it", head + `"config":[]} {}`, "after its end"},
		{"decimal", head + `"registers":[{"name":"a","offset":4,"value":"0x1"}]}`, "unmarshal number"},
		{"no prefix", head + `"registers":[{"name":"a","offset":"4","value":"0x1"}]}`, "0x1004"},
		{"too wide", head + `"registers":[{"name":"a","offset":"0x4","value":"0x100000000"}]}`, "32 bits"},
		{"odd offset", head + `"registers":[{"name":"a","offset":"0x2","value":"0x1"}]}`, `"a" at 0x2`},
		{"outside of BAR0", head + `"registers":[{"name":"a","offset":"0x10000","value":"0x1"}]}`, "0x10000"},
		{"offset twice", head + `"registers":[{"name":"a","offset":"0x4","value":"0x1"},{"name":"b","offset":"0x4","value":"0x1"}]}`, `"b" at 0x4`},
		{"name twice", head + `"registers":[{"name":"a","offset":"0x4","value":"0x1"},{"name":"a","offset":"0x8","value":"0x1"}]}`, `"a" at 0x8`},
		{"configuration twice", head + `"config":[{"offset":"0x4","value":"0x1"},{"offset":"0x4","value":"0x1"}]}`, "configuration 0x4"},
		{"configuration outside", head + `"config":[{"offset":"0x1000","value":"0x1"}]}`, "configuration 0x1000"},
		{"too large", strings.Repeat(" ", 1<<20) + head + `"config":[]}`, "larger than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := regs.Decode(strings.NewReader(tt.text))
			assert.ErrorIs(t, err, regs.ErrSnapshot)
			assert.ErrorContains(t, err, tt.says)
		})
	}
	_, err := regs.Load(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, regs.ErrSnapshot)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"format":"hilgpu-registers-1","board":"x","identity":{},"config":[{"offset":"0x4","value":"0x1"}],"registers":[{"name":"a","offset":"0x4","value":"0x1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := regs.Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		b, err := s.Encode()
		require.NoError(t, err)
		again, err := regs.Decode(bytes.NewReader(b))
		require.NoError(t, err)
		c, err := again.Encode()
		require.NoError(t, err)
		require.Equal(t, string(b), string(c))
	})
}

func TestDiff(t *testing.T) {
	a, b := full(), full()
	b.words[0x20] = 8      // scratch0, was 7
	b.words[0x104] = 0x102 // mask, was 0x303: done0 and fault1 change
	b.words[0x1020] = 1    // fault_info, volatile
	b.words[0x1000] = 0x83 // ctl, was 3: a bit outside the fields
	b.config[4] = 0x00100002
	sa, sb := take(t, a), take(t, b)

	d, err := regs.Diff(sa, sb, false)
	require.NoError(t, err)
	assert.Equal(t, "config.command  0x100006 → 0x100002\n"+
		"id.scratch0  0x7 → 0x8\n"+
		"intc.mask.done0  0x1 → 0x0\n"+
		"intc.mask.fault1  0x1 → 0x0\n"+
		"cp0.ctl.bits of no field  0x0 → 0x80\n"+
		// 65 dwords of configuration space and 64 registers, without the five
		// changed ones.
		"unchanged 135 · volatile hidden 1 (--all)\n", d.String())

	d, err = regs.Diff(sa, sb, true)
	require.NoError(t, err)
	assert.Contains(t, d.String(), "cp0.fault_info.cause  ALIGN → OPCODE\n")
	assert.Zero(t, d.Hidden)

	d, err = regs.Diff(sa, sa, true)
	require.NoError(t, err)
	assert.Equal(t, "unchanged 140\n", d.String())

	one := full()
	one.words[8] = 0x00201001
	d, err = regs.Diff(take(t, one), sa, false)
	require.NoError(t, err)
	assert.Contains(t, d.String(), "id.caps.nodes  0x1 → 0x2\n")
	assert.Contains(t, d.String(), "cp1.wptr  absent → 0x0\n")

	sb.Identity.MapHash = "00000000"
	_, err = regs.Diff(sa, sb, false)
	assert.ErrorIs(t, err, regs.ErrMapHash)
	sb = take(t, b)
	sb.Registers[0].Name = "id.wizard"
	_, err = regs.Diff(sa, sb, false)
	assert.ErrorIs(t, err, regs.ErrSnapshot)
	assert.ErrorContains(t, err, "id.wizard")
}
