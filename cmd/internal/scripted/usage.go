package scripted

import "strings"

// usage is the cost of an answer, in tokens. All fields but Output are parts of the context that the model got.
type usage struct {
	Input    int `json:"input_tokens"`
	Creation int `json:"cache_creation_input_tokens"`
	Read     int `json:"cache_read_input_tokens"`
	Output   int `json:"output_tokens"`
}

func (u usage) context() int { return u.Input + u.Creation + u.Read }

const (
	// baseTokens is about the size of Claude Code's own system prompt and tools.
	baseTokens = 14000
	// inputTokens is the number of tokens of each request that are in no cache.
	inputTokens = 4
)

// contextWindow returns the size of a model's context window in tokens.
func contextWindow(model string) int {
	if strings.Contains(model, "haiku") {
		return 200_000
	}
	return 1_000_000
}

// split returns the usage of a request with a context of n tokens. As in real usage, each of the three parts has a
// share. So a reader that ignores one of them gets a wrong sum.
func split(n, output int) usage {
	input := min(n, inputTokens)
	creation := (n - input) / 10
	return usage{Input: input, Creation: creation, Read: n - input - creation, Output: output}
}

// bill returns the usage of an answer that consists of this block.
func (t *transcript) bill(block fields) usage {
	output := 20
	if text, ok := block["text"].(string); ok {
		output = len(text)/4 + 1
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	u := usage{Input: inputTokens, Creation: t.tokens, Read: baseTokens, Output: output}
	if t.fixed > 0 {
		u = split(t.fixed, output)
	}
	t.tokens += output
	t.last = &u
	return u
}

// spend adds tokens to the context of the next answers.
func (t *transcript) spend(tokens int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens += tokens
}

// fix makes each later answer report a context of n tokens.
func (t *transcript) fix(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fixed = n
}

// used returns the size of the next request's context.
func (t *transcript) used() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fixed > 0 {
		return t.fixed
	}
	return inputTokens + t.tokens + baseTokens
}

// newest returns the usage of the newest answer, or nil before the first answer.
func (t *transcript) newest() *usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}
