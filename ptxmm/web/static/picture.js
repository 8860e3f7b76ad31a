// The picture of an execution: relations switched on and off, names under the pointer, edges of a reason lit up.

import { element } from './dom.js';
import { drawingOf, relationsOf } from './drawing.js';
import { T } from './strings.js';

// What the page adds to the colours of a picture.
const OWN = new CSSStyleSheet();
OWN.replaceSync(`
  :host { display: block; }
  svg { display: block; max-width: 100%; height: auto; }
  :host(.natural) svg { max-width: none; }
  .off { display: none; }
  [data-event], [data-relation] { transition: opacity 120ms; }
  .lit [data-event]:not(.on), .lit [data-relation]:not(.on):not(.legend) { opacity: 0.22; }
  .lit .on > path:last-of-type { stroke-width: 3px; }
  .lit .half.on, .lit .box.on .half { opacity: 1; }
  .near > path:last-of-type { stroke-width: 3px; }
  .near > rect:not(.halo) { stroke-width: 2.2px; }
  .edge > path { pointer-events: visibleStroke; }
  @media (prefers-reduced-motion: reduce) { [data-event], [data-relation] { transition: none; } }
  @media (forced-colors: active) { svg { forced-color-adjust: none; } }
`);

export class Picture extends EventTarget {
  /** A picture without content. It tells `near` ({detail: {event}} or {edge}, or null) when the pointer is over a part. */
  constructor() {
    super();
    this.host = element('div', { class: 'drawing' });
    this._root = this.host.attachShadow({ mode: 'open' });
    this._tip = element('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
    this.node = element('div', { class: 'picture' }, this.host, this._tip);
    this.off = new Set();
    this._root.addEventListener('pointermove', event => this._over(event));
    this.host.addEventListener('pointerleave', () => this._near(null));
  }

  /** Shows the picture `text`, told as `caption`. False where it is no picture. */
  show(text, caption) {
    const drawing = drawingOf(text);
    this._near(null);
    if (!drawing) {
      this._root.replaceChildren();
      this._svg = null;
      return false;
    }
    const { picture, sheet } = drawing;
    this._svg = picture;
    picture.setAttribute('role', 'img');
    picture.setAttribute('aria-label', T.pictureLabel(caption));
    this._texts = new Map();
    for (const title of picture.querySelectorAll('title')) {
      this._texts.set(title.parentNode, title.textContent); // shown by the page, beside the pointer
      title.remove();
    }
    const natural = parseFloat(picture.getAttribute('width')) || 0;
    if (natural) picture.style.minWidth = `${Math.round(natural * 0.5)}px`;
    this._dark = [...sheet.cssRules].filter(rule => rule instanceof CSSMediaRule && /prefers-color-scheme/.test(rule.media.mediaText));
    this._root.adoptedStyleSheets = [sheet, OWN];
    this._root.replaceChildren(picture);
    this.theme();
    this._switch();
    return true;
  }

  /** Follows the page: light, dark, or as the system is. */
  theme() {
    const wanted = document.documentElement.dataset.theme;
    const dark = { light: 'not all', dark: 'all' }[wanted] ?? '(prefers-color-scheme: dark)';
    for (const rule of this._dark ?? []) rule.media.mediaText = dark;
    this.dispatchEvent(new Event('colours'));
  }

  /** The relations that are drawn, each with its number of lines and its colour, in the order of the legend. */
  relations() {
    const found = new Map();
    for (const entry of this._all('.legend[data-relation]')) for (const name of relationsOf(entry)) found.set(name, { name, count: 0, colour: colourOf(entry) });
    for (const edge of this._all('.edge[data-relation]')) {
      relationsOf(edge).forEach((name, i) => {
        if (!found.has(name)) found.set(name, { name, count: 0, colour: i ? '' : colourOf(edge) });
        const relation = found.get(name);
        relation.count += 1;
        if (!relation.colour && !i) relation.colour = colourOf(edge);
      });
    }
    return [...found.values()];
  }

  /** Draws a relation, or does not. A line that stands for several goes when all of them are off. */
  turn(name, on) {
    if (on) this.off.delete(name);
    else this.off.add(name);
    this._switch();
  }

  _switch() {
    for (const node of this._all('.edge[data-relation], .label[data-relation]')) {
      node.classList.toggle('off', relationsOf(node).every(name => this.off.has(name)));
    }
    for (const node of this._all('.legend[data-relation]')) {
      node.classList.toggle('off', relationsOf(node).some(name => this.off.has(name)));
    }
  }

  /** Lights these edges ([relation, from, to]) and events up, and fades the rest; nothing, and all is as it was. */
  light(edges = [], events = []) {
    if (!this._svg) return 0;
    for (const node of this._all('.on')) node.classList.remove('on');
    const lit = new Set();
    const wanted = new Set(events);
    for (const [relation, from, to] of edges) {
      wanted.add(from).add(to);
      const between = this._all('.edge[data-from], .label[data-from]').filter(node =>
        (node.dataset.from === from && node.dataset.to === to) || (node.dataset.from === to && node.dataset.to === from));
      const named = between.filter(node => relationsOf(node).includes(relation.replace(/\^-1$/, '')));
      for (const node of named.length ? named : between) lit.add(node);
    }
    for (const node of this._all('[data-event]')) if (wanted.has(node.dataset.event)) lit.add(node).add(node.closest('.box') ?? node);
    for (const node of lit) {
      node.classList.add('on');
      node.classList.remove('off');
    }
    this._svg.classList.toggle('lit', lit.size > 0);
    if (!lit.size) this._switch();
    return lit.size;
  }

  _all(selector) {
    return this._svg ? [...this._svg.querySelectorAll(selector)] : [];
  }

  _over(event) {
    const part = event.target.closest?.('.half[data-event], .edge, .label, .box, [data-event]');
    this._near(part && (part.dataset.event || part.dataset.relation) ? part : null, event);
  }

  _near(part, event) {
    if (part !== this._part) {
      for (const node of this._all('.near')) node.classList.remove('near');
      this._part = part;
      if (part) for (const node of this._twins(part)) node.classList.add('near');
      this.dispatchEvent(new CustomEvent('near', { detail: part && this._meaning(part) }));
    }
    this._tip.hidden = !part;
    if (!part) return;
    this._tip.textContent = this._told(part);
    const box = this.node.getBoundingClientRect();
    const x = Math.min(event.clientX - box.left + 14, box.width - this._tip.offsetWidth - 4);
    const below = event.clientY - box.top + 18;
    const y = below + this._tip.offsetHeight > box.height ? event.clientY - box.top - this._tip.offsetHeight - 10 : below;
    this._tip.style.transform = `translate(${Math.max(0, x)}px, ${y}px)`;
  }

  /** A line and its label are one to the reader. */
  _twins(part) {
    const { relation, from, to } = part.dataset;
    if (!relation || !from) return [part];
    return this._all('.edge, .label').filter(node => node.dataset.relation === relation && node.dataset.from === from && node.dataset.to === to);
  }

  _meaning(part) {
    const { event, from, to } = part.dataset;
    return event ? { event } : from ? { edge: [relationsOf(part), from, to] } : null;
  }

  _told(part) {
    const known = this._twins(part).map(node => this._texts.get(node)).find(Boolean);
    if (known) return known;
    if (part.dataset.event) return this._texts.get(part.closest('.box')) ?? part.dataset.event;
    return part.dataset.from ? T.edge(relationsOf(part).join(', '), part.dataset.from, part.dataset.to) : relationsOf(part).join(', ');
  }
}

/** The colour of a line as it is drawn: light or dark. */
function colourOf(node) {
  const line = node.querySelector('path[stroke], line[stroke]');
  return line ? getComputedStyle(line).stroke : '';
}
