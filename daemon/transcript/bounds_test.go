package transcript

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
)

// The operator is told that there is more.
func TestReadReadsTheNewestFarBytes(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 100 {
		text.WriteString(transcripttest.Write(fmt.Sprint(i), fmt.Sprintf("/work/%d.go", i), "x"))
	}
	path := transcripttest.File(t, text.String())
	want := Want{Messages: 5, Edited: true}
	all, err := Read(t.Context(), claude.Runtime, path, want)
	if err != nil || len(all.Edited) != 100 || len(all.Warnings) != 0 {
		t.Errorf("%d files, %q, %v", len(all.Edited), all.Warnings, err)
	}
	want.Far = int64(text.Len() / 2)
	half, err := Read(t.Context(), claude.Runtime, path, want)
	if n := len(half.Edited); err != nil || n < 40 || n > 60 || !slices.Contains(half.Edited, "/work/99.go") {
		t.Errorf("%d files of half a transcript, %v", n, err)
	}
	if len(half.Warnings) != 1 || !strings.Contains(half.Warnings[0], "only the newest") {
		t.Errorf("warnings %q", half.Warnings)
	}
}
