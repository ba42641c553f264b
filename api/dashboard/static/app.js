// The page keeps itself up to date: when the feed reports an event that the page shows, it fetches itself again and
// changes the parts that differ.

import { call, listen } from './actions.js';
import { follow as read } from './feed.js';
import { takeKeys } from './keys.js';
import { morph } from './morph.js';
import { watchScreen } from './screen.js';
import { ask, forget } from './session.js';

// A look is one fetching and drawing of the page. Even if many events come, looks take at most a third of the time.
const [leastPause, mostPause] = [30, 1000]; // ms between the beginnings of two looks
const light = document.getElementById('light');

// The units of ages, from the server. Each has: the age in seconds below which it is used, its length in seconds, its
// name.
const ages = document.body.dataset.ages.split(',').map((unit) => unit.split(' '));

let looking = false; // a look is under way
let again = false; // look again: an event came after the look began
let lookedAt = 0; // when the last look began
let took = 0; // duration of the last look, ms
let feed = 'connecting'; // the state that the feed reported last
let page = ''; // why the last look failed: away, stranger or signed-out; empty if it succeeded
let seenAt = null; // when the look whose result is on screen began

const rest = (ms) => ms > 0 && new Promise((done) => setTimeout(done, ms));

let hurry = null; // ends the pause before the next look

// look fetches and draws the page again after a short pause. At most one look runs at the same time, and none begins while
// the tab is hidden. An agent that asks a person does not wait for the pause.
async function look(asks) {
  again = true;
  if (asks) hurry?.();
  if (looking) return;
  looking = true;
  for (let retry = 1000; again && document.visibilityState === 'visible'; ) {
    again = false;
    const pause = asks ? 0 : lookedAt + Math.min(Math.max(3 * took, leastPause), mostPause) - performance.now();
    await Promise.race([rest(pause), new Promise((done) => { hurry = done; })]);
    hurry = null;
    asks = false;
    lookedAt = performance.now();
    page = await draw();
    took = performance.now() - lookedAt;
    tell();
    if (page === 'away' || page === 'stranger') {
      again = true;
      await rest(retry);
      retry = Math.min(retry * 2, 10_000);
    }
  }
  looking = false;
}

// draw fetches the page and puts it on screen. It returns '', or the reason if that failed.
async function draw() {
  const began = new Date();
  try {
    const answer = await ask(location.pathname + location.search, { headers: { Accept: 'text/html' } });
    if (answer.status >= 500) return 'away';
    const text = await answer.text();
    await answer.proven(text);
    show(new DOMParser().parseFromString(text, 'text/html'));
    seenAt = began;
    return '';
  } catch (trouble) {
    return trouble.state ?? 'away';
  }
}

function show(fresh) {
  const before = needs();
  morph(document.getElementById('main'), fresh.getElementById('main'));
  morph(document.getElementById('nav'), fresh.getElementById('nav'));
  if (!document.querySelector('dialog[open]')) morph(document.getElementById('dialogs'), fresh.getElementById('dialogs'));
  document.title = fresh.title;
  document.body.dataset.watch = fresh.body.dataset.watch;
  filter();
  tick();
  prepare();
  seen();
  const news = [...needs()].filter(([id]) => !before.has(id)).map(([, text]) => text);
  if (news.length) document.getElementById('announce').textContent = `Needs you: ${news.join('; ')}`;
}

// needs returns the cards of "Needs you": a map of their ids and of what they say in short.
function needs() {
  const brief = (card) => [...card.querySelectorAll('h3, .why, .why + .shown')].map((e) => e.textContent.trim().slice(0, 200)).join(', ');
  return new Map([...document.querySelectorAll('#needs > ul > li')].map((card) => [card.id, brief(card)]));
}

// tell shows the state of page or feed at the top of the page. If the state is not live, it marks the page as stale.
function tell() {
  const state = page || feed;
  if (light.dataset.state === state) return;
  light.dataset.state = state;
  document.body.classList.toggle('stale', seenAt !== null && state !== 'live');
  const since = seenAt ? `; this page is from ${seenAt.toLocaleTimeString()}` : '';
  light.querySelector('.text').textContent = {
    away: `the daemon does not answer${since}`,
    stranger: `another program answers at the daemon's address; the page sends it nothing${since}`,
    'signed-out': `signed out${since}. Run: understudy dashboard`,
  }[state] ?? state;
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
    if (message.state) {
      feed = message.state;
      if (feed !== 'live') forget();
      tell();
      if (feed === 'live') look(); // the page may have missed events
    }
    if (message.event && concerns(message.event)) look(message.event.type === 'permission_asked');
  };
  if (!window.SharedWorker) {
    read(take);
    return;
  }
  const worker = new SharedWorker('/ui/static/worker.js', { type: 'module', name: 'understudy' });
  worker.port.onmessage = ({ data }) => take(data);
  worker.onerror = () => take({ state: 'away' });
  addEventListener('pagehide', () => worker.port.postMessage({ gone: true }));
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
}

// tick updates the ages, and the times left, on the page.
function tick() {
  for (const element of document.querySelectorAll('time[data-age], time[data-left]')) {
    const since = (Date.now() - Date.parse(element.dateTime)) / 1000;
    const s = Math.max(0, 'left' in element.dataset ? -since : since);
    const [, per, name] = ages.find(([below]) => s < below);
    const text = `${Math.floor(s / per)} ${name}`;
    if (element.textContent !== text) element.textContent = text;
  }
  for (const element of document.querySelectorAll('[data-tick]')) {
    const at = new Date(element.dataset.tick);
    const [day, time] = [at.toLocaleDateString('sv').slice(5), at.toLocaleTimeString('sv')];
    const text = 'days' in element.dataset || time === '00:00:00' ? day : time.replace(/:00$/, '');
    if (element.textContent !== text) element.textContent = text;
  }
  for (const element of document.querySelectorAll('time[data-when]')) {
    const at = new Date(element.dateTime); // in the time zone of the reader, not of the daemon
    const text = `${at.toLocaleDateString('sv')} ${at.toLocaleTimeString('sv')}`;
    if (!Number.isNaN(at.valueOf()) && element.textContent !== text) element.textContent = text;
  }
}

// seen tells the daemon that the operator looks at what an agent has finished, once for each turn.
let told = '';
function seen() {
  const element = document.querySelector('[data-seen]');
  if (!element || document.visibilityState !== 'visible') return;
  const { seen: what, body } = element.dataset;
  if (told === body) return;
  told = body;
  call(what, JSON.parse(body)).catch(() => {
    told = ''; // the next look tries again
  });
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
  for (const section of document.querySelectorAll('#main > section')) {
    const list = [...section.querySelectorAll(':scope > .cards > li, :scope > .rows > li')];
    section.hidden = list.length > 0 && list.every((item) => item.hidden);
    section.toggleAttribute('data-filtered', section.hidden);
  }
}

function prepare() {
  for (const pre of document.querySelectorAll('[data-screen]:not([data-watched])')) {
    pre.dataset.watched = '';
    watchScreen(pre);
  }
  for (const box of document.querySelectorAll('[data-keys]:not([data-watched])')) {
    box.dataset.watched = '';
    takeKeys(box);
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
  seen();
  if (document.visibilityState === 'visible' && again) look();
});

setInterval(tick, 1000);
listen();
prepare();
tick();
seen();
look();
follow();
