package boards

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/boards/gateware"
)

// The transport knows what the selector has, and for gateware at its pins what it is made of.
func TestKnownAddresses(t *testing.T) {
	usual := gateware.Addresses{MAC: "02:68:69:6c:00:05", IP: "10.0.0.5", Port: "4000"}
	for selector, want := range map[string]gateware.Addresses{
		"pins:colorlight-i5":                                  usual,
		"pins:colorlight-i5?mac=02:00:00:00:00:09":            {MAC: "02:00:00:00:00:09", IP: usual.IP, Port: usual.Port},
		"pins:colorlight-i5?sim=go&ip=192.168.7.8&port=65535": {MAC: usual.MAC, IP: "192.168.7.8", Port: "65535"},
		"pins:colorlight-i5?ip=0.0.0.0":                       {},
		"pins:ice40-hx8k":                                     {},
		"pins:none":                                           {},
		"udp:192.0.2.1:4001":                                  {IP: "192.0.2.1", Port: "4001"},
		"udp:127.0.0.1:4001":                                  {},
		"udp:[2001:db8::1]:4001":                              {},
		"eth:eth0/02:00:5E:00:53:01":                          {MAC: "02:00:5e:00:53:01"},
		"eth:eth0":                                            {},
		"emu?vram=8KiB":                                       {},
		"tcp:192.0.2.1:4001":                                  {},
	} {
		assert.Equal(t, want, known(selector), selector)
	}
}

// What ARP has found completes the addresses.
func TestAddNeighbour(t *testing.T) {
	const table = `IP address       HW type     Flags       HW address            Mask     Device
192.0.2.1        0x1         0x2         02:00:5e:00:53:01     *        eth0
192.0.2.2        0x1         0x0         00:00:00:00:00:00     *        eth0
`
	for in, want := range map[gateware.Addresses]gateware.Addresses{
		{IP: "192.0.2.1", Port: "7"}: {MAC: "02:00:5e:00:53:01", IP: "192.0.2.1", Port: "7"},
		{IP: "192.0.2.2"}:            {IP: "192.0.2.2"},
		{IP: "192.0.2.11"}:           {IP: "192.0.2.11"},
		{MAC: "02:00:5e:00:53:01"}:   {MAC: "02:00:5e:00:53:01", IP: "192.0.2.1"},
		{MAC: "02:00:5e:00:53:02"}:   {MAC: "02:00:5e:00:53:02"},
	} {
		got := in
		addNeighbour(&got, table)
		assert.Equal(t, want, got)
	}
}
