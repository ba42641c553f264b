// Signs the browser in with the key of the link, and stores the key of the login for the pages of this address.

import { keep } from './session.js';

const { key } = document.body.dataset;
const open = () => location.replace('/'); // replace keeps the link out of the history

const say = (title, text) => {
  document.querySelector('h1').textContent = title;
  document.querySelector('main p').textContent = text;
};

async function signIn() {
  const answer = await fetch('/login', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ key }) });
  const said = await answer.json();
  if (!answer.ok) {
    say('This browser is not signed in', said.error);
    return;
  }
  try {
    await keep(said.key);
    open();
  } catch {
    say('This browser cannot store the key of the login', window.isSecureContext
      ? 'A private window cannot store it. Get a new link with `understudy dashboard` and open it in a normal window.'
      : 'Browsers store keys only for https and for addresses of their own machine: see "From another machine" in docs/dashboard.md.');
  }
}

if (key) {
  const button = document.querySelector('#sign-in');
  button.addEventListener('click', () => {
    button.disabled = true; // the link works once
    signIn().catch(() => {
      button.disabled = false;
      say('The daemon does not answer', 'Start it with `understudy serve`, then press the button again.');
    });
  });
} else {
  open();
}
