package boards

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/nettlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// TestNetTLP: the user hears what cannot be known before the board is opened. Each end of
// the link counts its datagrams, and BAR 2 has the size of the option.
func TestNetTLP(t *testing.T) {
	dev, err := Device("emu?config=small")
	require.NoError(t, err)
	board, err := serve.New(dev, serve.Options{})
	require.NoError(t, err)
	l, err := serve.Listen("nettlp:127.0.21.1?local=127.0.21.2")
	require.NoError(t, err)
	ended := make(chan error)
	go func() { ended <- l.Serve(t.Context(), board) }()
	var notices []string
	o := Options{Notice: func(text string) { notices = append(notices, text) }}
	link, _, err := OpenWith(l.Selector()+"?local=127.0.21.1&bar2=8KiB", bustest.NewHost(4096), o)
	require.NoError(t, err)
	assert.Equal(t, []string{nettlp.Notice}, notices)
	assert.Contains(t, nettlp.Notice, "lost or repeated")
	require.NoError(t, link.WriteConfig(pcicfg.BAR2, 0xffffffff))
	size, err := link.ReadConfig(pcicfg.BAR2)
	require.NoError(t, err)
	assert.Equal(t, uint32(0xffffe00c), size, "8 KiB, 64 bits, prefetchable")
	require.NoError(t, bustest.Enumerate(link))
	require.NoError(t, link.Read(0, 0, make([]byte, 4)))
	counts := map[string]uint64{}
	for _, c := range link.(Counters).Counters() {
		counts[c.Name] = c.Value
	}
	assert.Equal(t, uint64(3), counts["datagrams_to_device"], "two vectors and a read")
	assert.Equal(t, uint64(1), counts["datagrams_from_device"])
	assert.Zero(t, counts["datagrams_refused"])

	_, _, err = OpenWith(l.Selector()+"?local=127.0.21.1", bustest.NewHost(4096), o)
	require.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorContains(t, err, "another program of this machine uses NetTLP: end it, or give local=")
	require.NoError(t, link.(Reopener).Reopen())
	require.NoError(t, bustest.Enumerate(link))
	require.NoError(t, link.Read(0, 0, make([]byte, 4)))
	require.NoError(t, link.Close())
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-ended, bus.ErrLinkDown)

	for selector, want := range map[string]string{
		"nettlp:127.0.21.2?bar2=3MiB":        "want a power of two from 4KiB to 128MiB, or 0",
		"nettlp:127.0.21.2?bar2=2KiB":        "want a power of two from 4KiB to 128MiB, or 0",
		"nettlp:127.0.21.2?bar2=256MiB":      "want 0 to 134217728 bytes",
		"nettlp:127.0.21.2?local=x":          "want an IPv4 address",
		"nettlp:::1":                         "want an IPv4 address or the name of a host",
		"nettlp:127.0.21.2:4000":             "want an IPv4 address or the name of a host",
		"nettlp:127.0.21.2?quarantine=-1":    "want a number from 1 to 3600000",
		"nettlp:":                            "want nettlp:HOST",
		"nettlp:127.0.21.2?token-file=x":     "unknown",
		"nettlp:127.0.21.2?local=192.0.2.77": "this machine does not have the address",
	} {
		_, _, err := Open(selector, bustest.NewHost(4096))
		assert.ErrorContains(t, err, want, selector)
	}
}
