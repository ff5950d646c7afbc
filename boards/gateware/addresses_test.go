package gateware

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth/ip"
)

// What a board can have is its address, and what it cannot have is an error that names it.
func TestAt(t *testing.T) {
	b, err := Find("colorlight-i5")
	require.NoError(t, err)
	for _, a := range []Addresses{
		{}, {MAC: "02:00:00:00:00:01"}, {MAC: "fe-ff-ff-ff-ff-ff"}, {IP: "1.0.0.0"}, {IP: "223.255.255.255"}, {Port: "1"}, {Port: "65535"},
	} {
		other, err := b.At(a)
		require.NoError(t, err)
		assert.Equal(t, a == Addresses{}, other.Address == b.Address, "%+v", a)
		_, err = other.Design(0)
		require.NoError(t, err)
	}
	other, err := b.At(Addresses{"02:0a:0b:0c:0d:0e", "192.0.2.33", "700"})
	require.NoError(t, err)
	assert.Equal(t, ip.Params{MAC: [6]byte{2, 10, 11, 12, 13, 14}, IP: [4]byte{192, 0, 2, 33}, Port: 700, EtherType: b.Address.EtherType}, other.Address)
	for a, option := range map[Addresses]string{
		{MAC: "00:00:00:00:00:00"}: "mac", {MAC: "01:00:00:00:00:00"}: "mac", {MAC: "02:00:00:00:00"}: "mac", {MAC: "02:00:00:00:00:00:00:01"}: "mac", {MAC: "x"}: "mac",
		{IP: "0.1.2.3"}: "ip", {IP: "224.0.0.1"}: "ip", {IP: "255.255.255.255"}: "ip", {IP: "127.1.2.3"}: "ip", {IP: "::1"}: "ip", {IP: "10.0.0"}: "ip",
		{Port: "0"}: "port", {Port: "65536"}: "port", {Port: "-1"}: "port", {Port: "http"}: "port",
	} {
		_, err := b.At(a)
		var bad *AddressError
		require.True(t, errors.As(err, &bad), "%+v", a)
		assert.Equal(t, option, bad.Option)
		assert.ErrorIs(t, err, ErrAddress)
	}
	uart, err := Find("ulx3s")
	require.NoError(t, err)
	_, err = uart.At(Addresses{Port: "1"})
	assert.EqualError(t, err, "gateware: bad address: port=1, want a board on Ethernet")
	_, err = uart.At(Addresses{})
	assert.NoError(t, err)
}

// Each address is a part of ID.BUILD.
func TestBuildOfAddresses(t *testing.T) {
	b, err := Find("colorlight-i5")
	require.NoError(t, err)
	seen := map[uint32]bool{b.Build(): true}
	for _, a := range []Addresses{
		{MAC: "02:68:69:6c:00:06"}, {MAC: "02:68:69:6c:00:07"}, {IP: "10.0.0.6"}, {IP: "10.0.0.7"}, {Port: "4001"}, {Port: "4002"}, {"02:68:69:6c:00:06", "10.0.0.6", "4001"},
	} {
		other, err := b.At(a)
		require.NoError(t, err)
		assert.False(t, seen[other.Build()], "%+v", a)
		seen[other.Build()] = true
		assert.Equal(t, b.Name, ByBuild(other.Build(), a))
		assert.Empty(t, ByBuild(other.Build(), Addresses{}))
	}
}
