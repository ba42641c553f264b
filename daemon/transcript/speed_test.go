package transcript

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

type largeCase struct {
	name                       string
	turn                       func() func(int) string
	messages, edited, warnings int // how many Read finds
}

var largeTranscripts = []largeCase{{"workday", transcripttest.Workday, 50, 60, 0}, {"files", transcripttest.LargeFiles, 0, 48, 0}, {"garbage", transcripttest.Garbage, 0, 0, 1}}

// handoffWant is what a handoff asks for with the default settings.
var handoffWant = Want{Messages: 50, MaxBytes: 1_000_000, Edited: true, Until: "handoff_a_b_1_00c0ffee"}

func TestMemoryDoesNotGrowWithTheTranscript(t *testing.T) { // not parallel: it measures the memory of the process
	const most = 32 // MB
	for _, tt := range largeTranscripts {
		path := transcripttest.Large(t, tt.turn())
		debug.FreeOSMemory()
		before := held()
		got, err := Read(t.Context(), claude.Runtime, path, handoffWant)
		if grown := (held() - before) >> 20; grown > most {
			t.Errorf("%s: %d MB more than before", tt.name, grown)
		}
		if err != nil || len(got.Warnings) != tt.warnings || len(got.Messages) != tt.messages || len(got.Edited) != tt.edited {
			t.Errorf("%s: %d messages, %d files, %q, %v", tt.name, len(got.Messages), len(got.Edited), got.Warnings, err)
		}
	}
}

// held returns how many bytes the heap has taken from the system and not given back.
func held() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys - m.HeapReleased)
}

func BenchmarkReadTranscript(b *testing.B) {
	for _, bb := range append(largeTranscripts, largeCase{name: "talk", turn: transcripttest.LongTalk}) {
		b.Run(bb.name, func(b *testing.B) {
			path := transcripttest.Large(b, bb.turn())
			b.SetBytes(transcripttest.LargeTranscript)
			b.ReportAllocs()
			for b.Loop() {
				wardentest.Value(Read(b.Context(), claude.Runtime, path, handoffWant))(b)
			}
		})
	}
}
