// The key that a link has given stays with the pages of this address.

import { keep } from './key.js';

const { key } = document.body.dataset;
if (key) keep(key);
location.replace('/'); // and the link is not in the history
