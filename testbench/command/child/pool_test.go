package child

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An answer is found after other text in its line, as on a system where the answers
// and what a driver prints share a pipe.
func TestReadFindsAnswers(t *testing.T) {
	const token = "TOKEN "
	c := &process{answers: make(chan answer, 3)}
	var prints bytes.Buffer
	c.read(strings.NewReader("a line\n..."+token+`{"ready":true}`+"\nTOKEN no answer\n"+token+`{"out":"aGk="}`+"\nend"), []byte(token), &prints)
	var all []answer
	for a := range c.answers {
		all = append(all, a)
	}
	assert.Equal(t, []answer{{Ready: true}, {Out: []byte("hi")}}, all)
	assert.Equal(t, "a line\n...TOKEN no answer\nend", prints.String())
}
