package daemon

import "context"

type callerKey struct{}

// WithCaller notes in a context which part of the daemon makes calls with it. All lanes make the same calls; the simulation
// tells them apart by this note.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// Caller returns what WithCaller noted: "agent 7", "pipeline 3", "sweep", "spool", "hub", "teller", "retention" or
// "start"; "": it noted nothing.
func Caller(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

type readerKey struct{}

// AsReader marks a context of a request by which a person or a program reads. A store serves these apart from hooks and
// lanes, which must not wait for them.
func AsReader(ctx context.Context) context.Context { return context.WithValue(ctx, readerKey{}, true) }

// IsReader reports whether AsReader marked ctx.
func IsReader(ctx context.Context) bool { return ctx.Value(readerKey{}) != nil }
