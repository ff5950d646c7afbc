package verifier

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Equal calls that follow each other are one line, and a violation outside of every DDI
// function has no line for its stack.
func TestDetailsAreShort(t *testing.T) {
	v := &Violation{Calls: []string{
		"#7 thread 1:1 pfnCreateDevice", "#8 thread 1:1   pfnCheckFormatSupport", "#9 thread 1:1   pfnCheckFormatSupport", "#10 thread 1:1   pfnCheckFormatSupport",
		"#11 thread 1:2   pfnCheckFormatSupport", "#12 thread 1:1 pfnFlush", "#13 thread 1:1   pfnFlush",
	}}
	text := v.Details()
	assert.Contains(t, text, `
  calls   #7 thread 1:1 pfnCreateDevice
          #8 to #10 thread 1:1   pfnCheckFormatSupport, 3 times
          #11 thread 1:2   pfnCheckFormatSupport
          #12 thread 1:1 pfnFlush
          #13 thread 1:1   pfnFlush
`)
	assert.NotContains(t, text, "stack")
	v.Stack = []string{"pfnFlush", "pfnRenderCb"}
	assert.Contains(t, v.Details(), "\n  stack   pfnFlush > pfnRenderCb\n")
}
