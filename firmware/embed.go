package firmware

import (
	_ "embed"
	"strings"
)

//go:embed firmware.bin
var image []byte

//go:embed elf.sha256
var elf string

//go:embed log.table
var table []byte

// LogTable returns a copy of the formats of the log of the default image, for log.ParseTable.
func LogTable() []byte { return append([]byte(nil), table...) }

// Default returns a copy of the image of this version.
func Default() []byte { return append([]byte(nil), image...) }

// ELF returns the SHA-256, in hexadecimal, of the ELF file with the symbols of the default image.
func ELF() string { return strings.TrimSpace(elf) }
