package testbench

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// hop is what a step of the answer about a pixel says of a move.
var hop = regexp.MustCompile(`of submission (\d+).* writes VRAM\+(0x[0-9a-f]+)`)

// apiCall is a step that is a call of the API.
var apiCall = regexp.MustCompile(`^call \d+, \w+$`)

// An address names as its last writer the call and the submission that the answer about the pixel has for it, and
// as its last reader those of the move before.
func TestAddressAgreesWithPixel(t *testing.T) {
	r := plantedRun(t, planted{verify: true})
	a, err := r.Pixel(20, 15)
	require.NoError(t, err)
	hops, call, reader := 0, "", ""
	var first, last uint64
	for _, s := range a.Chain {
		if apiCall.MatchString(s.What) {
			call, first = s.What, s.Event
		}
		of := hop.FindStringSubmatch(s.What)
		if of == nil {
			continue
		}
		addr, err := strconv.ParseUint(of[2], 0, 64)
		require.NoError(t, err)
		got, err := r.Address(addr)
		require.NoError(t, err)
		writer := fmt.Sprintf("last by %s, in submission %s ", call, of[1])
		assert.Regexp(t, `^it was written .*`+regexp.QuoteMeta(writer), got.Verdict, "%s", got.Text())
		events := map[uint64]bool{}
		for _, x := range got.Chain {
			events[x.Event] = true
		}
		assert.True(t, events[first] && events[s.Event], "the call and the packet are in the chain: %s", got.Text())
		if reader != "" {
			assert.Contains(t, got.Verdict, "read")
			assert.Contains(t, got.Verdict[len("it was written"):], reader, "%s", got.Text())
			assert.True(t, events[last], "%s", got.Text())
		}
		hops, reader, last = hops+1, writer, s.Event
	}
	assert.GreaterOrEqual(t, hops, 2, "%s", a.Text())
}

// The address of a fence names the submissions that wrote it, that of host memory the map of the application, and
// that of a buffer its fetch.
func TestAddressOfHostMemory(t *testing.T) {
	r := plantedRun(t, planted{verify: true})
	pixel, err := r.Pixel(20, 15)
	require.NoError(t, err)
	upload := regexp.MustCompile(`call \d+, Map`).FindString(pixel.Verdict)
	require.NotEmpty(t, upload, pixel.Verdict)
	source := regexp.MustCompile(`COPY src=HOST\+(0x[0-9a-f]+)`).FindStringSubmatch(pixel.Text())
	require.NotNil(t, source, pixel.Text())
	at, err := strconv.ParseUint(source[1], 0, 64)
	require.NoError(t, err)
	buffer := regexp.MustCompile(`packets at host memory (0x[0-9a-f]+)`).FindStringSubmatch(must(t)(r.Fence(0, 1)).Text())
	require.NotNil(t, buffer)
	dma, err := strconv.ParseUint(buffer[1], 0, 64)
	require.NoError(t, err)
	for addr, want := range map[uint64]string{
		at:  `^it was written once, last by the CPU in ` + upload + `, and it was read once, last by call \d+, CopyResource, in submission 2 \(fence 1 of node 0\)$`,
		dma: `^nothing wrote it, and it was read once, last by call \d+, Present, in submission 2 \(fence 1 of node 0\)$`,
	} {
		got := must(t)(r.Address(pkt.Host | addr))
		assert.Regexp(t, want, got.Verdict, "%s", got.Text())
	}
	fences := must(t)(r.Address(pkt.Host | fenceWord))
	assert.Regexp(t, `^it was written \d+ times, last by call \d+, Map, in submission 5 \(fence 3 of node 0\)$`, fences.Verdict, "%s", fences.Text())
}

// fenceWord is the fence of node 0, which the miniport allocates first.
const fenceWord = 0x100000

// must returns the answer of a question, which must have one.
func must(t *testing.T) func(a *why.Answer, err error) *why.Answer {
	return func(a *why.Answer, err error) *why.Answer {
		t.Helper()
		require.NoError(t, err)
		return a
	}
}
