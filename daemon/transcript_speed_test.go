package daemon

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// largeTranscript is the size of a transcript after days of work.
const largeTranscript = 50 << 20 // bytes

// writeTranscript makes a large transcript of what turn writes, always the same. A tenth of it is
// made, and repeated by the system, for the race detector looks at each byte that passes through this process.
func writeTranscript(t testing.TB, turn func(i int) string) string {
	t.Helper()
	var part strings.Builder
	for i := 0; part.Len() < largeTranscript/10; i++ {
		part.WriteString(turn(i))
	}
	tenth := transcriptFile(t, part.String())
	whole, err := os.Create(filepath.Join(t.TempDir(), "whole.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	for range 10 {
		if err := appendFile(whole, tenth); err != nil {
			t.Fatal(err)
		}
	}
	return whole.Name()
}

func appendFile(to *os.File, path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(to, from)
	return err
}

// source is what a tool returns: Go, as JSON has to escape it.
func source(bytes int) string {
	const lines = "\tif err := s.move(ctx, id, \"requested\", \"instructed\"); err != nil {\n\t\treturn fmt.Errorf(\"handoff %d: %w\", id, err)\n\t}\n"
	return strings.Repeat(lines, bytes/len(lines)+1)[:bytes]
}

// workday is the mix of a day of work: what tools returned is nine tenths of it, twice each.
func workday() func(int) string {
	random := rand.New(rand.NewPCG(1, 2))
	return func(i int) string {
		var b strings.Builder
		b.WriteString(lineUser(fmt.Sprintf("Turn %d: please look at this.", i)))
		for call := range 8 {
			id := fmt.Sprintf("%d_%d", i, call)
			b.WriteString(lineText("msg_"+id, source(100+random.IntN(400))))
			if call%4 == 0 {
				b.WriteString(lineWrite(id, fmt.Sprintf("pkg/file%d.go", random.IntN(300)), source(random.IntN(4000))))
			} else {
				b.WriteString(lineAnswer("msg_"+id, `{"id":"`+id+`","input":{"command":"go test ./..."},"name":"Bash","type":"tool_use"}`, 1000*i))
			}
			b.WriteString(lineResult(id, source(random.IntN(16000)), false))
		}
		return b.String()
	}
}

// largeFiles is the worst case for finding edits: little but large files that were written.
func largeFiles() func(int) string {
	content := source(100_000)
	return func(i int) string { return lineWrite(fmt.Sprint(i), fmt.Sprintf("pkg/file%d.go", i), content) }
}

// garbage is no transcript at all.
func garbage() func(int) string {
	return func(int) string { return strings.Repeat("\x00", 1<<20) }
}

// longTalk is the worst case for messages: nothing but text.
func longTalk() func(int) string {
	text := source(2000)
	return func(i int) string { return lineUser(text) + lineText(fmt.Sprint(i), text) }
}

type largeCase struct {
	name                       string
	turn                       func() func(int) string
	messages, edited, warnings int // what is found
}

var largeTranscripts = []largeCase{{"workday", workday, 50, 60, 0}, {"files", largeFiles, 0, 48, 0}, {"garbage", garbage, 0, 0, 1}}

// handoffWant is what a handoff asks for with the settings of the contract.
var handoffWant = transcriptWant{Messages: DefaultHandoff.MaxMessages, MaxBytes: DefaultHandoff.MaxContextBytes, Edited: true, Until: "handoff_a_b_1_00c0ffee"}

// TestLargeTranscript: memory does not grow with the transcript.
func TestLargeTranscript(t *testing.T) { // not parallel: it measures the memory of the process
	const most = 32 // MB
	for _, tt := range largeTranscripts {
		path := writeTranscript(t, tt.turn())
		debug.FreeOSMemory()
		before := held()
		got, err := readTranscript(t.Context(), path, handoffWant)
		if grown := (held() - before) >> 20; grown > most {
			t.Errorf("%s: %d MB more than before", tt.name, grown)
		}
		if err != nil || len(got.Warnings) != tt.warnings || len(got.Messages) != tt.messages || len(got.Edited) != tt.edited {
			t.Errorf("%s: %d messages, %d files, %q, %v", tt.name, len(got.Messages), len(got.Edited), got.Warnings, err)
		}
	}
}

// held is the memory that the heap has from the system and did not give back, in bytes.
func held() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys - m.HeapReleased)
}

func BenchmarkReadTranscript(b *testing.B) {
	for _, bb := range append(largeTranscripts, largeCase{name: "talk", turn: longTalk}) {
		b.Run(bb.name, func(b *testing.B) {
			path := writeTranscript(b, bb.turn())
			b.SetBytes(largeTranscript)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readTranscript(b.Context(), path, handoffWant); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
