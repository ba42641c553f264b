package data

import "strings"

// Claim is a file that the structured fields of a document name, and what they say happened to it.
type Claim struct {
	Path  string // as written, but for a leading "./"
	Field string // the JSON name of the field that names it first
	// Change is "changed" or "deleted" where what_was_done clearly says so; "planned" where the file is
	// spoken of as one that is yet to be made, and need not be there; else "".
	Change string
}

// What a document can say that happened to a file.
const (
	changed = "changed"
	deleted = "deleted"
	planned = "planned"
)

// Claims returns every file that is named in the fields, in the order of its first mention. What
// is named in fenced code does not count, nor what is in a command line.
//
// A change is claimed only if the words around the name say so: "Fixed a.go", "a.go was edited",
// an item of a list under "Files modified:". A sentence that says what was not or is not yet done
// claims none, nor that the file is there. It rather misses a claim than makes one up: the operator sees those that don't hold.
func Claims(s Structured) []Claim {
	var all []Claim
	index := map[string]int{}
	for i, f := range s.fields() {
		for _, m := range mentions(f.text(), i == 0) {
			at, known := index[m.path]
			switch {
			case !known:
				index[m.path] = len(all)
				all = append(all, Claim{Path: m.path, Field: f.name, Change: m.change})
			case m.change == planned: // it was named as one that is there
			case all[at].Change == "" || all[at].Change == planned:
				all[at].Change = m.change
			case m.change != "":
				all[at].Change = m.change // what happened last: made first, deleted later
			}
		}
	}
	return all
}

// mention is a file that a text names.
type mention struct{ path, change string }

// fileNamesIn returns the files that a text names, without duplicates, never nil.
func fileNamesIn(text string) []string {
	names, seen := []string{}, map[string]bool{}
	for _, m := range mentions(text, false) {
		if !seen[m.path] {
			seen[m.path] = true
			names = append(names, m.path)
		}
	}
	return names
}

// leadIn is a line such as "Files modified:", which speaks for the list items below it.
type leadIn struct {
	indent int // that items must exceed
	change string
}

// mentions returns the files that a text names, in order. changes says whether to look for what
// happened to them.
func mentions(text string, changes bool) []mention {
	var all []mention
	var above []leadIn
	for _, b := range readOutline(text).blocks() {
		all, above = b.mentions(all, above, changes)
	}
	return all
}

// mentions appends the files that a block names, and returns the lead-ins for the block after it.
func (b block) mentions(all []mention, above []leadIn, changes bool) ([]mention, []leadIn) {
	indent := b.indent
	if !b.item {
		indent-- // the items of a paragraph's list may begin where it does
	}
	for len(above) > 0 && above[len(above)-1].indent >= indent {
		above = above[:len(above)-1]
	}
	inherited := ""
	if b.item && len(above) > 0 {
		inherited = above[len(above)-1].change
	}
	before := len(all)
	rest := wordsOf(b.text)
	for first := true; len(rest) > 0; first = false {
		n := 1
		for n < len(rest) && !rest[n-1].ends {
			n++
		}
		var s sentence
		if first {
			s.inherited = inherited
		}
		s.read(rest[:n], changes)
		all, rest = append(all, s.found...), rest[n:]
	}
	if change := leadInOf(b.text); changes && change != "" && len(all) == before {
		above = append(above, leadIn{indent, change})
	}
	return all, above
}

// leadInOf tells what a line ending with a colon says about the list below it; "" if nothing.
func leadInOf(text string) string {
	text, ok := strings.CutSuffix(strings.Trim(text, " \t\n*_"), ":")
	if !ok || len(text) > 200 {
		return ""
	}
	said := ""
	for _, w := range wordsOf(text) {
		change := verbs[w.text]
		if leadNouns[w.text] {
			change = changed
		}
		switch {
		case negations[w.text] || strings.HasSuffix(w.text, "n't") || change != "" && said == deleted && change != said:
			return ""
		case change == deleted && said == changed:
			return "" // "added or removed": either
		case change != "":
			said = change
		}
	}
	return said
}

var (
	// verbs say what happened to a file.
	verbs = map[string]string{
		"modified": changed, "changed": changed, "created": changed, "added": changed, "wrote": changed, "written": changed,
		"edited": changed, "updated": changed, "fixed": changed, "implemented": changed, "refactored": changed,
		"introduced": changed, "rewrote": changed, "rewritten": changed, "extended": changed,
		"deleted": deleted, "removed": deleted,
	}
	leadNouns = set("changes modifications new touched")
	// negations make a sentence one about what did not happen, or has yet to.
	negations = set(`not never no nothing without todo to-do should will would shall must need needs needed plan plans
		planned planning going yet next later could might may can cannot remaining remains pending unable failed tried
		unchanged untouched instead renamed moved if unless until please let's want wants wanted ’t won't don't`)
	// makes are what is done to a file that is not there yet.
	makes = set("create creates creating write writes writing add adds adding make makes making introduce generate new missing")
	// links may stand between a file and what is said about it: "a.go and b.go were both changed".
	links = set("and or was were is are has have been now newly also both all the a an our file files script new old plus")
	// places lead from what was done to where: "added a test to a.go".
	places = set("in into inside within on of at under from")
	// others bring in a file that nothing is said about: "changed the parser as in a.go".
	others = set(`as using use uses used with via like by per based against according see where when while so because since
		that which whose after before calling call calls called reads read running run runs ran matching match imports
		importing reviewed checked kept keeping is are than but following follows replaces replacing`)
)

// sentence reads a sentence word by word.
type sentence struct {
	inherited string // what is said of the files that it begins with
	found     []mention

	heads    bool   // nothing but files and links so far
	subjects int    // those files at the start of found, until something is said about them
	verb     string // what was last said to have happened
	planned  bool   // the sentence is about what is yet to be done
	placed   bool   // a place followed
	off      int    // 0: the verb is about what follows; 1: not before a place; 2: not at all
}

func (s *sentence) read(all []word, changes bool) {
	for _, w := range all {
		switch negated := negations[w.text] || strings.HasSuffix(w.text, "n't"); {
		case negated:
			changes, s.planned = false, true
		case !changes && makes[w.text]:
			s.planned = true
		}
	}
	s.heads = true
	for i, w := range all {
		next := word{}
		if i+1 < len(all) {
			next = all[i+1]
		} else {
			w.clause = true
		}
		switch {
		case w.path != "":
			s.file(w.path, changes)
		case changes:
			s.word(w, next)
		}
	}
}

// file reads a word that names a file.
func (s *sentence) file(path string, changes bool) {
	m := mention{path: path}
	switch {
	case !changes && s.planned:
		m.change = planned
	case !changes:
	case s.heads:
		m.change = s.inherited
		s.subjects = len(s.found) + 1
	case s.verb != "" && s.off == 0:
		m.change = s.verb
		if s.placed {
			m.change = changed // what was removed was something in it
		}
	}
	s.found = append(s.found, m)
}

// word reads a word that names no file.
func (s *sentence) word(w, next word) {
	switch {
	case verbs[w.text] != "":
		s.say(verbs[w.text], w.clause)
	case others[w.text] && !(s.heads && links[w.text]):
		s.heads, s.subjects, s.off = false, 0, 2
	case w.text == "for":
		s.heads, s.subjects, s.off = false, 0, max(s.off, 1)
	case w.text == "to" && s.verb != "":
		if next.path == "" && !links[next.text] {
			s.off = 2 // "to match b.go"
		} else {
			s.place()
		}
	case w.text == "from" && s.verb == changed:
		s.off = 2 // "added what was cut from b.go"
	case places[w.text]:
		s.place()
	case !links[w.text]:
		s.heads, s.subjects = false, 0
	}
}

func (s *sentence) place() {
	s.heads, s.subjects, s.placed = false, 0, true
	if s.off == 1 {
		s.off = 0
	}
}

// say reads a verb, which is about the files that the sentence began with or else about those
// behind it. clause: the verb is the last word of its part of the sentence.
func (s *sentence) say(change string, clause bool) {
	s.verb, s.placed, s.off = change, false, 0
	about := change
	if change == deleted && !clause {
		about = changed // "a.go: removed the parser"
	}
	for i := range s.subjects {
		if s.found[i].change == "" {
			s.found[i].change = about
		}
	}
	if s.subjects > 0 {
		s.off = 2
	}
	s.heads, s.subjects = false, 0
}
