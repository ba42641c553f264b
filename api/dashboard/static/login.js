// Stores the key of a new login for the pages of this address.

import { keep } from './session.js';

const { key } = document.body.dataset;
try {
  if (key) await keep(key);
  location.replace('/'); // replace keeps the link out of the history
} catch {
  document.querySelector('h1').textContent = 'This browser cannot store the key of the login';
  document.querySelector('main p').textContent = window.isSecureContext
    ? 'A private window cannot store it. Get a new link with `understudy dashboard` and open it in a normal window.'
    : 'Browsers store keys only for https and for addresses of their own machine: see "From another machine" in docs/dashboard.md.';
}
