package eventlog

import (
	"encoding/binary"
	"strconv"
)

// Design note: the lines of a trace repeat, and only their numbers differ. So a text is stored
// as the number of a template, in which a byte stands for each number, and the numbers. This
// loses nothing: a number whose usual form is another one, such as 007, stays in the template.

// The bytes of a template that stand for a number.
const (
	holeDecimal = 1
	holeHex     = 2 // with 0x before it
)

// maxDigits is the length of the longest decimal number that always fits into 64 bits.
const maxDigits = 19

// split appends the template of s and its numbers. It reports false if s has bytes that a
// template uses.
func split(template []byte, numbers []uint64, s string) ([]byte, []uint64, bool) {
	for i := 0; i < len(s); {
		from := i
		for i < len(s) && !special(s[i]) {
			i++
		}
		template = append(template, s[from:i]...)
		if i == len(s) {
			break
		}
		c := s[i]
		switch {
		case c == holeDecimal || c == holeHex:
			return template, numbers, false
		case c == '0' && i+2 < len(s) && s[i+1] == 'x':
			if n := hexDigits(s[i+2:]); n > 0 {
				v, _ := strconv.ParseUint(s[i+2:i+2+n], 16, 64) // n hexadecimal digits fit
				template, numbers = append(template, holeHex), append(numbers, v)
				i += 2 + n
				continue
			}
		case c >= '0' && c <= '9':
			if n := digits(s[i:]); n > 0 {
				v, _ := strconv.ParseUint(s[i:i+n], 10, 64) // n digits fit
				template, numbers = append(template, holeDecimal), append(numbers, v)
				i += n
				continue
			}
		}
		template = append(template, c)
		i++
	}
	return template, numbers, true
}

// special reports whether a byte may begin a number, or is one that a template uses.
func special(c byte) bool { return c >= '0' && c <= '9' || c == holeDecimal || c == holeHex }

// digits returns the length of the decimal number at the beginning of s, or 0 if it is not
// in its usual form.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n > maxDigits || n > 1 && s[0] == '0' {
		return 0
	}
	return n
}

// hexDigits is digits for a hexadecimal number in lower case.
func hexDigits(s string) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'f') {
		n++
	}
	if n > 16 || n > 1 && s[0] == '0' {
		return 0
	}
	return n
}

// fill returns the text of a template with its numbers, which are varints at the beginning of
// p. It reports false if there are too few.
func fill(template string, p []byte) (string, bool) {
	b := make([]byte, 0, len(template)+16)
	for i := range len(template) {
		c := template[i]
		if c != holeDecimal && c != holeHex {
			b = append(b, c)
			continue
		}
		v, n := binary.Uvarint(p)
		if n <= 0 {
			return "", false
		}
		p = p[n:]
		if c == holeHex {
			b = strconv.AppendUint(append(b, "0x"...), v, 16)
		} else {
			b = strconv.AppendUint(b, v, 10)
		}
	}
	return string(b), true
}

// holes returns the number of numbers in a template.
func holes(template string) (n int) {
	for i := range len(template) {
		if c := template[i]; c == holeDecimal || c == holeHex {
			n++
		}
	}
	return n
}
