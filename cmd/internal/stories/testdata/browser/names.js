// What is wrong with how the page holds long names: texts that run out of their card or the header, and names that take more than
// four lines. Nothing is wrong with what an element cuts off or scrolls.
(() => {
  const problems = new Set();
  const gap = 4; // px, from the end of a text to the edge of its card
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const element = text.parentElement;
    if (!text.data.trim() || element.closest('.unseen, .skip, #screen, meter, option, script, noscript, title, dialog, details:not([open]) > :not(summary)')) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const box = element.closest('.panel, .card, .rows, .empty, header.top');
    const range = document.createRange();
    range.selectNodeContents(text);
    const lines = [...range.getClientRects()].filter((r) => r.width > 0);
    let right = Math.max(0, ...lines.map((r) => r.right));
    let cut = innerWidth; // where the text ends at the latest
    let clamped = false; // an element cuts off lines
    for (let e = element; e && e !== box; e = e.parentElement) {
      const style = getComputedStyle(e);
      clamped ||= style.webkitLineClamp !== 'none' || style.overflowY !== 'visible';
      if (e.nodeName !== 'svg' && style.overflowX !== 'visible' && style.display !== 'inline') cut = Math.min(cut, e.getBoundingClientRect().right);
    }
    right = Math.min(right, cut);
    const edge = box ? box.getBoundingClientRect().right - gap : innerWidth;
    const says = JSON.stringify(text.data.trim().slice(0, 30));
    if (right > edge) problems.add(`${says} in ${element.nodeName}.${element.getAttribute('class')} ends ${Math.round(right - edge)} px too far right`);
    const tops = new Set(lines.map((r) => Math.round(r.top)));
    if (/n{30}/.test(text.data) && text.data.length < 100 && tops.size > 4 && !clamped) problems.add(`${says} takes ${tops.size} lines in ${element.nodeName}`);
  }
  for (const link of document.querySelectorAll('#nav a')) {
    const r = link.getBoundingClientRect();
    if (r.left < 0 || r.right > document.getElementById('nav').getBoundingClientRect().right + 1) problems.add(`${link.textContent} is cut off in the navigation`);
  }
  return [...problems];
})()
