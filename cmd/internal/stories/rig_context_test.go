package stories

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// What a handoff passes on, as the operator and the successor read it.

// handOver hands an agent over. It returns the handoff, its context file, and the successor after it has taken over.
func handOver(r *rig, agentID int64) (daemon.Handoff, contextFile, daemon.Agent) {
	r.t.Helper()
	h := r.awaitPhase(r.requestHandoff(agentID), daemon.Completed)
	return h, contextOf(r, h), awaitTakeover(r, h)
}

// awaitTakeover waits until the successor has answered the injection prompt, and returns it.
func awaitTakeover(r *rig, h daemon.Handoff) daemon.Agent {
	r.t.Helper()
	r.await(fmt.Sprintf("agent %d has taken over", *h.SuccessorID), func() (bool, string) {
		return len(r.agentEvents(*h.SuccessorID, "agent_idle")) > 0, "no turn has ended"
	})
	return r.awaitState(*h.SuccessorID, daemon.Idle)
}

// contextFile is a parsed context file.
type contextFile struct {
	text     string
	header   string
	document string // in its wrapper
	// The parts behind the document: the items of the lists, and in notes what the daemon left out of them.
	warnings, decisions, todos, files, notes []string
	messages                                 []heard
}

// heard is one message of the conversation.
type heard struct{ agent, role, text string }

const (
	wrapperOpens  = "<handoff-context>\n"
	wrapperCloses = "</handoff-context>\n\nThe above is a handoff document from a previous session. " +
		"Use this context to continue the work seamlessly.\n"
)

// parseContext parses a context file. Text that others wrote is quoted or kept to one line in it, so that only the
// daemon writes a line that begins with a mark.
func parseContext(t testing.TB, text string) contextFile {
	t.Helper()
	c := contextFile{text: text}
	header, rest, opens := strings.Cut(text, wrapperOpens)
	document, rest, closes := strings.Cut(rest, wrapperCloses)
	if !opens || !closes {
		t.Fatalf("context file without the document's wrapper:\n%s", text)
	}
	c.header, c.document = header, document
	lists := map[string]*[]string{
		"What could not be confirmed": &c.warnings, "Decisions so far": &c.decisions, "Open todos": &c.todos, "Files touched": &c.files,
	}
	for part := range strings.SplitSeq(rest, "\n## ") {
		title, body, _ := strings.Cut(part, "\n")
		list, conversation := lists[title], title == "Conversation before" || title == data.EarlierSessions
		if title != "" && list == nil && !conversation {
			t.Fatalf("context file with a section %q:\n%s", title, text)
		}
		for line := range strings.Lines(body) {
			line = strings.TrimSuffix(line, "\n")
			switch item, isItem := strings.CutPrefix(line, "- "); {
			case strings.HasPrefix(line, "("):
				c.notes = append(c.notes, line)
			case conversation && strings.HasPrefix(line, "### "):
				who := strings.SplitN(strings.TrimPrefix(line, "### "), ", ", 3)
				c.messages = append(c.messages, heard{agent: who[0], role: who[1]})
			case conversation && strings.HasPrefix(line, ">"):
				m := &c.messages[len(c.messages)-1]
				m.text = strings.TrimPrefix(m.text+"\n"+strings.TrimPrefix(strings.TrimPrefix(line, ">"), " "), "\n")
			case list != nil && isItem:
				*list = append(*list, item)
			case list != nil && line != "":
				(*list)[len(*list)-1] += "\n" + line
			}
		}
	}
	return c
}

// contextOf reads a handoff's context file. It checks that the API, the checksum, the record's copy and the metrics
// agree with it.
func contextOf(r *rig, h daemon.Handoff) contextFile {
	r.t.Helper()
	text := r.readFile(*h.ContextPath)
	if b, err := r.client.ContextFile(r.t.Context(), h.ID); err != nil || string(b) != text {
		r.t.Errorf("handoff %d: the API's context file (%v) is not the one on disk:\n%s", h.ID, err, b)
	}
	if sum := sha256.Sum256([]byte(text)); *h.ContextChecksum != hex.EncodeToString(sum[:]) {
		r.t.Errorf("handoff %d: checksum %s is not that of %s", h.ID, *h.ContextChecksum, *h.ContextPath)
	}
	if rec := recordOf(r, h.ID); rec.Context != text || rec.Document != r.readFile(h.FilePath) {
		r.t.Errorf("handoff %d: the record holds another document or context file:\n%+v", h.ID, rec)
	}
	if h.Degraded {
		return contextFile{text: text}
	}
	c := parseContext(r.t, text)
	got := [4]int64{h.Metrics.ContextSizeBytes, int64(h.Metrics.MessagesTransferred), int64(h.Metrics.DecisionsTransferred), int64(h.Metrics.MemoryRefsTransferred)}
	want := [4]int64{int64(len(text)), int64(len(c.messages)), int64(len(c.decisions)), int64(len(c.files))}
	if got != want {
		r.t.Errorf("handoff %d: metrics (bytes, messages, decisions, references) %v, in the file %v:\n%s", h.ID, got, want, text)
	}
	return c
}

// recordOf reads the handoff's record.
func recordOf(r *rig, handoffID int64) daemon.Record {
	r.t.Helper()
	store := r.database()
	return value(store.Record(r.t.Context(), handoffID))(r.t)
}

// keepLog makes the daemon log one JSON object a line into the returned buffer. Call it before start.
func keepLog(r *rig) *cmdtest.Printed {
	b := &cmdtest.Printed{}
	r.cfg.Log = slog.New(slog.NewJSONHandler(b, nil))
	return b
}

// wantHeard fails unless exactly these messages are passed on.
func wantHeard(t testing.TB, what string, got, want []heard) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: messages\n got %q\nwant %q", what, got, want)
	}
}
