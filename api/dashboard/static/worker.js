// One connection for all tabs of a browser: it opens at most six to a host, and each would need one.

import { follow } from './feed.js';

const ports = new Set();
let state = { state: 'connecting' };

function tell(message) {
  if (message.state) state = message;
  for (const port of ports) port.postMessage(message);
}

self.onconnect = ({ ports: [port] }) => {
  ports.add(port);
  port.onmessage = () => ports.delete(port); // the only thing that pages say is that they go
  port.postMessage(state);
};

follow(tell);
