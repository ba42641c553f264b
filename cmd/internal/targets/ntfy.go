package targets

import (
	"context"
	"mime"
	"net/http"
	"strings"

	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/words"
)

const (
	maxNtfyTitle = 200  // runes
	maxNtfyText  = 1000 // runes: ntfy makes an attachment of more than 4096 bytes
)

// Ntfy publishes to a topic of ntfy. The key is the message's sequence id: a client of ntfy 2.16 or newer shows a
// repetition in place of the first.
type Ntfy struct {
	URL       string // of the topic
	URLFile   string // the file with the URL, in place of URL
	TokenFile string // the file with an access token; "": none is sent
}

// Send implements [tell.Target].
func (n *Ntfy) Send(ctx context.Context, m *tell.Message) error {
	address, err := addressIn(n.URL, n.URLFile)
	if err != nil {
		return err
	}
	h := http.Header{}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Title", headerText(words.Clip(m.Title, maxNtfyTitle)))
	h.Set("Priority", priorities[m.Level])
	h.Set("Tags", tags[m.Level])
	h.Set("X-Sequence-ID", m.Key)
	if link := headerText(m.Link); m.Link != "" {
		h.Set("Click", link)
		h.Set("Actions", "view, Open, "+link)
	}
	if n.TokenFile != "" {
		token, err := ReadSecret(n.TokenFile)
		if err != nil {
			return err
		}
		h.Set("Authorization", "Bearer "+token)
	}
	return post(ctx, address, []byte(words.Clip(withTwice(m), maxNtfyText)), h)
}

var (
	priorities = map[string]string{tell.LevelError: "high", "waiting": "default", "completed": "low", "test": "default"}
	tags       = map[string]string{tell.LevelError: "rotating_light", "waiting": "raised_hand", "completed": "white_check_mark", "test": "test_tube"}
)

// headerText makes a text fit for a header: ntfy decodes RFC 2047.
func headerText(s string) string { return mime.BEncoding.Encode("utf-8", words.Line(s)) }

// withTwice returns a message's text, and says if the receiver may have had it before.
func withTwice(m *tell.Message) string {
	if !m.MaybeTwice {
		return m.Text
	}
	return strings.TrimSpace(m.Text + " (You may have had this before.)")
}

// addressIn returns the address of a target: that of the settings, or the line of a file.
func addressIn(address, file string) (string, error) {
	if file == "" {
		return address, nil
	}
	address, err := ReadSecret(file)
	if err != nil {
		return "", err
	}
	if err := CheckURL(address); err != nil {
		return "", &fileError{file, err}
	}
	return address, nil
}

// fileError says what is wrong with the line of a file.
type fileError struct {
	file string
	err  error
}

func (e *fileError) Error() string { return "the line of " + e.file + " " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }
