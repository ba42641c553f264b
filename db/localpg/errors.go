package localpg

import "errors"

// What a caller may want to tell apart. The error's own text is one sentence
// for the person in front of the terminal.
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

// refusal is a complete sentence that is one of the kinds above.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.kind }
