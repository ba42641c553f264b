// takeKeys sends what a person types on the live screen to the agent's pane, while the switch is on. The switch is off at each
// load of the page. Keys go in batches with ascending numbers, one batch after the other, so the daemon types each key once and in
// order, whatever happens to the connection.

import { call } from './actions.js';
import { hurry } from './screen.js';

const beat = 5000; // ms; the daemon ends the session when the page says nothing for 15 s
const most = 100; // items of a batch
const chunk = 240; // characters of a text: at most 1000 bytes
const patience = [100, 300, 1000, 2000, 3000]; // ms before a batch whose answer was lost is sent again

const named = {
  Enter: 'Enter', Escape: 'Escape', Backspace: 'Backspace', Delete: 'Delete', ArrowUp: 'Up', ArrowDown: 'Down', ArrowLeft: 'Left',
  ArrowRight: 'Right', Home: 'Home', End: 'End', PageUp: 'PageUp', PageDown: 'PageDown',
};

const rest = (ms) => new Promise((done) => { setTimeout(done, ms); });

// itemOf returns what a pressed key means for the pane; null: the key is the browser's.
function itemOf(event) {
  if (event.isComposing || event.metaKey || event.altKey && event.key.length > 1) return null;
  if (event.ctrlKey && !event.altKey) return event.key === 'c' && getSelection().isCollapsed ? { key: 'Ctrl-C' } : null;
  if (event.key === 'Tab') return { key: event.shiftKey ? 'BackTab' : 'Tab' };
  if (named[event.key]) return { key: named[event.key] };
  return [...event.key].length === 1 ? { text: event.key } : null;
}

// itemsOf returns a text as items. Line breaks would submit it in the middle.
function itemsOf(text) {
  const all = [...text.replaceAll(/[\s\p{Cc}]+/gu, ' ')];
  const items = [];
  for (let at = 0; at < all.length; at += chunk) items.push({ text: all.slice(at, at + chunk).join('') });
  return items;
}

export function takeKeys(box) {
  const path = box.dataset.keys;
  const knob = box.querySelector('[role=switch]');
  const pad = box.querySelector('.keypad');
  const field = pad.querySelector('input');
  const said = box.querySelector('.failed');
  const screen = document.getElementById('screen');
  let session = null;
  let seq = 0;
  let waiting = [];
  let sending = false;
  let timer = 0;

  const show = (on) => {
    knob.checked = on;
    pad.hidden = !on;
    screen.toggleAttribute('data-takes', on);
  };

  // over ends the session on this page, and says why.
  const over = (why) => {
    clearInterval(timer);
    session = null;
    waiting = [];
    show(false);
    said.textContent = why;
  };

  const end = () => {
    const was = session;
    if (!was) return;
    over('');
    call(`DELETE ${path}`, { session: was }).catch(() => {}); // the daemon ends a session whose page says nothing
  };

  // post sends a batch until there is an answer. It returns the error of an answer.
  async function post(batch) {
    for (const pause of [...patience, 0]) {
      try {
        await call(`POST ${path}`, batch);
        return null;
      } catch (error) {
        if (error.code || !pause || session !== batch.session) return error;
        said.textContent = 'The daemon does not answer: your keys wait';
        await rest(pause);
      }
    }
    return null;
  }

  async function flush() {
    if (sending) return;
    sending = true;
    while (session && waiting.length) {
      const keys = waiting.splice(0, most);
      seq += 1;
      const error = await post({ session, seq, keys });
      hurry();
      if (error && !error.code) over('The daemon does not answer. It is not known whether your last keys were typed: look at the screen');
      else if (error && ['keys_off', 'keys_out_of_order', 'keys_forbidden'].includes(error.code)) over(error.message);
      else if (error) {
        waiting = []; // they were typed for another screen
        said.textContent = error.message;
      } else said.textContent = '';
    }
    sending = false;
  }

  const type = (...items) => {
    if (!session) return;
    for (const item of items) {
      const last = waiting.at(-1);
      if (item.text && last?.text && last.text.length + item.text.length <= chunk) last.text += item.text;
      else waiting.push({ ...item });
    }
    flush();
  };

  async function begin() {
    said.textContent = '';
    try {
      ({ session } = await call(`PUT ${path}`));
    } catch (error) {
      over(error.message);
      return;
    }
    seq = 0;
    show(true);
    timer = setInterval(() => {
      if (!sending) call(`POST ${path}`, { session }).catch((error) => error.code && over(error.message));
    }, beat);
    if (matchMedia('(pointer: coarse)').matches) field.focus();
    else screen.focus();
  }

  knob.checked = false;
  knob.addEventListener('change', () => (knob.checked ? begin() : end()));
  screen.addEventListener('keydown', (event) => {
    if (!session) return;
    if (event.shiftKey && event.key === 'Escape') {
      event.preventDefault();
      end();
      knob.focus();
      return;
    }
    const item = itemOf(event);
    if (!item) return;
    event.preventDefault();
    type(item);
  });
  screen.addEventListener('paste', (event) => {
    if (!session) return;
    event.preventDefault();
    type(...itemsOf(event.clipboardData.getData('text/plain')));
  });
  const typeField = (...more) => {
    type(...itemsOf(field.value), ...more);
    field.value = '';
  };
  pad.addEventListener('submit', (event) => {
    event.preventDefault();
    typeField({ key: 'Enter' });
  });
  pad.addEventListener('pointerdown', (event) => event.target.closest('button') && event.preventDefault()); // the focus stays
  pad.addEventListener('click', (event) => {
    const button = event.target.closest('button[type=button]');
    if (!button) return;
    if (button.dataset.key) type({ key: button.dataset.key });
    else if (button.dataset.text) type({ text: button.dataset.text });
    else typeField();
  });
  document.addEventListener('visibilitychange', () => document.visibilityState === 'hidden' && end());
  addEventListener('pagehide', end);
}
