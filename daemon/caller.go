package daemon

import "context"

type callerKey struct{}

// WithCaller notes in a context the name of the part of the daemon that makes calls with it. All lanes make the same calls;
// the simulation tells the lanes apart by this name.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// Caller returns the name that WithCaller noted: "agent 7", "pipeline 3", "sweep", "spool", "hub", "teller", "pusher", "retention" or
// "start"; "", if there is none.
func Caller(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

type readerKey struct{}

// AsReader marks the context of a request in which a person or a program only reads. A store serves such requests apart
// from hooks and lanes, so that hooks and lanes never wait for them.
func AsReader(ctx context.Context) context.Context { return context.WithValue(ctx, readerKey{}, true) }

// IsReader reports whether AsReader marked ctx.
func IsReader(ctx context.Context) bool { return ctx.Value(readerKey{}) != nil }
