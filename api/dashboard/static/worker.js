// All tabs of a browser share one connection to the feed, because a browser opens at most six connections to a host.

import { follow } from './feed.js';

const ports = new Set();
let state = { state: 'connecting' };
let following = false;

function tell(message) {
  if (message.state) state = message;
  for (const port of ports) port.postMessage(message);
}

self.onconnect = ({ ports: [port] }) => {
  ports.add(port);
  port.onmessage = ({ data }) => {
    if (data.gone) ports.delete(port);
  };
  port.postMessage(state);
  if (following) return;
  following = true;
  follow(tell);
};
