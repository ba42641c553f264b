package actor

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Composer is the line editor at the bottom of the screen.
type Composer struct {
	Text   string
	Pasted bool // a text was pasted, and Enter was not pressed since

	stash  string
	pastes []paste
}

// Stashed reports whether a draft is stashed.
func (c *Composer) Stashed() bool { return c.stash != "" }

// Clear drops the draft, but not the stashed one.
func (c *Composer) Clear() { c.Text, c.pastes = "", nil }

// paste is a long paste that the composer shows as one placeholder.
type paste struct{ placeholder, text string }

// A paste with more than foldRunes runes, or at least foldLines lines, is folded on the screen and wrapped in the prompt.
const (
	foldRunes = 800
	foldLines = 4
)

// Paste adds a pasted text. A long text is folded into a placeholder.
func (c *Composer) Paste(text string) {
	c.Pasted = true
	lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	if utf8.RuneCountInString(text) <= foldRunes && lines < foldLines {
		c.Text += text
		return
	}
	label := fmt.Sprintf("[Pasted text #%d +%d lines]", len(c.pastes)+1, lines-1)
	c.pastes = append(c.pastes, paste{label, text})
	c.Text += label
}

// Take empties the composer and returns the prompt. It trims the end of the prompt. In place of each
// placeholder it puts the long paste, inside tags that tell the model that the text was pasted. Then a
// stashed draft comes back into the composer.
func (c *Composer) Take() string {
	prompt := strings.TrimRight(c.Text, " \n")
	for i, p := range c.pastes {
		id := fmt.Sprintf("%04x", 0xf982+i)
		wrapped := fmt.Sprintf("\n\n<pasted_content id=%q>\n%s\n</pasted_content id=%q>\n", id, strings.TrimRight(p.text, " \n"), id)
		prompt = strings.Replace(prompt, p.placeholder, wrapped, 1)
	}
	c.Text, c.pastes, c.Pasted = c.stash, nil, false
	c.stash = ""
	return prompt
}

// PutAway stashes the draft, as the key C-s does in Claude Code. If the composer is empty, PutAway does nothing.
func (c *Composer) PutAway() {
	if c.Text != "" {
		c.stash, c.Text = c.Text, ""
	}
}

// KillLine removes the last line. If that line is empty, KillLine removes the line break before it.
func (c *Composer) KillLine() {
	cut := strings.LastIndex(c.Text, "\n")
	if cut == len(c.Text)-1 && cut >= 0 {
		c.Text = c.Text[:cut]
		return
	}
	c.Text = c.Text[:cut+1]
}

// Backspace removes the last character, or the last folded paste.
func (c *Composer) Backspace() {
	for _, p := range c.pastes {
		if rest, ok := strings.CutSuffix(c.Text, p.placeholder); ok {
			c.Text = rest
			return
		}
	}
	_, n := utf8.DecodeLastRuneInString(c.Text)
	c.Text = c.Text[:len(c.Text)-n]
}

// KillWord removes the last word.
func (c *Composer) KillWord() {
	text := strings.TrimRight(c.Text, " ")
	c.Text = text[:strings.LastIndexAny(text, " \n")+1]
}
