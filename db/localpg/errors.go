package localpg

import "errors"

// The kinds of error that callers branch on. The text of an error of these kinds
// is one sentence for the person in front of the terminal.
var (
	// ErrMissing: no usable PostgreSQL is installed.
	ErrMissing = errors.New("PostgreSQL is not installed")
	// ErrVersion: the cluster was made by a major version that is not installed.
	ErrVersion = errors.New("PostgreSQL of another major version")
	// ErrInUse: another process manages the folder.
	ErrInUse = errors.New("PostgreSQL folder in use")
	// ErrBarred: the server's account cannot reach the folder, or may not own it.
	ErrBarred = errors.New("PostgreSQL folder out of reach")
)

// refusal is an error of one of the kinds above. Its text is a complete sentence.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.kind }
