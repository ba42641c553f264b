package runtimes

// Place says where a line of a transcript stands in a conversation that a person can take back to an earlier point. The
// runtimes only append, so the lines of a branch that was taken back stay in the file.
//
// Claude Code and oh-my-pi keep a tree: a line has an ID and names its Parent, and the conversation is the way from the
// newest line to the first one. Codex and Gemini CLI write a line that takes others back. The zero value is a line without a
// place: it belongs to the conversation if the lines around it do.
type Place struct {
	ID     string   // of this line in the tree; "": the line is not in a tree
	Parent string   // the line that this one follows; "": this one is the first, or Gap is true
	Gap    bool     // the line follows another one and does not say which: the one before it in the file
	Kept   []string // of a compaction: earlier lines that stayed in the context, so that later lines may follow these
	Result bool     // the line has results of tools: it may follow another answer than the line behind it says
	Tip    *string  // the line that the next one will follow, after a person took others back; "": there is none
	Turns  int      // how many of the newest prompts are taken back, with all that came after the oldest of them
	From   string   // this message is taken back, with all that came after it
	Name   string   // what the From of a later line calls this message
}
