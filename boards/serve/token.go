package serve

import (
	"bytes"
	"fmt"
	"os"
)

// minToken is the length of the shortest token, in bytes.
const minToken = 16

// Token returns the token in a file: its content without white space around it, at
// least 16 bytes. It fails with ErrOptions for a shorter one, or with the error of the
// file.
func Token(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: token: %w", ErrOptions, err)
	}
	if b = bytes.TrimSpace(b); len(b) < minToken {
		return nil, fmt.Errorf("%w: %s has a token of %d bytes, want at least %d", ErrOptions, path, len(b), minToken)
	}
	return b, nil
}
