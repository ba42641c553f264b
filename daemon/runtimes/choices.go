package runtimes

// Width says how much a permission mode lets an agent do without asking a person. Of two modes of one runtime, the one with
// the smaller width allows nothing that the other one does not.
type Width int

// The widths. The zero value is that of a mode which cannot be compared with others.
const (
	WidthPlan   Width = iota + 1 // it changes nothing
	WidthRefuse                  // it does what the user's settings allow, and is refused everything else
	WidthAsk                     // it asks before it changes a file or runs a command
	WidthEdits                   // it changes the files of its working directory, and asks before it does more
	WidthAuto                    // it runs commands as well
	WidthAll                     // nothing is asked and nothing is refused
)

// MayCarry reports whether a successor may begin in a mode that its predecessor's session had last. launched is the mode with
// which the predecessor was launched ("": nobody chose one), and began is the mode in which its session began, as the
// transcript shows it. An agent can change its own transcript, so began alone proves nothing.
func (rt *Runtime) MayCarry(mode, launched, began string) bool {
	w := rt.Widths[mode]
	return mode != "" && began != "" && w > 0 && w <= rt.Widths[launched] && w <= rt.Widths[began]
}

// NarrowMode returns the mode of rt that stands for a mode of another runtime, if that mode asks a person before each change
// or allows less. For a wider mode it returns "", because two runtimes do not mean the same by it.
func (rt *Runtime) NarrowMode(other *Runtime, mode string) string {
	want := other.Widths[mode]
	if mode == "" || want == 0 || want > WidthAsk {
		return ""
	}
	// The widest mode that allows no more; if there is none, the narrowest one.
	best := ""
	for _, name := range rt.Modes {
		w, have := rt.Widths[name], rt.Widths[best]
		switch {
		case w == 0 || w > WidthAsk:
		case best == "", w <= want && (have > want || w > have), w > want && w < have:
			best = name
		}
	}
	return best
}
