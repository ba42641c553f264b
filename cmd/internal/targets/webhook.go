package targets

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/understudyd/understudy/daemon/tell"
)

// Webhook posts to a URL that takes Slack's messages: Slack, Mattermost, Discord's /slack address, or a program. The
// member "understudy" has the whole notification for programs; the others ignore it. The key is in Idempotency-Key.
type Webhook struct {
	URLFile   string // the file with the URL, which is a secret
	TokenFile string // the file with a token for Authorization; "": none is sent
}

// Send implements [tell.Target].
func (w *Webhook) Send(ctx context.Context, m *tell.Message) error {
	address, err := addressIn("", w.URLFile)
	if err != nil {
		return err
	}
	text := "*" + slackText(m.Title) + "*\n" + slackText(withTwice(m))
	if m.Link != "" {
		text += "\n<" + slackText(m.Link) + "|Open>"
	}
	body, err := json.Marshal(map[string]any{"text": text, "understudy": m})
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Idempotency-Key", m.Key)
	if w.TokenFile != "" {
		token, err := ReadSecret(w.TokenFile)
		if err != nil {
			return err
		}
		h.Set("Authorization", "Bearer "+token)
	}
	return post(ctx, address, body, h)
}

// slackText escapes what Slack's format would take for a mention or a link.
func slackText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
