package bringup_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
	"github.com/hilgpu/hilgpu/testbench/output"
)

func TestParseLimit(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bringup.Limit
		ok   bool
	}{
		{"7", bringup.Limit{Rounds: 7}, true},
		{"90m", bringup.Limit{Time: 90 * time.Minute}, true},
		{"0", bringup.Limit{}, false},
		{"0s", bringup.Limit{}, false},
		{"-5s", bringup.Limit{}, false},
		{"soon", bringup.Limit{}, false},
		{"", bringup.Limit{}, false},
	} {
		got, ok := bringup.ParseLimit(tt.text)
		if assert.Equal(t, tt.ok, ok, tt.text); ok {
			assert.Equal(t, tt.want, got)
		}
	}
	done, total := bringup.Limit{Rounds: 7}.Done(2, time.Minute)
	assert.Equal(t, []int{2, 7}, []int{done, total})
	done, total = bringup.Limit{Time: time.Hour}.Done(2, time.Minute)
	assert.Equal(t, []int{60, 3600}, []int{done, total})
}

// soak returns the results of a soak, and its rounds.
func soak(t *testing.T, o bringup.Options, limit bringup.Limit, end error) (keep *bringup.Report, bad int, all []bringup.Round, err error) {
	t.Helper()
	begun := 0
	keep, bad, err = bringup.Soak(t.Context(), o, limit, func(done, total int) { begun++ }, func(r bringup.Round) error {
		all = append(all, r)
		assert.Len(t, all, begun)
		return end
	})
	return keep, bad, all, err
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]uint64{"1": 1, "65536": 64 << 10, "4611686018427387903": 1<<62 - 1, "all": 1 << 62} {
		got, ok := bringup.ParseBytes(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "-1", "64KiB", "ALL", "4611686018427387904"} {
		_, ok := bringup.ParseBytes(text)
		assert.False(t, ok, text)
	}
}

func TestSoak(t *testing.T) {
	o := bringup.Options{Board: "emu?config=small", Only: []string{"ident"}, Seed: 5}
	keep, bad, all, err := soak(t, o, bringup.Limit{Rounds: 3}, nil)
	require.NoError(t, err)
	assert.Zero(t, bad)
	require.Len(t, all, 3)
	assert.EqualValues(t, 3, all[2].Round)
	assert.EqualValues(t, 7, all[2].Seed)
	assert.EqualValues(t, 7, keep.Seed, "the last round")

	_, _, all, err = soak(t, o, bringup.Limit{Time: 1}, nil)
	require.NoError(t, err)
	assert.Len(t, all, 1, "at least one round")

	full := errors.New("full")
	keep, _, all, err = soak(t, o, bringup.Limit{Rounds: 3}, full)
	assert.Equal(t, full, err)
	assert.Nil(t, keep)
	assert.Len(t, all, 1)

	o = bringup.Options{Board: "emu?config=small&fault=dead-lane:2", Only: []string{"mem.data"}, Seed: 5}
	keep, bad, all, err = soak(t, o, bringup.Limit{Rounds: 2}, nil)
	require.NoError(t, err)
	assert.Equal(t, 2, bad)
	assert.EqualValues(t, 5, keep.Seed, "the first failed round")
	assert.Equal(t, []string{"mem.data"}, all[0].Stages)
}

// A soak ends when the link fails, and has no report if it cannot begin.
func TestSoakOfALinkThatFails(t *testing.T) {
	left := 2
	o := bringup.Options{Only: []string{"ident"}, Open: func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
		if left--; left < 0 {
			return nil, nil, bus.ErrTimeout
		}
		return boards.Open(selector, host)
	}}
	keep, bad, all, err := soak(t, o, bringup.Limit{Rounds: 9}, nil)
	require.NoError(t, err)
	assert.Equal(t, 1, bad)
	require.Len(t, all, 3)
	assert.True(t, keep.LinkFailed())
	assert.Contains(t, all[2].Error, "time-out")

	keep, _, all, err = soak(t, bringup.Options{Only: []string{"nothing"}}, bringup.Limit{Rounds: 9}, nil)
	require.ErrorIs(t, err, bringup.ErrOptions)
	assert.Nil(t, keep)
	assert.Empty(t, all)
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "out")
	r, err := bringup.Run(t.Context(), bringup.Options{Board: "emu?config=small", Only: []string{"ident"}})
	require.NoError(t, err)
	for _, write := range []bool{false, true} {
		f, err := bringup.NewFolder(dir, output.Create)
		require.NoError(t, err)
		if write {
			require.NoError(t, f.Write(r))
		}
		f.Discard()
		for name, begins := range map[string]string{bringup.Page: "<!DOCTYPE html>", "report.json": "{", "junit.xml": "<?xml"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			assert.Equal(t, write, err == nil, name)
			assert.True(t, !write || string(text[:len(begins)]) == begins, name)
		}
	}

	f, err := bringup.NewFolder("", nil)
	require.NoError(t, err)
	assert.NoError(t, f.Write(r))
	f.Discard()

	_, err = bringup.NewFolder("/dev/null/x", output.Create)
	require.ErrorIs(t, err, output.ErrWrite)
	assert.ErrorContains(t, err, "cannot write /dev/null/x: not a directory")
	var s output.Set
	taken, err := s.Create(filepath.Join(dir, "junit.xml"))
	require.NoError(t, err)
	_, err = bringup.NewFolder(dir, s.Create)
	require.ErrorIs(t, err, output.ErrWrite)
	taken.Discard()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 3, "only the files")
}
