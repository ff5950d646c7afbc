package record

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestConsole(t *testing.T) {
	var b bytes.Buffer
	c := console{w: &b}
	c.text([]byte("one\r\ntw"))
	c.text([]byte("o\n"))
	c.text([]byte(strings.Repeat("x", maxLine+1)))
	c.text([]byte("\r\n\n\a\x1b[1mlogin: "))
	c.end()
	c.end()
	assert.Equal(t, "board: one\nboard: two\nboard: "+strings.Repeat("x", maxLine)+"\nboard: x\nboard: [1mlogin: \n", b.String())
}
