package wardentest

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// Must ends the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value returns the result of a call that must not fail: Value(f())(t).
func Value[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Must(t, err)
		return v
	}
}

// WantErr reports an error that is missing, or that is not as each of wants says: a text that its sentence has, or an error that it wraps.
func WantErr(t testing.TB, what string, err error, wants ...any) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one: %v", what, wants)
		return
	}
	for _, want := range wants {
		ok := false
		switch want := want.(type) {
		case string:
			ok = strings.Contains(err.Error(), want)
		case error:
			ok = errors.Is(err, want)
		}
		if !ok {
			t.Errorf("%s: error\n%v\nwant\n%v", what, err, want)
		}
	}
}

// Failed is [WantErr] for a call with a result: Failed(f())(t, what, wants).
func Failed[T any](_ T, err error) func(t testing.TB, what string, wants ...any) {
	return func(t testing.TB, what string, wants ...any) {
		t.Helper()
		WantErr(t, what, err, wants...)
	}
}

// Equal reports what is another value than it should be.
func Equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	verb := "%+v"
	switch got.(type) {
	case string, []string, []byte:
		verb = "%q" // shows blanks and the ends of lines
	}
	t.Errorf("%s:\n got "+verb+"\nwant "+verb, what, got, want)
}

// Holds reports each part that a text lacks.
func Holds(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: no %q in\n%s", what, part, text)
		}
	}
}
