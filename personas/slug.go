package personas

import (
	"fmt"
	"strconv"
	"strings"
)

// maxSlug is the largest length of a slug, in bytes.
const maxSlug = 64

// Slug is the name of a persona, {role}-{name}-{n}. The role may contain hyphens, and the name
// may not. n counts from 1.
type Slug struct {
	Role string
	Name string
	N    int
}

// String is the inverse of [ParseSlug].
func (s Slug) String() string { return s.Role + "-" + s.Name + "-" + strconv.Itoa(s.N) }

// ParseSlug splits a slug into its parts. The words of a slug consist of a-z and 0-9 and are joined
// by single hyphens. A slug has at most 64 bytes. Every slug that ParseSlug accepts is safe as the
// name of a folder.
func ParseSlug(s string) (Slug, error) {
	if len(s) > maxSlug {
		return Slug{}, fmt.Errorf("slug of %d bytes is longer than %d", len(s), maxSlug)
	}
	words := strings.Split(s, "-")
	if len(words) < 3 {
		return Slug{}, badSlug(s)
	}
	for _, word := range words {
		if !isWord(word) {
			return Slug{}, badSlug(s)
		}
	}
	last := len(words) - 1
	n, err := strconv.Atoi(words[last])
	if err != nil || n < 1 || words[last][0] == '0' {
		return Slug{}, badSlug(s)
	}
	return Slug{Role: strings.Join(words[:last-1], "-"), Name: words[last-1], N: n}, nil
}

func badSlug(s string) error {
	return fmt.Errorf("slug %q is not of the form role-name-1, in lower-case letters and digits", s)
}

// isWord reports whether s is not empty and consists of a-z and 0-9.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
