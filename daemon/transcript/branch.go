package transcript

import (
	"slices"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// maxOrphans is how many entries wait at once for the answer to which they belong, of each kind.
const maxOrphans = 1000

// branch finds out, from the newest entry back, which entries are of the conversation as the model would be given it when
// the session is opened again, and which are of a part that a person has taken back. See [runtimes.Place].
type branch struct {
	began bool   // the newest entry of the tree, or the tip, is known
	next  string // the entry with which the conversation goes on backward; "": it has begun, or any is set
	any   bool   // it goes on with whichever entry of the tree comes next
	whole bool   // all that is still to come belongs to it
	open  bool   // entries without a place belong to the conversation, for the last entry with one did

	turns int             // so many prompts are still to be left out
	from  string          // entries are left out until this message
	gone  map[string]bool // messages that were taken back, by name: a runtime may write one again

	group   []runtimes.Entry // entries with the blocks of one answer, that are not on the way to the first entry; the newest first
	orphans []runtimes.Entry // results of tools since the last answer, that are not on that way; the newest first
	summary []runtimes.Entry // the oldest prompt that is not on that way: it may be the summary of a compaction
}

// take returns the entries that are known to belong to the conversation once e was read, the newest first. Of an entry that
// was taken back it returns what the session's settings are: taking back does not change them.
func (b *branch) take(e runtimes.Entry) []runtimes.Entry {
	p := e.Place
	switch {
	case b.skips(e):
		return []runtimes.Entry{settingsOf(e)}
	case b.whole:
	case p.Tip != nil && !b.began:
		b.noteTip(*p.Tip)
	case p.ID == "" || e.Sidechain:
		if b.began && !b.open {
			return []runtimes.Entry{settingsOf(e)}
		}
	case !b.began:
		b.began, b.open = true, true
		return b.follow(e)
	case b.any || p.ID == b.next:
		return b.follow(e)
	case b.next != "" && slices.Contains(p.Kept, b.next):
		return b.compacted(e)
	default:
		return b.wait(e)
	}
	return []runtimes.Entry{e}
}

// noteTip notes where the next entry would have gone.
func (b *branch) noteTip(id string) {
	b.began, b.next, b.open = true, id, false
}

// lose goes on with the next entry, for the one that should come is not in the file. whole: all that is left belongs to the
// conversation.
func (b *branch) lose(whole bool) {
	b.next, b.any, b.whole, b.open = "", true, whole, true
	b.group, b.orphans, b.summary = nil, nil, nil
}

// skips reports whether e was taken back by a later line.
func (b *branch) skips(e runtimes.Entry) bool {
	p := e.Place
	switch {
	case b.from != "":
		if p.Name == b.from {
			b.from = ""
		}
		if p.Name != "" {
			b.remove(p.Name)
		}
		return true
	case p.Name != "" && b.gone[p.Name]:
		return true
	case p.From != "":
		b.from = p.From
	case p.Turns > 0:
		b.turns += p.Turns
	case b.turns > 0:
		if e.Role == "user" && !e.Compacted || e.Ours {
			b.turns--
		}
		return true
	}
	return false
}

// remove notes that a message was taken back. Beyond maxPaths names it forgets the oldest ones that were taken back, of
// which there are no earlier lines any more.
func (b *branch) remove(name string) {
	if b.gone == nil || len(b.gone) >= maxPaths {
		b.gone = map[string]bool{}
	}
	b.gone[name] = true
}

// follow takes an entry that is on the way to the first one, and what belongs to the same answer: a runtime writes each call of
// several at once in a line of its own, each with its result behind it, and goes on after one of them.
func (b *branch) follow(e runtimes.Entry) []runtimes.Entry {
	p := e.Place
	b.open, b.any, b.next, b.summary = true, p.Gap, p.Parent, nil
	out := []runtimes.Entry{e}
	if e.MessageID != "" {
		answer := map[string]bool{p.ID: true}
		var blocks []runtimes.Entry
		if len(b.group) > 0 && b.group[0].MessageID == e.MessageID {
			for _, g := range b.group {
				if g.Place.ID != "" {
					answer[g.Place.ID] = true
				}
			}
			blocks = b.group
		}
		results := slices.DeleteFunc(b.orphans, func(o runtimes.Entry) bool { return !answer[o.Place.Parent] })
		out = slices.Concat(results, blocks, out)
		b.group, b.orphans = nil, nil
	}
	return out
}

// wait keeps an entry that is not on the way to the first one, if it may belong to an answer that is.
func (b *branch) wait(e runtimes.Entry) []runtimes.Entry {
	p := e.Place
	b.open = false
	switch {
	case e.MessageID != "":
		if len(b.group) > 0 && b.group[0].MessageID != e.MessageID {
			// What was read of another answer before was taken back, with its results.
			of := map[string]bool{}
			for _, g := range b.group {
				of[g.Place.ID] = true
			}
			b.orphans = slices.DeleteFunc(b.orphans, func(o runtimes.Entry) bool { return of[o.Place.Parent] })
			b.group = nil
		}
		b.group = append(b.group, e)
		b.group = b.group[max(0, len(b.group)-maxOrphans):]
	case p.Result:
		b.orphans = append(b.orphans, e)
		b.orphans = b.orphans[max(0, len(b.orphans)-maxOrphans):]
	case e.Role == "user":
		b.summary = []runtimes.Entry{e}
	}
	return []runtimes.Entry{settingsOf(e)}
}

// compacted takes a compaction that is not on the way to the first entry, although the conversation went through it: it went
// on with what the compaction kept. The summary stands for the rest.
func (b *branch) compacted(e runtimes.Entry) []runtimes.Entry {
	out := []runtimes.Entry{e}
	if len(b.summary) > 0 && b.summary[0].Place.Parent == e.Place.ID {
		out = append(b.summary, e)
	}
	b.summary, b.open = nil, true
	return out
}

// settingsOf returns what an entry says that holds although a person took the entry back. A call that failed has an id of
// its own, which no other call has.
func settingsOf(e runtimes.Entry) runtimes.Entry {
	return runtimes.Entry{
		At: e.At, Sidechain: e.Sidechain, Failed: e.Failed, Effort: e.Effort, Model: e.Model, Mode: e.Mode,
		Switched: e.Switched, Suffix: e.Suffix, Answered: e.Answered,
	}
}
