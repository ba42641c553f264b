// watchScreen shows the screen of an agent's pane and updates it while the tab is visible.

import { ask } from './session.js';

const pause = 500; // ms between two requests
const shortPause = 40; // ms, for a while after a key was typed

let hurryUntil = 0;
let wake = null; // ends the pause that is under way

// hurry shows the screen at once, and often for the next two seconds.
export function hurry() {
  hurryUntil = performance.now() + 2000;
  wake?.();
}

export async function watchScreen(pre) {
  let shown = '';
  while (pre.isConnected) {
    if (document.visibilityState === 'visible' && pre.closest('details')?.open !== false) {
      try {
        const answer = await ask(pre.dataset.screen);
        const text = await answer.text();
        if (!answer.ok) throw new Error(JSON.parse(text).error);
        if (text !== shown) draw(pre, text);
        shown = text;
      } catch (error) {
        shown = '';
        pre.textContent = error.message;
      }
    }
    await new Promise((done) => {
      wake = done;
      setTimeout(done, performance.now() < hurryUntil ? shortPause : pause);
    });
  }
}

function draw(pre, html) {
  const fresh = new DOMParser().parseFromString(html, 'text/html').querySelector('pre');
  // The policy allows no style attribute in HTML. It allows a script to set a colour.
  for (const span of fresh.querySelectorAll('[data-f]')) span.style.color = span.dataset.f;
  for (const span of fresh.querySelectorAll('[data-g]')) span.style.background = span.dataset.g;
  const end = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 4;
  pre.replaceChildren(...fresh.childNodes);
  if (end) pre.scrollTop = pre.scrollHeight;
}
