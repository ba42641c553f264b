// The page follows what happens: when the feed tells of a change that it shows, it asks for itself again
// and puts what differs in place.

import { listen } from './actions.js';
import { morph } from './morph.js';

const pause = 100; // ms between two looks, however many events come
const light = document.getElementById('light');

let looking = false; // a look is under way
let again = false; // something has happened since it began
let lookedAt = 0;
let state = 'connecting';
let seenAt = new Date(); // when what is on screen was true

async function look() {
  if (looking) {
    again = true;
    return;
  }
  if (document.visibilityState !== 'visible') {
    again = true; // a tab that nobody sees costs nothing
    return;
  }
  looking = true;
  again = false;
  const wait = lookedAt + pause - performance.now();
  if (wait > 0) await new Promise((done) => setTimeout(done, wait));
  lookedAt = performance.now();
  const began = new Date();
  try {
    const answer = await fetch(location.href, { cache: 'no-store', headers: { Accept: 'text/html' } });
    if (answer.ok || answer.status === 404) {
      show(new DOMParser().parseFromString(await answer.text(), 'text/html'));
      seenAt = began;
    } else if (answer.status === 401) {
      tell('signed-out');
    } else {
      again = true; // the daemon says that it cannot answer now
      setTimeout(look, 1000);
    }
  } catch {
    tell('away'); // the feed's return has it look again
  }
  looking = false;
  if (again && state === 'live') look();
}

function show(fresh) {
  const before = needs();
  morph(document.getElementById('main'), fresh.getElementById('main'));
  document.title = fresh.title;
  document.body.dataset.watch = fresh.body.dataset.watch;
  filter();
  tick();
  prepare();
  const news = [...needs()].filter(([id]) => !before.has(id)).map(([, text]) => text);
  if (news.length) document.getElementById('announce').textContent = `Needs you: ${news.join('; ')}`;
}

// needs are those that wait for a person, by their id, each with its words.
function needs() {
  const cards = document.querySelectorAll('#needs > ul > li');
  return new Map([...cards].map((card) => [card.id, `${card.querySelector('h3').textContent}, ${card.querySelector('.why')?.textContent ?? ''}`]));
}

// tell shows how old what is on screen may be.
function tell(now) {
  if (now === state) return;
  const was = state;
  state = now;
  light.dataset.state = now;
  document.body.classList.toggle('stale', now !== 'live');
  const since = seenAt.toLocaleTimeString();
  light.querySelector('.text').textContent = {
    live: 'live',
    away: `the daemon does not answer; this is from ${since}`,
    'signed-out': `signed out; this is from ${since}. Run: understudy dashboard`,
  }[now] ?? now;
  if (now === 'live' && was !== 'live') look();
}

function concerns(event) {
  const watch = document.body.dataset.watch;
  if (watch === 'all') return true;
  const words = watch.split(' ');
  return words.some((word) => {
    const [kind, id] = word.split(':');
    return id === undefined ? event.type.startsWith(`${kind}_`) : String(event[`${kind}_id`]) === id;
  });
}

function follow() {
  const take = (message) => {
    if (message.state) tell(message.state);
    if (message.event && concerns(message.event)) look();
  };
  if (!window.SharedWorker) {
    import('./feed.js').then((feed) => feed.follow(take));
    return;
  }
  const worker = new SharedWorker('/ui/static/worker.js', { type: 'module', name: 'understudy' });
  worker.port.onmessage = ({ data }) => take(data);
  worker.onerror = () => tell('away');
  addEventListener('pagehide', () => worker.port.postMessage('gone'));
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
}

// tick lets what is told in ages grow older, and what is left of a time less, in the words of the server.
function tick() {
  for (const element of document.querySelectorAll('time[data-age], time[data-left]')) {
    const since = (Date.now() - Date.parse(element.dateTime)) / 1000;
    const s = Math.max(0, 'left' in element.dataset ? -since : since);
    const text = s < 60 ? `${Math.floor(s)} s`
      : s < 3600 ? `${Math.floor(s / 60)} min`
      : s < 172_800 ? `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`
      : `${Math.floor(s / 86_400)} days`;
    if (element.textContent !== text) element.textContent = text;
  }
}

function filter() {
  const input = document.querySelector('[data-filter]');
  if (!input) return;
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const card of document.querySelectorAll('.card, .rows > li')) {
    const text = card.textContent.toLowerCase();
    card.hidden = !words.every((word) => text.includes(word));
    card.toggleAttribute('data-filtered', card.hidden);
  }
}

function prepare() {
  for (const pre of document.querySelectorAll('[data-screen]:not([data-watched])')) {
    pre.dataset.watched = '';
    import('./screen.js').then((screen) => screen.watchScreen(pre));
  }
}

document.addEventListener('input', (event) => event.target.matches('[data-filter]') && filter());
document.addEventListener('change', (event) => event.target.matches('[data-submit]') && event.target.form.requestSubmit());
document.addEventListener('keydown', (event) => {
  const typing = event.target.matches('input, textarea, select') || document.querySelector('dialog[open]');
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
    document.querySelector('input[type=search]')?.focus();
    event.preventDefault();
  }
});
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && again) look();
});

setInterval(tick, 1000);
listen();
prepare();
tick();
follow();
