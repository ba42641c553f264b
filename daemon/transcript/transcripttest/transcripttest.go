// Package transcripttest writes transcripts for tests: single lines, and files as large as after days of work.
package transcripttest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// LargeTranscript is the size of a transcript after days of work.
const LargeTranscript = 50 << 20 // bytes

// Large makes a transcript of the size LargeTranscript from the texts that turn returns. For the same turn it is always the
// same. Large makes only a tenth in this process and then copies that tenth ten times with the system's help, because the
// race detector slows down each byte that passes through this process.
func Large(t testing.TB, turn func(i int) string) string {
	t.Helper()
	var part strings.Builder
	for i := 0; part.Len() < LargeTranscript/10; i++ {
		part.WriteString(turn(i))
	}
	tenth := File(t, part.String())
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

// source returns text like the output of a tool: Go code, with many characters that JSON must escape.
func source(bytes int) string {
	const lines = "\tif err := s.move(ctx, id, \"requested\", \"instructed\"); err != nil {\n\t\treturn fmt.Errorf(\"handoff %d: %w\", id, err)\n\t}\n"
	return strings.Repeat(lines, bytes/len(lines)+1)[:bytes]
}

// Workday returns turns like those of a day of work. Nine tenths of a turn are outputs of tools, each of which stands in
// its line twice.
func Workday() func(int) string {
	random := rand.New(rand.NewPCG(1, 2))
	return func(i int) string {
		var b strings.Builder
		b.WriteString(User(fmt.Sprintf("Turn %d: please look at this.", i)))
		for call := range 8 {
			id := fmt.Sprintf("%d_%d", i, call)
			b.WriteString(Text("msg_"+id, source(100+random.IntN(400))))
			if call%4 == 0 {
				b.WriteString(Write(id, fmt.Sprintf("pkg/file%d.go", random.IntN(300)), source(random.IntN(4000))))
			} else {
				b.WriteString(Answer("msg_"+id, `{"id":"`+id+`","input":{"command":"go test ./..."},"name":"Bash","type":"tool_use"}`, 1000*i))
			}
			b.WriteString(Result(id, source(random.IntN(16000)), false))
		}
		return b.String()
	}
}

// LargeFiles returns turns that only write large files: the worst case for finding edits.
func LargeFiles() func(int) string {
	content := source(100_000)
	return func(i int) string { return Write(fmt.Sprint(i), fmt.Sprintf("pkg/file%d.go", i), content) }
}

// Garbage returns turns that are NUL bytes, so the file is no transcript.
func Garbage() func(int) string {
	return func(int) string { return strings.Repeat("\x00", 1<<20) }
}

// LongTalk returns turns that have only text: the worst case for messages.
func LongTalk() func(int) string {
	text := source(2000)
	return func(i int) string { return User(text) + Text(fmt.Sprint(i), text) }
}

func jsonText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// User returns the line of a prompt.
func User(text string) string {
	return `{"isSidechain":false,"type":"user","message":{"role":"user","content":` + jsonText(text) + `},"timestamp":"2026-11-20T12:00:00Z"}` + "\n"
}

func Text(id, text string) string {
	return Answer(id, `{"text":`+jsonText(text)+`,"type":"text"}`, 1000)
}

func Write(id, path, content string) string {
	return Answer("msg_"+id, `{"id":"`+id+`","input":{"file_path":`+jsonText(path)+`,"content":`+jsonText(content)+`},"name":"Write","type":"tool_use"}`, 1000)
}

func Answer(id, block string, used int) string {
	return fmt.Sprintf(`{"isSidechain":false,"message":{"content":[%s],"id":%q,"model":"m","role":"assistant","usage":{"input_tokens":%d}},"type":"assistant","timestamp":"2026-11-20T12:00:01Z"}`+"\n", block, id, used)
}

func Result(call, text string, failed bool) string {
	return fmt.Sprintf(`{"isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%s,"is_error":%v}]},"timestamp":"2026-11-20T12:00:02Z","toolUseResult":{"stdout":%[2]s}}`+"\n",
		call, jsonText(text), failed)
}

func File(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
