package scripted

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// composer is the line editor at the bottom. Only the loop uses it.
type composer struct {
	text    string
	stash   string
	pastes  []paste
	swallow bool // a paste has come and no Enter since
}

// paste is a long paste that the composer shows as one placeholder.
type paste struct{ placeholder, text string }

// Longer pastes are folded on the screen and wrapped in the prompt.
const (
	foldRunes = 800
	foldLines = 4
)

func (c *composer) paste(text string) {
	c.swallow = true
	lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	if utf8.RuneCountInString(text) <= foldRunes && lines < foldLines {
		c.text += text
		return
	}
	label := fmt.Sprintf("[Pasted text #%d +%d lines]", len(c.pastes)+1, lines-1)
	c.pastes = append(c.pastes, paste{label, text})
	c.text += label
}

// take empties the composer and returns the prompt: trimmed at its end, with long pastes put back
// in the tags by which the model is told that they were pasted. A stashed draft comes back.
func (c *composer) take() string {
	prompt := strings.TrimRight(c.text, " \n")
	for i, p := range c.pastes {
		id := fmt.Sprintf("%04x", 0xf982+i)
		wrapped := fmt.Sprintf("\n\n<pasted_content id=%q>\n%s\n</pasted_content id=%q>\n", id, strings.TrimRight(p.text, " \n"), id)
		prompt = strings.Replace(prompt, p.placeholder, wrapped, 1)
	}
	c.text, c.pastes, c.swallow = c.stash, nil, false
	c.stash = ""
	return prompt
}

// putAway stashes the draft, if there is one; C-s on an empty composer does nothing.
func (c *composer) putAway() {
	if c.text != "" {
		c.stash, c.text = c.text, ""
	}
}

// killLine removes the last line, or joins it to the one before when it is empty.
func (c *composer) killLine() {
	cut := strings.LastIndex(c.text, "\n")
	if cut == len(c.text)-1 && cut >= 0 {
		c.text = c.text[:cut]
		return
	}
	c.text = c.text[:cut+1]
}

func (c *composer) backspace() {
	for _, p := range c.pastes {
		if rest, ok := strings.CutSuffix(c.text, p.placeholder); ok {
			c.text = rest
			return
		}
	}
	_, n := utf8.DecodeLastRuneInString(c.text)
	c.text = c.text[:len(c.text)-n]
}

func (c *composer) killWord() {
	text := strings.TrimRight(c.text, " ")
	c.text = text[:strings.LastIndexAny(text, " \n")+1]
}
