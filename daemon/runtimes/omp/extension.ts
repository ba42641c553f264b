// The extension that understudy gives oh-my-pi for one launch. It tells the daemon what happens in the session, holds the
// end of a turn if the daemon answers with an instruction, and submits the texts that the daemon puts into the inbox.
//
// It tells by running our hook program as a child of this process, which spools what the daemon does not take and proves
// which process speaks. Events are told one after the other, in the order in which they happened. Nothing here may throw,
// and only the ends of a turn and of the session, and a compaction, wait for an answer, which comes within seconds.
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

const HOOK: string = "@HOOK@";
const INBOX: string = "@INBOX@";

const POLL = 50; // ms; fs.watch reports nothing inside oh-my-pi
const ANSWER = 12_000; // ms; the hook program gives up by itself after 10 s
const LAST = 1_500; // ms; oh-my-pi waits 2 s for the handlers of session_shutdown
const SETTLED = 2_000; // ms without work after which a turn that was to go on has ended
const START = 10_000; // ms from a submitted text to its turn, after which another text may be submitted

export default function understudy(pi: any) {
	let ctx: any; // of the session in the pane
	let told: Promise<unknown> = Promise.resolve(); // the events told so far
	let events = 0;
	let turns = 0;
	let turn = ""; // the id of the running or last turn
	let given = ""; // the id of the last turn that a person or the daemon has begun; others begin by themselves
	let running = false; // a turn runs
	let typed = false; // a person has submitted a text, and no turn has taken it
	let sent = 0; // when the extension submitted a text that no turn has taken; 0: none
	let held = ""; // the daemon's instruction, with which no turn has gone on yet
	let goesOn = false; // the turn goes on with the daemon's instruction
	let stopped = false; // the end of the turn was told by session_stop
	let last: any; // the last answer of the running turn
	let pauses = 0; // compactions and waits before a retry that have begun and not ended
	let asked = 0; // when the newest request to the model was begun
	let retries = 0; // when the first of the requests was begun that oh-my-pi sends again; 0: it sends none again
	let quiet = 0; // since when the turn has no work; 0: it has some
	let automatic = false; // the coming compaction is oh-my-pi's own idea
	let ending = "prompt_input_exit"; // why the session ends
	let complained = false;
	const asking = new Map<string, { name: string; input: unknown }>(); // open dialogs, by the tool call's id
	const calls = new Map<string, unknown>(); // the inputs of the newest tool calls

	// run runs the hook program once, and returns its answer.
	function run(event: string, body: string): Promise<any> {
		return new Promise(resolve => {
			let out = "";
			let timer: any;
			const end = (answer: any) => {
				clearTimeout(timer);
				resolve(answer);
			};
			const failed = (error: any) => {
				if (!complained) {
					complained = true;
					try {
						ctx.ui.notify(`understudy is not told what happens here: ${HOOK}: ${error?.message ?? error}`, "error");
					} catch {}
				}
				end(undefined);
			};
			try {
				const child = spawn(HOOK, ["hook", "--runtime", "omp", event], { stdio: ["pipe", "pipe", "ignore"] });
				timer = setTimeout(() => {
					child.kill("SIGTERM"); // it spools the event
					end(undefined);
				}, ANSWER);
				child.on("error", failed);
				child.stdin.on("error", () => {});
				child.stdout.on("data", (part: any) => {
					out += part;
				});
				child.on("close", () => {
					try {
						end(out.trim() ? JSON.parse(out) : undefined);
					} catch {
						end(undefined);
					}
				});
				child.stdin.end(body);
			} catch (error) {
				failed(error);
			}
		});
	}

	// tell tells an event after those before it, and returns the daemon's answer.
	function tell(event: string, c: any, fields: object = {}): Promise<any> {
		let body = "{}";
		try {
			const usage = c.getContextUsage?.();
			body = JSON.stringify({
				session_id: c.sessionManager?.getSessionId?.(),
				session_file: c.sessionManager?.getSessionFile?.(),
				cwd: c.cwd,
				turn_id: turn,
				event: ++events, // no two events have the same text
				at: Date.now(),
				usage: usage && { tokens: usage.tokens, window: usage.contextWindow },
				...fields,
			});
		} catch {}
		const answer = told.then(() => run(event, body));
		told = answer;
		return answer;
	}

	// on adds a handler for events of the session in the pane. A sub-agent has its own session, without a screen.
	function on(event: string, handler: (event: any, c: any) => unknown) {
		pi.on(event, async (e: any, c: any) => {
			try {
				if (c.hasUI) {
					ctx = c;
					return await handler(e, c);
				}
			} catch {}
		});
	}

	function textOf(message: any): string {
		if (typeof message?.content === "string") return message.content;
		return (message?.content ?? [])
			.filter((block: any) => block.type === "text")
			.map((block: any) => block.text)
			.join("\n");
	}

	// ask tells which dialog is open now, if one is.
	function ask(c: any) {
		const dialog = [...asking.values()].pop();
		if (dialog) tell("DialogOpened", c, { tool_name: dialog.name, tool_input: dialog.input });
		else tell("DialogClosed", c);
	}

	function idle(): boolean {
		return ctx.isIdle() && !ctx.hasPendingMessages() && Date.now() - sent > START;
	}

	function submit(text: string) {
		sent = Date.now();
		pi.sendUserMessage(text);
	}

	// take renames a file of the inbox, so that nobody acts on it a second time.
	function take(file: string): boolean {
		const taken = `${file}.taken`;
		if (fs.existsSync(taken)) {
			fs.rmSync(file, { force: true });
			return false;
		}
		try {
			fs.renameSync(file, taken);
			return true;
		} catch {
			return false; // the daemon has taken it back
		}
	}

	// answered tells that the model answers again.
	function answered(c: any) {
		if (!retries) return;
		retries = 0;
		tell("RetryEnded", c);
	}

	// over tells that the turn has ended and nothing can hold it.
	function over(c: any) {
		running = false;
		stopped = false;
		retries = 0;
		quiet = 0;
		asking.clear();
		const active = goesOn;
		goesOn = false;
		tell("TurnEnded", c, {
			message: textOf(last),
			stop_reason: last?.stopReason,
			stop_hook_active: active,
			error: last?.errorMessage,
			error_status: last?.errorStatus,
			jobs: c.getAsyncJobSnapshot?.()?.running?.length,
		}).then(answer => {
			if (answer?.decision === "block" && answer.reason) held = answer.reason; // poll submits it
		});
	}

	// settle ends a turn that agent_end said would go on, and that does not: so it is after a compaction, and while only a
	// background job runs.
	function settle() {
		if (!running || pauses > 0 || asking.size > 0 || !ctx.isIdle() || ctx.hasPendingMessages()) quiet = 0;
		else if (!quiet) quiet = Date.now();
		else if (Date.now() - quiet > SETTLED) over(ctx);
	}

	function poll() {
		try {
			settle();
			const names = fs.readdirSync(INBOX).filter(name => name.endsWith(".json"));
			if ((names.length === 0 && !held) || !idle()) return;
			if (held && !running) {
				const text = held;
				held = "";
				goesOn = true;
				submit(text);
				return;
			}
			names.sort((a, b) => Number.parseInt(a) - Number.parseInt(b));
			for (const name of names) {
				const file = path.join(INBOX, name);
				const wanted = JSON.parse(fs.readFileSync(file, "utf8"));
				if (wanted.exit) {
					fs.rmSync(file); // it fails if the daemon has taken it back
					const later = wanted.turn !== undefined && turn && wanted.turn !== given && wanted.turn !== turn;
					if (!later) ctx.shutdown(); // a later turn may have done work of which the daemon did not know when it asked
					return;
				}
				if (!take(file)) continue;
				submit(wanted.text);
				return;
			}
		} catch {}
	}

	on("session_start", (_, c) => {
		tell("SessionStart", c, { reason: "startup" });
		for (const signal of ["SIGTERM", "SIGHUP", "SIGINT", "uncaughtException"]) {
			process.on(signal as any, () => {
				ending = "other";
			});
		}
		const all = globalThis as any; // a reload makes the extension anew
		clearInterval(all.understudyPoll);
		all.understudyPoll = setInterval(poll, POLL);
		all.understudyPoll.unref?.();
	});
	on("session_switch", (e, c) => {
		running = false;
		pauses = 0;
		asking.clear();
		tell("SessionStart", c, { reason: e.reason === "new" ? "clear" : e.reason });
	});
	on("session_branch", (_, c) => tell("SessionStart", c, { reason: "fork" }) && undefined);

	on("input", () => {
		typed = true;
	});
	on("before_agent_start", (e, c) => {
		const ours = sent > 0;
		sent = 0;
		if ((held && e.prompt === held) || (goesOn && ours)) {
			held = "";
			goesOn = true;
			running = true;
			return; // the answer to the turn's end has told the daemon
		}
		if (!running) {
			turn = `${process.pid}-${Date.now()}-${++turns}`;
			last = undefined;
		}
		running = true;
		if (ours || typed) given = turn;
		tell("PromptTaken", c, { prompt: e.prompt, background: !ours && !typed });
		typed = false;
	});
	on("agent_start", (_, c) => {
		if (!running) {
			running = true; // it goes on after a turn that has ended without a prompt
			tell("PromptTaken", c, { prompt: "", background: true });
		}
	});

	on("session_stop", async (e, c) => {
		last = e.last_assistant_message;
		if (last?.stopReason === "error") return; // agent_end tells it
		stopped = true;
		const answer = await tell("TurnEnded", c, {
			message: textOf(last),
			stop_reason: last?.stopReason,
			stop_hook_active: e.stop_hook_active || goesOn,
		});
		goesOn = false;
		if (answer?.decision === "block" && answer.reason) {
			held = answer.reason;
			return { decision: "block", reason: held };
		}
	});
	on("agent_end", (e, c) => {
		last = (e.messages ?? []).filter((m: any) => m.role === "assistant").pop();
		if (e.willContinue) {
			stopped = false;
		} else if (stopped && last?.stopReason !== "aborted") {
			running = false;
			stopped = false;
			asking.clear();
		} else {
			pauses = 0;
			over(c);
		}
	});
	on("turn_start", () => {
		asked = Date.now();
	});
	on("auto_retry_start", (e, c) => {
		pauses++;
		if (retries) return; // each further attempt begins so as well
		retries = asked || Date.now();
		tell("RetryStarted", c, { since: retries, error: e.errorMessage });
	});
	on("after_provider_response", (e, c) => {
		if (e.status < 400) answered(c);
	});
	on("auto_retry_end", (e, c) => {
		pauses = Math.max(0, pauses - 1);
		if (e.success) answered(c);
	});

	on("tool_execution_start", (e, c) => {
		calls.set(e.toolCallId, e.args);
		if (calls.size > 200) calls.delete(calls.keys().next().value as string);
		if (e.toolName === "ask") {
			asking.set(e.toolCallId, { name: e.toolName, input: e.args });
			ask(c);
		}
	});
	on("tool_execution_end", (e, c) => {
		calls.delete(e.toolCallId);
		if (asking.delete(e.toolCallId)) ask(c);
	});
	on("tool_approval_requested", (e, c) => {
		asking.set(e.toolCallId, { name: e.toolName, input: calls.get(e.toolCallId) });
		ask(c);
	});
	on("tool_approval_resolved", (e, c) => {
		if (asking.delete(e.toolCallId)) ask(c);
	});

	on("auto_compaction_start", () => {
		automatic = true;
		pauses++;
	});
	on("auto_compaction_end", () => {
		automatic = false;
		pauses = Math.max(0, pauses - 1);
	});
	on("session_before_compact", async (_, c) => {
		const trigger = automatic ? "auto" : "manual";
		automatic = false;
		const answer = await tell("Compacting", c, { reason: trigger });
		if (answer?.decision === "block") return { cancel: true };
	});
	on("session_compact", (_, c) => tell("SessionStart", c, { reason: "compact" }) && undefined);

	on("session_shutdown", async (_, c) => {
		clearInterval((globalThis as any).understudyPoll);
		tell("SessionEnd", c, { reason: ending });
		await Promise.race([told, new Promise(resolve => setTimeout(resolve, LAST))]);
	});
}
