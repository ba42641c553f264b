package dashboard

import (
	"bytes"
	"fmt"
	"net/http"
)

// failed is a page that could not be drawn.
type failed struct {
	Status  int
	Title   string
	Message string
}

// Failed is the page for what could not be shown; message says why.
func (p *Pages) Failed(status int, message string) *Page {
	title := http.StatusText(status)
	return p.page("failed", title, "", "all", failed{status, title, message})
}

// SignedIn is the page that a link to the dashboard leads to. It keeps the key, unless that is empty, with
// the pages of its address, and goes on to the first one.
func SignedIn(key string) []byte { return plain("signed-in", key) }

// SignedOut is the page for whoever may not see the others: it says how to get a link.
func SignedOut() []byte { return plain("signed-out", nil) }

// Frame is what all pages have in common. The script in it asks for the rest, with the key.
func Frame() []byte { return plain("layout", &Page{Title: "understudy", Watch: "all"}) }

// plain draws a page without anything that could go wrong.
func plain(name string, data any) []byte {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(fmt.Sprintf("dashboard: page %s: %v", name, err))
	}
	return b.Bytes()
}
