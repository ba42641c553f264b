// Package secrets finds keys, tokens and passwords in texts of agents, and masks them. Its rules know the public formats of tokens, private
// keys, passwords in URLs, and values that are set by a name such as password or api_key.
//
// It proves nothing: it does not see a secret without a known format and without such a name, one of plain words, one that is wrapped over
// lines, and one that is encoded. What looks like an example is no finding. A megabyte takes about 15 ms, and at most a second or
// two if somebody writes it for that. All functions are safe for concurrent use; the first call compiles the rules.
package secrets

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Finding is a secret in a text: the rule that found it, and its place in bytes.
type Finding struct {
	Rule       string
	Start, End int
	keep       int // how many of its first bytes a mask shows
}

// Find returns the secrets of a text in their order. No two of them overlap.
func Find(text string) []Finding {
	var all []Finding
	lower := lowered(text)
	for _, r := range rules() {
		for _, word := range r.words {
			in := text
			if r.anyCase {
				in = lower
			}
			for at := 0; ; {
				i := strings.Index(in[at:], word)
				if i < 0 {
					break
				}
				i += at
				at = i + len(word)
				if f, ok := r.match(text, i, len(word)); ok {
					all = append(all, f)
					at = max(at, f.End)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	end := 0
	return slices.DeleteFunc(all, func(f Finding) bool {
		if f.Start < end {
			return true
		}
		end = f.End
		return false
	})
}

// match looks for the rule's secret at the keyword of n bytes that begins at i.
func (r *rule) match(text string, i, n int) (Finding, bool) {
	if !r.inside && !begins(text, i) {
		return Finding{}, false
	}
	m := r.re.FindStringSubmatchIndex(text[i:min(len(text), i+r.window)])
	if m == nil {
		return Finding{}, false
	}
	f := Finding{Rule: r.name, Start: i, End: i + m[1], keep: n + 2}
	if len(m) > 2 {
		group := 1
		for m[2*group] < 0 { // the alternative that matched
			group++
		}
		f.Start, f.End, f.keep = i+m[2*group], i+m[2*group+1], 2
	}
	if f.End < len(text) && !r.open && wordByte(text[f.End]) && wordByte(text[f.End-1]) {
		return Finding{}, false
	}
	value := text[f.Start:f.End]
	if r.entropy > 0 && (isExample(value) || Entropy(value) < r.entropy) || r.check != nil && !r.check(text[i:i+m[1]], value) {
		return Finding{}, false
	}
	return f, true
}

// Mask returns the text with its secrets masked, also where a long one is said again without what gave it away: the first characters of each stay,
// such as "ghp_Ab…[masked: github-token]". Masking a masked text changes nothing. What is JSON, or another
// text with escapes, is masked value by value: a secret may be said again within an escape.
func Mask(text string) string {
	const long, most = 12, 500
	for range 4 { // what stood beside a secret may become the beginning of another one
		found := Find(text)
		if len(found) == 0 {
			break
		}
		var b strings.Builder
		from, was := 0, text
		for _, f := range found {
			b.WriteString(was[from:f.Start])
			b.WriteString(f.mask(was))
			from = f.End
		}
		text = b.String() + was[from:]
		for _, f := range found[:min(len(found), most)] {
			if f.End-f.Start >= long {
				text = strings.ReplaceAll(text, was[f.Start:f.End], f.mask(was))
			}
		}
	}
	return text
}

// mask is what stands in place of a secret. Half a letter is no part of it: the database would refuse that.
func (f Finding) mask(text string) string {
	kept := text[f.Start : f.Start+min(f.keep, (f.End-f.Start)/3)]
	return strings.ToValidUTF8(kept, "") + "…[masked: " + f.Rule + "]"
}

// Words names the rule and the line of each secret of a text, the first of each rule and line once: "github-token in line 3". It returns ""
// if there is none.
func Words(text string) string {
	var out []string
	found, line, from := Find(text), 1, 0
	for _, f := range found {
		line += strings.Count(text[from:f.Start], "\n")
		from = f.Start
		if says := fmt.Sprintf("%s in line %d", f.Rule, line); !slices.Contains(out, says) {
			out = append(out, says)
		}
	}
	const most = 5
	if more := len(out) - most; more > 0 {
		out = append(out[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// Entropy returns how many bits a byte of s has, by how often each byte occurs in it.
func Entropy(s string) (bits float64) {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	for _, n := range counts {
		if p := float64(n) / float64(len(s)); n > 0 {
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// begins reports whether a word begins at i. In JSON and in logs one may begin behind \n or \u003c.
func begins(text string, i int) bool {
	if i == 0 || !wordByte(text[i-1]) && text[i-1] != '-' {
		return true
	}
	return i > 1 && text[i-2] == '\\' && strings.IndexByte("nrt", text[i-1]) >= 0 || i > 5 && text[i-6:i-4] == `\u`
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

func wordByte(c byte) bool { return alphanumeric(c) || c == '_' }

// lowered returns the text with its ASCII letters in lower case: all bytes keep their places.
func lowered(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
