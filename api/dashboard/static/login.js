// The key that a link has given stays with the pages of this address.

import { keep } from './session.js';

const { key } = document.body.dataset;
try {
  if (key) await keep(key);
  location.replace('/'); // and the link is not in the history
} catch {
  document.querySelector('h1').textContent = 'This browser keeps no key for this address';
  document.querySelector('main p').textContent = window.isSecureContext
    ? 'It may not in a private window: open a new link in another one. Run: understudy dashboard'
    : 'It does for https and for addresses of its own machine alone: see "From another machine" in docs/dashboard.md.';
}
