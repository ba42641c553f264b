// What is wrong with the page as it stands, whatever agents have written into it. It is called with the
// paths that forms may be sent to.
(async () => {
  const problems = [];
  const say = (what, e) => problems.push(e ? `${what}: ${e.outerHTML.slice(0, 160)}` : what);
  const inside = (e, selector) => e.closest(selector) !== null;

  if (window.pwned !== undefined) say('a script has run');
  if (document.cookie !== '') say('scripts can read a cookie');

  // Ids are ours, and each is there once.
  const seen = new Set();
  for (const e of document.querySelectorAll('[id]')) {
    if (seen.has(e.id)) say('an id is there twice', e);
    seen.add(e.id);
    if (!/^[a-z][a-z0-9_-]*$/.test(e.id)) say('an id is not ours', e);
  }
  for (const [id, name] of [['main', 'MAIN'], ['light', 'P'], ['announce', 'DIV'], ['toasts', 'DIV'], ['confirm', 'DIALOG'], ['hand-off', 'DIALOG']]) {
    if (document.getElementById(id)?.nodeName !== name) say(`#${id} is not ours`);
  }

  // What agents wrote may have no more than this.
  const plain = new Set(['class', 'href', 'title', 'rel', 'target', 'align', 'start', 'type', 'checked', 'disabled', 'aria-label', 'data-f', 'data-g', 'style']);
  for (const e of document.querySelectorAll('.markdown *, #screen *')) {
    for (const { name, value } of e.attributes) {
      if (!plain.has(name)) say(`attribute ${name} of what an agent wrote`, e);
      if (name === 'style' && !/^((color|background): rgb\(\d+, \d+, \d+\);? ?)+$/.test(value)) say('a style of what an agent wrote', e);
      if (name === 'class' && !inside(e, '#screen') && !['nolink', 'hint', 'text'].includes(value)) say('a class of what an agent wrote', e);
    }
  }
  for (const e of document.querySelectorAll('*')) {
    for (const { name } of e.attributes) {
      if (name.startsWith('on') || (name === 'style' && !inside(e, '#screen'))) say(`attribute ${name}`, e);
    }
  }

  // Nothing loads or runs but what is ours.
  const ours = ['script[src="/ui/static/app.js"]', 'link[href="/ui/static/icon.svg"]', 'link[href="/ui/static/icon-192.png"]', 'link[href="/ui/static/app.webmanifest"]', 'link[href="/ui/static/style.css"]', 'link[href="/ui/static/palette.css"]', 'link[rel=modulepreload][href^="/ui/static/"]', '.brand > img[src="/ui/static/icon.svg"]', 'svg.chart:not(.markdown *)', 'svg.chart svg'];
  for (const e of document.querySelectorAll('script, link, img, iframe, object, embed, video, audio, source, base, style, svg, math, meta[http-equiv], template')) {
    if (!ours.some((selector) => e.matches(selector))) say('an element that is not ours', e);
  }
  // Pictures have shapes and texts, and nothing that links, loads or moves.
  for (const e of document.querySelectorAll('svg.chart *')) {
    if (!['svg', 'line', 'text', 'tspan', 'title', 'rect', 'path', 'polyline'].includes(e.nodeName)) say('a part of a picture', e);
    for (const { name } of e.attributes) if (/href|src|style|^on/.test(name)) say(`attribute ${name} of a picture`, e);
  }
  for (const a of document.querySelectorAll('a[href]')) {
    const here = a.origin === location.origin;
    if (!here && (!['http:', 'https:', 'mailto:'].includes(a.protocol) || a.target !== '_blank' || !a.relList.contains('noopener'))) say('a link', a);
  }
  for (const form of document.querySelectorAll('form')) {
    const send = form.getAttribute('data-send');
    const known = send ? /^(POST|PUT|PATCH) \/api\/(agents|permissions|pipelines|notifications)[a-z0-9/{}]*$/.test(send)
      : form.matches('#keys > .keypad > form:not([action])') || form.getAttribute('method') === 'dialog' || (form.getAttribute('method') === 'get' && /^\/ui\/(log|handoffs|pipelines)$/.test(form.getAttribute('action')));
    if (!known) say('a form', form);
  }
  for (const button of document.querySelectorAll('[data-call]')) {
    if (!/^(POST|PATCH|DELETE) \/api\/(agents|handoffs|permissions|pipelines|notifications|personas|dashboard|settings)\/[a-z0-9/-]+$/.test(button.dataset.call)) say('a button', button);
    JSON.parse(button.dataset.body ?? '{}');
  }

  // It fits, and all that can be pressed can be reached.
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    say(`the page is ${root.scrollWidth} wide on ${root.clientWidth}`);
    for (const e of document.querySelectorAll('body *')) if (e.getBoundingClientRect().right > root.clientWidth + 1) say('too wide', e);
  }
  for (const e of document.querySelectorAll('header.top a, #light, .bar :is(button, a.button, input, select), .actions > *, form.filters :is(input, select, button)')) {
    if (!e.checkVisibility() || inside(e, 'dialog')) continue;
    e.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    const { left, top, width, height } = e.getBoundingClientRect();
    const hit = document.elementFromPoint(left + width / 2, top + height / 2);
    if (hit === null || (!e.contains(hit) && !hit.contains(e))) say(`hidden by ${hit?.outerHTML.slice(0, 80)}`, e);
    if (width < 20 || height < 16) say(`only ${width} x ${height}`, e);
    if (left < 0 || left + width > root.clientWidth + 1) say('out of the screen', e);
  }
  scrollTo(0, 0);
  return problems;
})()
