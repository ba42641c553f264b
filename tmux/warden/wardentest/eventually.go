package wardentest

import (
	"reflect"
	"testing"
	"time"
)

// Eventually waits, at most 30 seconds, for something that another process is about to do.
func Eventually(t testing.TB, what string, happened func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !happened() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// Must ends the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
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
