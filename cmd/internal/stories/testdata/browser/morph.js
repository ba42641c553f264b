// What is wrong with morph.js: trees that come about by chance are made like each other, and what a person
// has done to a page stays.
(async () => {
  const { morph } = await import('/ui/static/morph.js');
  const problems = [];
  const say = (what) => problems.length < 5 && problems.push(what);

  let seed = 20261121;
  const chance = (n) => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return (seed >>> 8) % n;
  };
  const names = ['div', 'p', 'span', 'ul', 'pre'];
  // A tree with each id at most once.
  const tree = (ids, depth) => {
    const e = document.createElement(names[chance(names.length)]);
    if (chance(2) && ids.length) e.id = ids.splice(chance(ids.length), 1)[0];
    if (chance(3) === 0) e.title = `t${chance(3)}`;
    if (chance(4) === 0) e.className = `c${chance(3)}`;
    for (let n = depth > 0 ? chance(6) : 0; n > 0; n--) {
      if (chance(3) === 0) e.append(`text ${chance(4)}`);
      else if (chance(12) === 0) e.append(document.createComment('note'));
      else e.append(tree(ids, depth - 1));
    }
    return e;
  };
  const grow = () => {
    const root = document.createElement('main');
    const ids = [...Array(8).keys()].map((n) => `i${n}`);
    for (let n = chance(6); n >= 0; n--) root.append(tree(ids, 3));
    return root;
  };
  const places = (root) => new Map([...root.querySelectorAll('[id]')].map((e) => [`${e.nodeName} ${e.id}`, e]));

  const began = performance.now();
  for (let i = 0; i < 2000; i++) {
    const start = seed;
    const old = grow();
    const fresh = chance(4) ? grow() : old.cloneNode(true);
    const want = fresh.cloneNode(true);
    const before = places(old);
    const nodes = [...old.querySelectorAll('*')];
    const same = old.isEqualNode(fresh);
    morph(old, fresh);
    if (!old.isEqualNode(want)) say(`case ${i} (${start}): got ${old.innerHTML} want ${want.innerHTML}`);
    if (same && [...old.querySelectorAll('*')].some((e, at) => e !== nodes[at])) say(`case ${i}: what was the same was made anew`);
    for (const [key, e] of places(old)) {
      if (before.has(key) && before.get(key) !== e) say(`case ${i} (${start}): ${key} was made anew`);
    }
  }
  const took = performance.now() - began;

  // What a person has done stays, also where what they have done it to goes elsewhere.
  const stage = document.createElement('section');
  document.body.append(stage);
  const draw = (html) => {
    const fresh = document.createElement('section');
    fresh.innerHTML = html;
    morph(stage, fresh);
  };
  const field = '<p id="f"><input id="field" value="x"><textarea id="area">x</textarea></p>';
  const long = `<pre id="long">${'line\n'.repeat(200)}</pre>`;
  const fold = '<details id="fold"><summary>s</summary>d</details>';
  draw(field + long + fold);
  const input = stage.querySelector('#field');
  const pre = stage.querySelector('#long');
  pre.style.cssText = 'height: 50px; overflow: auto';
  pre.setAttribute('data-keep', '');
  stage.querySelector('#fold').open = true;
  input.focus();
  input.value = 'typed by a person';
  input.setSelectionRange(2, 5);
  stage.querySelector('#area').value = 'typed as well';
  pre.scrollTop = 777;
  const kept = (when) => {
    if (document.activeElement !== input) say(`${when}: the focus is lost`);
    if (input.value !== 'typed by a person' || stage.querySelector('#area').value !== 'typed as well') say(`${when}: what was typed is lost`);
    if (input.selectionStart !== 2 || input.selectionEnd !== 5) say(`${when}: the selection is lost`);
    if (pre.scrollTop !== 777) say(`${when}: it has scrolled to ${pre.scrollTop}`);
    if (!stage.querySelector('#fold').open) say(`${when}: details are closed`);
  };
  kept('before');
  draw(field + long + fold);
  kept('the same');
  draw(`<h2>new</h2>${field}<p>other</p>${long}${fold}`);
  kept('something new before it');
  draw(long + fold + field);
  kept('at another place');
  draw(`<p>a</p><p id="z">b</p>${fold}${field}${long}`);
  kept('between others');
  draw(`<div><p>b</p>${long}</div><div id="group"><div id="inner">${field}</div></div>${fold}`);
  kept('in something that is new');
  draw(`<div id="other">${fold}</div><div id="group">${long}</div>${field}`);
  kept('in something else');
  stage.remove();
  return { problems, took };
})()
