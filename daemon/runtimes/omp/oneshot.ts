// The extension that understudy gives a copy of a session that is asked a question. The copy keeps its tools, because some
// APIs refuse a conversation with calls of tools if the request offers none. But it may use none.
export default function understudy(pi: any) {
	pi.on("tool_call", async () => ({
		block: true,
		reason: "This is a handoff being written: answer with the document, use no tools.",
	}));
}
