package runtimes

import (
	"cmp"
	"strings"
)

// Fact is one line of the table of runtimes: how a runtime does something, in words for people.
type Fact struct {
	Topic string `json:"topic"`
	How   string `json:"how"`
}

// Facts returns what a runtime can do, the same topics in the same order for all runtimes. They are made of Can, which the
// flow asks, so that the table cannot say anything else than what happens.
func (rt *Runtime) Facts() []Fact {
	can := &rt.Can
	return []Fact{
		{"tested versions", cmp.Or(rt.Tried().Words(), "none")},
		{"all tests run with", cmp.Or(can.Tested, "none")},
		{"the skill comes as", cmp.Or(string(can.Skill), "–")},
		{"registers when", cmp.Or(string(can.Registers), "–")},
		{"takes texts", waysInWords(can.Ways)},
		{"a person's draft", draftInWords(rt)},
		{"turns", cmp.Or(can.Turns, "–")},
		{"asked while busy", yes(can.HoldsTurn, "as the answer to the end of its turn", "when its turn is over")},
		{"a prompt that another hook refuses", cmp.Or(can.Refusals, "no hook can")},
		{"errors", cmp.Or(can.Errors, "–")},
		{"usage limits", cmp.Or(can.Limits, "–")},
		{"after a limit", yes(can.Continues, "goes on by itself", "has to be prompted")},
		{"use of the context", cmp.Or(can.Usage, "–")},
		{"tokens", cmp.Or(can.Tokens, "not known")},
		{"cost", cmp.Or(can.Cost, "not reported")},
		{"size of the window", yes(can.KnowsWindow, "told by the CLI", "not known")},
		{"a full window", yes(can.Compacts, "compacts by itself", "stops")},
		{"permissions", cmp.Or(can.Permissions, "–")},
		{"a permission is answered", answeredInWords(can)},
		{"document from a copy", cmp.Or(can.Document, "no")},
		{"document from another's conversation", cmp.Or(can.OneShot, "no")},
		{"conversation", yes(can.Transcript, "passed on from its transcript", "not passed on")},
		{"open todos", cmp.Or(can.Todos, "not passed on")},
		{"thinking level", yes(len(can.Efforts) > 0, "kept by successors and copies", "the CLI's own")},
		{"model changed in the session", changedInWords(can.Model)},
		{"mode changed in the session", changedInWords(can.Mode)},
		{"a file was read", readsInWords(can.Reads)},
		{"exit", exitInWords(can)},
	}
}

func changedInWords(how string) string {
	if how == "" {
		return "not told"
	}
	return "shown by " + how
}

func yes(is bool, this, otherwise string) string {
	if is {
		return this
	}
	return otherwise
}

func waysInWords(ways []Way) string {
	var words []string
	for _, w := range ways {
		words = append(words, wayWords[w])
	}
	return cmp.Or(strings.Join(words, ", else "), "–")
}

var wayWords = map[Way]string{
	ByTyping: "typed behind the guard", ByQueue: "by the CLI's queue", ByInbox: "by an inbox", ByServer: "by its own server",
	ByEcho: "typed, and submitted once they are seen",
}

func readsInWords(r Reads) string {
	if !r.Shown() {
		return "not known"
	}
	var words []string
	for _, tool := range r.Tools {
		words = append(words, "`"+tool+"`")
	}
	if len(r.Shells) > 0 {
		words = append(words, "a command of `"+strings.Join(r.Shells, "`, `")+"`")
	}
	return "shown by " + strings.Join(words, " or ")
}

func draftInWords(rt *Runtime) string {
	switch {
	case len(rt.Can.Ways) > 0 && rt.Can.Ways[0] != ByTyping && rt.Can.Ways[0] != ByEcho:
		return "left alone"
	case rt.Can.StashKey != "":
		return "put aside and brought back"
	case rt.Queue != nil:
		return "left alone: the text takes the queue"
	}
	return "waited for"
}

func exitInWords(can *Can) string {
	switch can.Exit {
	case ByTyping, ByEcho:
		return "`" + can.ExitText + "`"
	case ByServer, ByInbox, ByQueue:
		return wayWords[can.Exit]
	}
	return "SIGTERM"
}

func answeredInWords(can *Can) string {
	switch {
	case can.HoldsPermission:
		return "by rules, in its pane, or from anywhere while its hook is held"
	case can.AnswersPermission:
		return "by rules, or in its pane"
	}
	return "in its pane"
}

// Asks is what an agent needs for two things in its working directory: running a command, and writing a file. Each is "runs",
// "asks" or "refused".
type Asks struct {
	Command string `json:"command"`
	Write   string `json:"write"`
}
