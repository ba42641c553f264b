// follow reads the feed for ever. After each break it connects again with the id of the last event that it saw.
// It calls tell with each event and with each state of the connection: live, or the state of a Trouble.
//
// It uses fetch, because EventSource needs a listener for each type of event and cannot send a proof.

import { ask, forget } from './session.js';

const silence = 40_000; // ms without a byte after which follow drops the connection; the daemon sends a comment every 15 s

export async function follow(tell) {
  let last = null;
  let wait = 200;
  for (;;) {
    const cut = new AbortController();
    let timer;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => cut.abort(), silence);
    };
    let state = 'away';
    try {
      alive();
      const answer = await ask('/api/events', { headers: last === null ? {} : { 'Last-Event-ID': last }, signal: cut.signal });
      if (answer.ok) {
        tell({ state: 'live' });
        wait = 200;
        await read(answer.body, alive, (event) => {
          if (event.id !== undefined) last = event.id;
          if (event.data) tell({ event: JSON.parse(event.data) });
        });
      }
    } catch (trouble) {
      state = trouble.state ?? state; // an error without a state: the connection broke
    }
    clearTimeout(timer);
    cut.abort();
    forget(); // another program may now listen at the daemon's address
    tell({ state });
    if (state === 'signed-out') wait = 5000;
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 1.5, 3000);
  }
}

async function read(body, alive, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let event = {};
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        take(event);
        event = {};
      } else if (line.startsWith('id: ')) {
        event.id = line.slice(4);
      } else if (line.startsWith('data: ')) {
        event.data = (event.data ?? '') + line.slice(6);
      }
    }
  }
}
