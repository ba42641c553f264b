package data

import "strings"

// Claim is a file that the structured fields of a document name, and the change of the file that they claim.
type Claim struct {
	Path  string // as written, without a leading "./"
	Field string // the JSON name of the field that names it first
	// Change is "changed" or "deleted" if the field what_was_done clearly says so. It is "planned" if a field says
	// that the file does not exist yet; such a file need not exist. Otherwise it is "".
	Change string
}

// The changes that a document can claim.
const (
	changed = "changed"
	deleted = "deleted"
	planned = "planned"
)

// Claims returns every file that the fields name, in the order of its first mention. It ignores fenced code and
// command lines.
//
// The fields claim a change only if the words around the name say so: "Fixed a.go", "a.go was edited", or an
// item of a list under "Files modified:". A sentence about work that was not done, or is not done yet, claims
// neither a change nor that the file exists. In doubt, Claims leaves a claim out, because the operator is warned
// about each false claim.
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
			case m.change == planned: // keep the earlier mention, which says that the file exists
			case all[at].Change == "" || all[at].Change == planned:
				all[at].Change = m.change
			case m.change != "":
				all[at].Change = m.change // take the last change, because a file may be made first and deleted later
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

// leadIn is a line such as "Files modified:". Its change applies to the list items below it.
type leadIn struct {
	indent int // the change applies only to items with a greater indent
	change string
}

// mentions returns the files that a text names, in order. If changes is true, it also looks for claims of
// changes.
func mentions(text string, changes bool) []mention {
	var all []mention
	var above []leadIn
	for _, b := range readOutline(text).blocks() {
		all, above = b.mentions(all, above, changes)
	}
	return all
}

// mentions appends to all the files that a block names, and returns all and the lead-ins for the next block.
func (b block) mentions(all []mention, above []leadIn, changes bool) ([]mention, []leadIn) {
	indent := b.indent
	if !b.item {
		indent-- // the items below a paragraph may have the same indent
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

// leadInOf returns the change that a line with a colon at its end claims for the list below it, "" for none.
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
			return "" // "added or removed" claims neither
		case change != "":
			said = change
		}
	}
	return said
}

var (
	// verbs claim a change of a file.
	verbs = map[string]string{
		"modified": changed, "changed": changed, "created": changed, "added": changed, "wrote": changed, "written": changed,
		"edited": changed, "updated": changed, "fixed": changed, "implemented": changed, "refactored": changed,
		"introduced": changed, "rewrote": changed, "rewritten": changed, "extended": changed,
		"deleted": deleted, "removed": deleted,
	}
	leadNouns = set("changes modifications new touched")
	// negations mark a sentence about work that did not happen, or has not happened yet.
	negations = set(`not never no nothing without todo to-do should will would shall must need needs needed plan plans
		planned planning going yet next later could might may can cannot remaining remains pending unable failed tried
		unchanged untouched instead renamed moved if unless until please let's want wants wanted ’t won't don't`)
	// makes are verbs about a file that does not exist yet.
	makes = set("create creates creating write writes writing add adds adding make makes making introduce generate new missing")
	// links are words that may come between a file and its verb: "a.go and b.go were both changed".
	links = set("and or was were is are has have been now newly also both all the a an our file files script new old plus")
	// places are words before the file in which a change was made: "added a test to a.go".
	places = set("in into inside within on of at under from")
	// others are words before a file for which nothing is claimed: "changed the parser as in a.go".
	others = set(`as using use uses used with via like by per based against according see where when while so because since
		that which whose after before calling call calls called reads read running run runs ran matching match imports
		importing reviewed checked kept keeping is are than but following follows replaces replacing`)
)

// sentence reads a sentence word by word.
type sentence struct {
	inherited string // the change of the lead-in; it applies to the files at the start of the sentence
	found     []mention

	heads    bool   // the sentence has had only files and links so far
	subjects int    // how many files at the start of found still have no verb
	verb     string // the change of the last verb
	planned  bool   // the sentence is about something that is not done yet
	placed   bool   // a word of places came after the verb
	off      int    // the verb applies to the files behind it if off is 0, only behind a word of places if 1, to none if 2
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
			m.change = changed // "removed a test from a.go" changes a.go
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
			s.off = 2 // "changed a.go to match b.go"
		} else {
			s.place()
		}
	case w.text == "from" && s.verb == changed:
		s.off = 2 // "added a helper from b.go"
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

// say reads a verb. The verb applies to the files at the start of the sentence, if there are any; otherwise to the
// files behind the verb. clause is true if the verb is the last word of its clause.
func (s *sentence) say(change string, clause bool) {
	s.verb, s.placed, s.off = change, false, 0
	about := change
	if change == deleted && !clause {
		about = changed // "a.go: removed the parser" changes a.go
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
