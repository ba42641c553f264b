package dashboard

import (
	"bytes"
	"fmt"
	"net/http"
)

// failed is the data of the error page.
type failed struct {
	Status  int
	Title   string
	Message string
}

// Failed is the error page; message says why the requested page cannot be shown.
func (p *Pages) Failed(status int, message string) *Page {
	title := http.StatusText(status)
	return p.page("failed", title, "", "all", failed{status, title, message})
}

// SignIn is the page that a link to the dashboard opens. key is that of the link; "": the browser is signed in already. Its script signs the
// browser in when the button is pressed, stores the key of the login for the pages of its address, and then opens the first page.
func SignIn(key string) []byte { return plain("sign-in", key) }

// SignedOut is the page for a browser that is not signed in: it says how to get a link to this device. spent says that it has come with a link
// that works no more.
func SignedOut(spent bool) []byte { return plain("signed-out", spent) }

// Frame is the part that all pages have in common. Its script asks for the rest of the page, with the key.
func Frame() []byte { return plain("layout", &Page{Title: "understudy", Watch: "all"}) }

// plain draws a page whose template cannot fail.
func plain(name string, data any) []byte {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(fmt.Sprintf("dashboard: page %s: %v", name, err))
	}
	return b.Bytes()
}
