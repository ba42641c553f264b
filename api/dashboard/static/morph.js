// morph makes one element like another that was drawn anew, and changes no more than differs, so that
// focus, selection, scroll, open details and what is being typed stay. What has an id is the same element
// afterwards, wherever in it it stands then; what has none is matched by its place among those of the same
// name.

export function morph(old, fresh) {
  const work = {
    known: new Map([...old.querySelectorAll('[id]')].map((e) => [e.id, e])),
    gone: new Set(), // removed at the end: what has an id may be wanted elsewhere until then
  };
  one(old, fresh, work);
  for (const node of work.gone) node.remove();
}

function one(old, fresh, work) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.hasAttribute('data-keep')) return; // its content is made here, not by the server
  if (old.id && old.isEqualNode(fresh)) return; // most are, and this is fast
  attributes(old, fresh);
  children(old, fresh, work);
}

// What the person at the page has changed is theirs.
function kept(element, name) {
  return (name === 'open' && element.nodeName === 'DETAILS')
    || (name === 'hidden' && element.hasAttribute('data-filtered'))
    || ((name === 'disabled' || name === 'data-busy') && element.hasAttribute('data-busy'));
}

function attributes(old, fresh) {
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !kept(old, name)) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== 'data-filtered' && !kept(old, name)) old.removeAttribute(name);
  }
}

function children(old, fresh, work) {
  const pairs = [];
  let at = old.firstChild;
  for (const want of [...fresh.childNodes]) {
    let have = want.id ? work.known.get(want.id) : at;
    while (!want.id && have && have.id) have = have.nextSibling; // those are matched by their ids
    if (have && alike(have, want)) {
      work.known.delete(want.id);
      work.gone.delete(have);
      if (have === at) at = at.nextSibling;
      else place(old, have, at);
      pairs.push([have, want]);
    } else if (knows(want, work)) {
      const made = want.cloneNode(false);
      old.insertBefore(made, at);
      pairs.push([made, want]);
    } else {
      old.insertBefore(want, at);
    }
  }
  for (; at; at = at.nextSibling) work.gone.add(at);
  for (const [have, want] of pairs) one(have, want, work); // what is here may go into them
}

// alike says whether an element can become another one. A button that does something else is another one:
// whoever has the focus on it, or is about to press it, means what it was.
function alike(have, want) {
  if (have.nodeName !== want.nodeName) return false;
  return have.nodeName !== 'BUTTON' || ['call', 'open', 'id'].every((name) => have.dataset[name] === want.dataset[name]);
}

// knows says whether there is something in a new element that is on the page already.
function knows(want, work) {
  return want.nodeType === Node.ELEMENT_NODE && [...want.querySelectorAll('[id]')].some((e) => work.known.has(e.id));
}

// Moving an element takes the focus from it.
function place(parent, element, before) {
  if (parent.moveBefore) {
    parent.moveBefore(element, before);
    return;
  }
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  parent.insertBefore(element, before);
  focused?.focus({ preventScroll: true });
}
