// Page and daemon prove their identity to each other with the key of this browser's login; api/proof.go defines the lines
// that they sign. No script can read the key, and the key never leaves the browser. If another program takes the daemon's
// address while the daemon does not run, it gets nothing that the daemon would accept later.

const header = 'X-Understudy-Page';
const text = new TextEncoder();

// Trouble is an error with a state for the light at the top of the page, and a sentence.
class Trouble extends Error {
  constructor(state, sentence) {
    super(sentence);
    this.state = state;
  }
}

const signedOut = () => new Trouble('signed-out', 'This browser is signed out. Run: understudy dashboard');
const away = () => new Trouble('away', 'The daemon does not answer: start it with `understudy serve`, then try again');
const stranger = () => new Trouble('stranger', 'Another program answers at the daemon\'s address; nothing was sent to it');

const encode = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const decode = (word) => Uint8Array.from(atob(word.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
const digest = async (body) => [...new Uint8Array(await crypto.subtle.digest('SHA-256', text.encode(body)))].map((b) => b.toString(16).padStart(2, '0')).join('');

// inStore makes one request to the store in which the browser keeps the key.
const inStore = (mode, act) => new Promise((done, fail) => {
  const open = indexedDB.open('understudy', 1);
  open.onupgradeneeded = () => open.result.createObjectStore('keys');
  open.onerror = () => fail(open.error);
  open.onsuccess = () => {
    const transaction = open.result.transaction('keys', mode);
    const request = act(transaction.objectStore('keys'));
    transaction.oncomplete = () => done(request.result); // a page that leaves before that may lose what it has put
    transaction.onabort = () => fail(transaction.error);
    open.result.close(); // takes effect when the transaction has ended
  };
});

// keep stores the key of a new login.
export async function keep(word) {
  const key = await crypto.subtle.importKey('raw', decode(word), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
  await inStore('readwrite', (keys) => keys.put(key, 'login'));
}

let key = null; // promise of the login's key
let met = null; // promise of the nonce of a daemon that has proved itself

// forget makes the next request read the key again and ask the daemon for a new proof.
export function forget() {
  key = null;
  met = null;
}

async function theKey() {
  key ??= inStore('readonly', (keys) => keys.get('login'));
  const found = await key;
  if (!found) {
    forget(); // so that the next request finds the key of a login that was made meanwhile
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

// meet asks the daemon to prove itself and returns its nonce.
async function meet() {
  await theKey(); // throws if this browser is signed out
  const challenge = encode(crypto.getRandomValues(new Uint8Array(16)));
  const answer = await reach(`/api/dashboard/hello?challenge=${challenge}`);
  if (answer.status === 401) throw signedOut();
  if (answer.status >= 500) throw away();
  try {
    const { nonce, proof } = await answer.json();
    if (await signed(proof, 'server', challenge, nonce)) return nonce;
  } catch {
    // The answer is not the daemon's.
  }
  throw stranger();
}

// ask is fetch for requests to the daemon. A 401 can mean that the daemon was restarted, or that another tab has made
// a new login: ask then tries once more. The answer has a function proven(body), for pages: it throws unless the
// daemon has signed the body.
export async function ask(path, { method = 'GET', headers = {}, body = '', signal } = {}) {
  const url = new URL(path, location.origin);
  if (method !== 'GET') met = null; // a person's input is sent only to a daemon that has just proved itself
  for (let last = false; ; last = true) {
    try {
      const sum = await digest(body);
      let proof, mine;
      do { // until nobody has forgotten the nonce meanwhile: another program may listen now
        mine = met ??= meet();
        proof = await sign('request', await mine, method, url.pathname + url.search, sum);
      } while (met !== mine);
      const answer = await reach(url, { method, headers: { ...headers, [header]: proof }, body: body || undefined, signal });
      if (answer.status !== 401) return Object.assign(answer, { proven: (page) => proven(answer, proof, page) });
      if (last) throw signedOut();
    } catch (trouble) {
      forget();
      if (last || trouble.state !== 'stranger' && trouble.state !== 'signed-out') throw trouble;
      continue; // try again, with the key that the browser has now
    }
    forget();
  }
}

async function proven(answer, proof, page) {
  const word = answer.headers.get('X-Understudy-Answer');
  if (word === null) throw away(); // the answer is not a page
  if (await signed(word, 'answer', proof, await digest(page))) return;
  forget();
  throw stranger();
}
