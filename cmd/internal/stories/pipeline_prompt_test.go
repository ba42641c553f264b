package stories

import (
	"encoding/json"
)

// quoted is a text as a template holds it in one line.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const (
	structured = "# Report\n\n## What Was Done\n\nThe roof is mended.\n\n## Decisions Made\n- Slate: it lasts\n- No gutter: too dear\n\n## Open Questions\n\nWho pays?\n\n## Next Agent Context\n\nLook at the chimney."
	asHeader   = "## Handoff from previous step (developer)\n\n**What was done**: The roof is mended.\n\n**Decisions made**:\n- Slate: it lasts\n- No gutter: too dear\n\n**Open questions**:\nWho pays?\n\n**Your task**: Look at the chimney."
)
