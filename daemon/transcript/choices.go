package transcript

import "github.com/understudyd/understudy/daemon/runtimes"

// Choices are the model and the permission mode of a session.
type Choices struct {
	Model string // the model that a person has changed to in the session, as a launch takes it; "": nobody did, or it is not known
	Mode  string // the newest permission mode, as a launch takes it; "": not known
	Began string // the permission mode in which the session began; "": not known
}

// choiceList collects the choices of a session.
type choiceList struct {
	newest, first   string // the models that were chosen
	answered        string // the model of the newest answer
	switched, knows bool   // the newest change of the model was read; the model that answered after it is known
	suffix          string
	mode, began     string
}

// add adds the choices of one entry. It gets the entries of a transcript newest first.
func (l *choiceList) add(e runtimes.Entry) {
	if e.Model != "" {
		l.first = e.Model
		if l.newest == "" {
			l.newest = e.Model
		}
	}
	if e.Mode != "" {
		l.began = e.Mode
		if l.mode == "" {
			l.mode = e.Mode
		}
	}
	if l.answered == "" {
		l.answered = e.Answered
	}
	if e.Switched && !l.switched {
		l.switched, l.knows, l.suffix = true, l.answered != "", e.Suffix
	}
}

// choices returns what was collected. whole says that the transcript was read to its beginning: without that, nobody knows
// how the session began.
func (l *choiceList) choices(whole bool) (c Choices) {
	switch {
	case l.knows:
		c.Model = l.answered + l.suffix
	case whole && l.newest != l.first:
		c.Model = l.newest
	}
	if whole {
		c.Mode, c.Began = l.mode, l.began
	}
	return c
}
