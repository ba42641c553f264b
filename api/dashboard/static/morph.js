// morph makes one element like another that was drawn anew, and changes no more than differs, so that
// focus, selection, scroll, open details and what is being typed stay. Children are matched by id, and
// those without one by their place among those of the same name.

export function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.hasAttribute('data-keep')) return; // its content is made here, not by the server
  attributes(old, fresh);
  children(old, fresh);
}

// What the person at the page has changed is theirs.
function kept(element, name) {
  return (name === 'open' && element.nodeName === 'DETAILS') || (name === 'hidden' && element.hasAttribute('data-filtered'));
}

function attributes(old, fresh) {
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !kept(old, name)) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== 'data-filtered' && !kept(old, name)) old.removeAttribute(name);
  }
}

function children(old, fresh) {
  const byId = new Map();
  for (const child of old.children) if (child.id) byId.set(child.id, child);
  let at = old.firstChild;
  for (const want of [...fresh.childNodes]) {
    let have = want.id ? byId.get(want.id) : at;
    while (!want.id && have && have.id) have = have.nextSibling; // those are matched by their ids
    if (have && have.nodeName === want.nodeName && have.nodeType === want.nodeType && (have.id || '') === (want.id || '')) {
      if (have === at) at = at.nextSibling;
      else place(old, have, at);
      morph(have, want);
    } else {
      old.insertBefore(want, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
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
