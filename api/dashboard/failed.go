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

// Login is the page that a link to the dashboard leads to: it goes on to the first page, or says how to
// get a link that works.
func Login(good bool) []byte {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, "login", good); err != nil {
		panic(fmt.Sprintf("dashboard: the page has no data that could be wrong: %v", err))
	}
	return b.Bytes()
}
