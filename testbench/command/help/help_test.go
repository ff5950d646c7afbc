package help

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

func TestWrap(t *testing.T) {
	word := "0123456789012345678901234567890123456789" // 40 columns
	assert.Equal(t, word+" "+word, wrap(word+"  "+word, 19), "100 columns")
	assert.Equal(t, word+"\n                    "+word, wrap(word+" "+word, 20), "101 columns")
}

func TestReadOn(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	board := &cobra.Command{Use: "x", Run: run}
	board.Flags().String("board", "", "")
	for _, tt := range []struct {
		c    *cobra.Command
		want string
	}{
		{board, readSelectors},
		{&cobra.Command{Use: "probe [SELECTOR...]", Run: run}, readSelectors},
		{&cobra.Command{Use: "x", Run: run}, readExits},
		{&cobra.Command{Use: "topic"}, ""},
	} {
		ReadOn(tt.c)
		assert.Equal(t, tt.want, tt.c.Annotations["read"], tt.c.Use)
	}
	assert.Contains(t, Selectors("X_BOARD"), "the environment variable X_BOARD, and then emu")
}

func TestChoices(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "x"}
	root.AddCommand(&cobra.Command{Use: "read", Run: run}, &cobra.Command{Use: "write", Run: run}, &cobra.Command{Use: "man", Hidden: true, Run: run})
	assert.Equal(t, "read", Choices(root, "raed"))
	assert.Equal(t, "one of read, write", Choices(root, "zzzzzz"), "no similar name")
	assert.Equal(t, "one of read, write", Choices(root, ""))
}
