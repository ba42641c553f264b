package handoffs

import (
	"fmt"
	"os"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// checkSecrets refuses a document that seems to have secrets, if the setting says so and nobody has forced the handoff. The words name the
// rule and the line, and never the secret.
func (r *handoffRun) checkSecrets(doc data.Document) error {
	found := r.settings.Secrets.Refused(string(doc.Bytes))
	if found == "" || r.h.Forced {
		return nil
	}
	return &data.DocumentError{Code: data.DocumentSecret, Message: fmt.Sprintf("handoff document %q seems to have secrets: %s", doc.Path, found)}
}

// askOnceMore reports whether the agent is asked once more, without a retry, for a document that has no secrets. A document that was put
// aside shows that it has been asked.
func askOnceMore(r *handoffRun) bool {
	_, err := os.Lstat(asideOf(r.h))
	return err != nil && !r.h.Retrying && r.h.Mode == daemon.ModeAgent && r.agent.Active()
}

// focusOf returns what a document should focus on, for whoever is asked for it. If the last one was put aside because of its secrets, that is said
// as well: the file is the fact, also after a crash.
func (d *Flow) focusOf(h *daemon.Handoff) string {
	focus, settings := strings.TrimSpace(h.Focus), d.Settings().Handoff
	doc, err := data.ReadDocument(d.Data.Handoffs(h.Persona), asideOf(h), settings.MaxDocumentBytes)
	if err != nil || h.Forced {
		return focus
	}
	if found := settings.Secrets.Refused(string(doc.Bytes)); found != "" {
		focus = strings.TrimSpace(fmt.Sprintf("%s\n\nThe last document, now %s, seems to have secrets: %s. Write it without them: say where they are kept in place of what they are.", focus, doc.Path, found))
	}
	return focus
}

// secretsWarning warns of the secrets in a document that is passed on.
func secretsWarning(settings *daemon.HandoffSettings, document []byte) []string {
	found := settings.Secrets.Seen(string(document))
	if found == "" {
		return nil
	}
	return []string{"The document seems to have secrets: " + found + "."}
}
