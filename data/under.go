package data

import "slices"

// Under is what stands under a heading of a document.
type Under struct {
	Own  string // in the heading's own line, behind the title: "## Verdict: ready"
	Text string // all that stands under the heading up to the next one of any kind, with Own
}

// AllUnder returns what stands under each heading of a document with that title, in order; nil: the document has none. The
// headings are found however a model has written them; see heading.go.
func AllUnder(document, title string) (all []Under) {
	o := readOutline(document)
	for _, p := range o.parts(string(appendKey(nil, title))) {
		if p.which == 0 {
			all = append(all, Under{Own: o.own(p), Text: o.under(p)})
		}
	}
	return all
}

// SameHeading reports whether two titles count as equal: their letters and digits are, without letter case.
func SameHeading(a, b string) bool { return string(appendKey(nil, a)) == string(appendKey(nil, b)) }

// Standard reports whether a title is that of a field which [Extract] finds.
func Standard(title string) bool {
	key := string(appendKey(nil, title))
	return slices.ContainsFunc((&Structured{}).fields(), func(f field) bool { return f.key == key })
}
