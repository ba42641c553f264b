// morph changes the element old until it equals the element fresh. It changes only the parts that differ, so that
// focus, selection, scroll position, open details and typed text stay. It matches elements with an id by their id, and
// moves them to their new place. It matches other elements by their place.

export function morph(old, fresh) {
  const work = {
    known: new Map([...old.querySelectorAll('[id]')].map((e) => [e.id, e])),
    gone: new Set(), // removed at the end: an element with an id may be moved elsewhere until then
  };
  one(old, fresh, work);
  for (const node of work.gone) node.remove();
}

function one(old, fresh, work) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.hasAttribute('data-keep')) return; // a script makes its content, not the server
  if (old.id && old.isEqualNode(fresh)) return; // most elements are equal, and this check is fast
  attributes(old, fresh);
  children(old, fresh, work);
}

// kept says whether an attribute was set by the person at the page, so that it must not change.
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
    while (!want.id && have && have.id) have = have.nextSibling; // elements with ids are matched by these
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
  for (const [have, want] of pairs) one(have, want, work); // last, since elements that are on the page may move into them
}

// alike says whether have can be changed into want. A button must not become a button with another action: a person who
// has the focus on it, or is about to press it, means the old action.
function alike(have, want) {
  if (have.nodeName !== want.nodeName) return false;
  return have.nodeName !== 'BUTTON' || ['call', 'open', 'id', 'body'].every((name) => have.dataset[name] === want.dataset[name]);
}

// knows says whether a new element contains an element whose id is already on the page.
function knows(want, work) {
  return want.nodeType === Node.ELEMENT_NODE && [...want.querySelectorAll('[id]')].some((e) => work.known.has(e.id));
}

// place moves an element. insertBefore would take the focus from it, so place sets the focus again.
function place(parent, element, before) {
  if (parent.moveBefore) {
    parent.moveBefore(element, before);
    return;
  }
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  parent.insertBefore(element, before);
  focused?.focus({ preventScroll: true });
}
