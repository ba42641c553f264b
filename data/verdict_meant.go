package data

import "slices"

// This file knows the words by which a verdict may not be meant as it is written, or may be a refusal in other words.

const hedgeReach = 6 // how many words from a phrase a word may stand that says how it is meant

var (
	// maybes stand before what may not be so, or not yet.
	maybes = set("will would could should may might hardly barely far conditional conditionally previous previously formerly earlier initially originally " +
		"wird würde sollte kaum bedingt vorher zuvor")
	labels = set("previous previously formerly earlier initially originally vorher zuvor") // of these with a colon as well
	// conditions stand behind what is not so yet.
	conditions = set("if once when unless until pending provided assuming conditional conditionally subject falls sobald wenn sofern")
	// overs say that what stands before them is of another time.
	overs = set("made addressed done resolved implemented fixed incorporated applied fulfilled completed earlier previously erledigt umgesetzt behoben")
)

// hedged reports whether a word near the phrase from i to j, in its clause and its line, says that the phrase is denied, under a
// condition, or of another time.
func (l tokenList) hedged(i, j int) bool {
	if i > 0 && labels[l[i-1].word] {
		return true
	}
	for k := i - 1; k >= 0 && k >= i-hedgeReach && !l[k+1].ends && !l[k+1].line; k-- {
		if denials[l[k].word] || maybes[l[k].word] {
			return true
		}
	}
	for k := j; k < len(l)-1 && k < j+hedgeReach && !l[k].ends && !l[k].line; k++ {
		if overs[l[k].word] || k < j+2 && conditions[l[k].word] {
			return true
		}
	}
	return false
}

var (
	refusals = set("reject rejected rejects rejecting rejection decline declined declining refuse refused denied disapprove disapproved unapproved nack nacked " +
		"unacceptable abgelehnt rechazado rechazada rejeté rejetée")
	// objections refuse if nothing in their line approves.
	objections = set("need needs needed require requires required necessary blocked blocks blocker blockers blocking fail failed fails failing redo rework " +
		"revise revision revisions incomplete insufficient unready nogo nachbessern überarbeiten")
	approvals = set("approve approved approves approving accept accepted accepts ready merge merged mergeable ship lgtm pass passed passes good ok okay " +
		"genehmigt angenommen freigegeben")
)

// Refuses reports whether the first line of a text that has words seems to refuse something: "Needs work", "Not approved".
func Refuses(text string) bool {
	l := phraseWords(text)
	if end := slices.IndexFunc(l[min(1, len(l)):], func(t token) bool { return t.line }); end >= 0 {
		l = append(slices.Clip(l[:end+1]), token{ends: true})
	}
	approves, objects := false, false
	for i := range len(l) - 1 {
		word, denied := l[i].word, false
		for k := i - 1; k >= 0 && k >= i-hedgeReach && !l[k+1].ends; k-- {
			denied = denied || denials[l[k].word]
		}
		next := l[i+1]
		denied = denied || next.cross || next.label && answers[next.word] // "Approved: no"
		switch {
		case refusals[word] && !denied, approvals[word] && denied:
			return true
		case approvals[word]:
			approves = true
		case objections[word] && !denied:
			objects = true
		}
	}
	return objects && !approves
}
