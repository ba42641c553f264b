package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data/secrets"
	"github.com/understudyd/understudy/personas"
)

// Policy is the Content-Security-Policy of the pages.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Pages draws the pages. It is safe for concurrent use.
type Pages struct {
	*house.House
	Personas  *personas.Store
	Templates *personas.Templates
	Version   string
}

// Page is a page that is ready to be written.
type Page struct {
	Title string
	// Watch says which events of the feed change the page: "all", or words such as agent:7,
	// handoff:3 and pipeline:2.
	Watch string
	Here  string // the entry of the navigation to which the page belongs

	Version string
	Needs   int // how many agents, handoffs and pipelines need a person; shown in the title
	Now     time.Time
	Choices Choices

	name string // the name of its template
	Data any
}

// Choices are the values that the dialogs of every page offer.
type Choices struct {
	Personas  []string
	Templates []string
	Runtimes  []string
	InPlace   bool   // successors take the panes of their predecessors
	Cwd       string // the directory of a pipeline for which the operator names none
}

//go:embed html/*.html
var files embed.FS

// templates are parsed at the first request for a page, not when the program starts: the program can also run as a hook,
// and an agent waits for its hook at every turn.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(files, "html/*.html"))
})

// Write writes the whole page.
func (p *Page) Write(w io.Writer) error {
	var b bytes.Buffer // so that an error leaves nothing written, not half a page
	if err := templates().ExecuteTemplate(&b, "layout", p); err != nil {
		return fmt.Errorf("page %s: %w", p.name, err)
	}
	_, err := io.WriteString(w, words.Page(b.String())) // whatever field a text of others stands in
	return err
}

// Content draws the part of the page between its header and its end.
func (p *Page) Content() (template.HTML, error) {
	if p.name == "" {
		return "", nil // the page is only the frame
	}
	var b bytes.Buffer
	err := templates().ExecuteTemplate(&b, p.name, p)
	return template.HTML(masked(b.String())), err // the template has escaped its values
}

// texts matches a tag with the text behind it.
var texts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(<[^<>]*>)([^<>]+)`) })

// decided is what the tag has of a text by which a person decides what may be done. It is shown as it is: nobody may allow what they have not seen.
const decided = `class="text shown"`

// masked masks the secrets in the texts of a page, and not in its attributes, by which it acts. What is clipped, or drawn from Markdown, is
// masked before that: the rest of a secret is not recognised.
func masked(page string) string {
	if len(secrets.Find(html.UnescapeString(page))) == 0 {
		return page
	}
	return texts().ReplaceAllStringFunc(page, func(whole string) string {
		tag, text, _ := strings.Cut(whole, ">")
		plain := html.UnescapeString(text)
		if safe := secrets.Mask(plain); safe != plain && !strings.Contains(tag, decided) {
			return tag + ">" + html.EscapeString(safe)
		}
		return whole
	})
}

// page makes a page with the fields that all pages have.
func (p *Pages) page(name, title, here, watch string, data any) *Page {
	out := &Page{
		name: name, Title: secrets.Mask(title), Here: here, Watch: watch, Data: data, Version: p.Version, Now: time.Now().UTC(),
		Choices: Choices{Cwd: p.Daemon.Settings().Pipeline.Cwd, InPlace: p.Daemon.Settings().Handoff.InPlace, Runtimes: slices.Sorted(maps.Keys(p.Daemon.Settings().Runtimes))},
	}
	for _, persona := range p.Personas.List() {
		if !persona.Archived && persona.Problem == "" {
			out.Choices.Personas = append(out.Choices.Personas, persona.Slug)
		}
	}
	for _, t := range p.Templates.List() {
		if t.Problem == "" {
			out.Choices.Templates = append(out.Choices.Templates, t.Name)
		}
	}
	return out
}
