// Page and daemon prove to each other who they are, by the key of this browser's login: api/proof.go has the lines
// that are signed. The key cannot be read by any script, and never goes anywhere: whoever listens at the
// daemon's address while it is away gets nothing that is good for the daemon.

const header = 'X-Understudy-Page';
const text = new TextEncoder();

// A trouble has a state for the light at the top, and a sentence.
class Trouble extends Error {
  constructor(state, sentence) {
    super(sentence);
    this.state = state;
  }
}

const signedOut = () => new Trouble('signed-out', 'This browser is signed out. Run: understudy dashboard');
const away = () => new Trouble('away', 'The daemon does not answer: start it with `understudy serve`, and do this again');
const stranger = () => new Trouble('stranger', 'Another program answers at the daemon\'s address; it was told nothing');

const encode = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const decode = (word) => Uint8Array.from(atob(word.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
const digest = async (body) => [...new Uint8Array(await crypto.subtle.digest('SHA-256', text.encode(body)))].map((b) => b.toString(16).padStart(2, '0')).join('');

// inStore does one thing with the table in which the browser keeps the key.
const inStore = (mode, act) => new Promise((done, fail) => {
  const open = indexedDB.open('understudy', 1);
  open.onupgradeneeded = () => open.result.createObjectStore('keys');
  open.onerror = () => fail(open.error);
  open.onsuccess = () => {
    const request = act(open.result.transaction('keys', mode).objectStore('keys'));
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
    open.result.close(); // once that is done
  };
});

// keep takes the key that a link has given.
export async function keep(word) {
  const key = await crypto.subtle.importKey('raw', decode(word), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
  await inStore('readwrite', (keys) => keys.put(key, 'login'));
}

let key = null; // of the login, or what reads it
let met = null; // the nonce of a daemon that has proved itself, or what asks for it

// forget has the daemon prove itself again before anything else is sent.
export function forget() {
  key = null;
  met = null;
}

async function theKey() {
  key ??= inStore('readonly', (keys) => keys.get('login'));
  const found = await key;
  if (!found) {
    forget(); // somebody may sign in meanwhile
    throw signedOut();
  }
  return found;
}

const sign = async (...lines) => encode(await crypto.subtle.sign('HMAC', await theKey(), text.encode(lines.join('\n'))));
const signed = async (proof, ...lines) => crypto.subtle.verify('HMAC', await theKey(), decode(proof), text.encode(lines.join('\n')));

async function reach(url, how) {
  try {
    return await fetch(url, { cache: 'no-store', ...how });
  } catch {
    throw away();
  }
}

// meet has the daemon prove itself.
async function meet() {
  await theKey(); // without one there is nothing to ask
  const challenge = encode(crypto.getRandomValues(new Uint8Array(16)));
  const answer = await reach(`/api/dashboard/hello?challenge=${challenge}`);
  if (answer.status === 401) throw signedOut();
  if (answer.status >= 500) throw away();
  try {
    const { nonce, proof } = await answer.json();
    if (await signed(proof, 'server', challenge, nonce)) return nonce;
  } catch {
    // It is no answer of the daemon's.
  }
  throw stranger();
}

// ask is fetch, for requests to the daemon. A 401 may come from a daemon that was started again, or be for a
// login that another tab has made anew: it is asked once more then. proven(body) of what it returns throws
// unless the body, which must be a page, is the daemon's.
export async function ask(path, { method = 'GET', headers = {}, body = '', signal } = {}) {
  const url = new URL(path, location.origin);
  if (method !== 'GET') met = null; // what a person has written goes to a daemon that has just proved itself
  for (let last = false; ; last = true) {
    try {
      const nonce = await (met ??= meet());
      const proof = await sign('request', nonce, method, url.pathname + url.search, await digest(body));
      const answer = await reach(url, { method, headers: { ...headers, [header]: proof }, body: body || undefined, signal });
      if (answer.status !== 401) return Object.assign(answer, { proven: (page) => proven(answer, proof, page) });
      if (last) throw signedOut();
    } catch (trouble) {
      forget();
      if (last || trouble.state !== 'stranger' && trouble.state !== 'signed-out') throw trouble;
      continue; // with the key that the browser has by now
    }
    forget();
  }
}

async function proven(answer, proof, page) {
  const word = answer.headers.get('X-Understudy-Answer');
  if (word === null) throw away(); // it is no page
  if (await signed(word, 'answer', proof, await digest(page))) return;
  forget();
  throw stranger();
}
