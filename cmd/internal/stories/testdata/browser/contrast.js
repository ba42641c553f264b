// Texts that are hard to read: those with a contrast below 4.5, each once.
(() => {
  const parse = (text) => {
    const numbers = text.match(/[\d.]+(e-?\d+)?/g).map(Number);
    const scale = text.startsWith('color(') ? 255 : 1;
    return [numbers[0] * scale, numbers[1] * scale, numbers[2] * scale, numbers[3] ?? 1];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  // What is behind an element, and what its text becomes by the opacity of those around it.
  const ground = (element) => {
    const colours = [];
    for (let e = element; e; e = e.parentElement) colours.push(parse(getComputedStyle(e).backgroundColor));
    return colours.reduceRight((below, colour) => over(colour, below), [255, 255, 255, 1]);
  };
  const opacity = (element) => {
    let all = 1;
    for (let e = element; e; e = e.parentElement) all *= Number(getComputedStyle(e).opacity);
    return all;
  };
  const found = new Map();
  const check = (element, colour, text) => {
    const below = ground(element);
    const ink = parse(colour);
    ink[3] *= opacity(element);
    const pair = [light(over(ink, below)), light(below)].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < 4.5) found.set(`${element.nodeName} .${element.className} ${colour}`, `${contrast.toFixed(2)} for ${JSON.stringify(text.trim().slice(0, 40))} in ${element.nodeName}.${element.className}`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || element.closest('.unseen, #screen, meter, option, script, noscript, :disabled') || !element.checkVisibility({ visibilityProperty: true })) continue;
    check(element, getComputedStyle(element).color, texts.currentNode.data);
  }
  for (const input of document.querySelectorAll('[placeholder]')) {
    if (input.checkVisibility()) check(input, getComputedStyle(input, '::placeholder').color, input.placeholder);
  }
  return [...found.values()];
})()
