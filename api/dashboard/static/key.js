// The key proves that a request is made by a page of this address: storage is of one address, port
// included, and no page of another one can send the header.

const name = 'understudy';

export const keep = (key) => localStorage.setItem(name, key);
export const key = () => localStorage.getItem(name) ?? '';
export const withKey = (headers = {}) => ({ ...headers, 'X-Understudy-Page': key() });
