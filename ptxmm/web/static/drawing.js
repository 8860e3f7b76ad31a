// A picture from the server: read as XML and built anew from the elements and attributes that pictures have. Nothing else of
// it reaches the page. It stands in a shadow root, so that names within it are its own.

const SVG = 'http://www.w3.org/2000/svg';
const ELEMENTS = new Set(['svg', 'g', 'path', 'rect', 'circle', 'ellipse', 'line', 'polyline', 'polygon', 'text', 'tspan', 'title', 'desc', 'defs', 'marker']);
const ATTRIBUTES = new Set([
  'class', 'id', 'width', 'height', 'viewBox', 'x', 'y', 'x1', 'y1', 'x2', 'y2', 'dx', 'dy', 'cx', 'cy', 'r', 'rx', 'ry', 'd', 'points',
  'transform', 'fill', 'fill-opacity', 'fill-rule', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'stroke-linecap',
  'stroke-opacity', 'opacity', 'paint-order', 'font-family', 'font-size', 'font-weight', 'font-style', 'text-anchor',
  'dominant-baseline', 'xml:space', 'marker-end', 'marker-start', 'marker-mid', 'refX', 'refY', 'markerWidth', 'markerHeight',
  'markerUnits', 'orient', 'data-event', 'data-relation', 'data-from', 'data-to',
]);
const ELSEWHERE = /url\(\s*(?!["']?#)|[@\\]import|expression\(/i;

/** What the text of a picture holds, as {picture, sheet}: an `svg` element and the rules for its colours. Null where it is none. */
export function drawingOf(text) {
  let rules = ''; // taken out before: a style element that is read is refused, loudly, by the policy of the page
  const plain = text.replace(/<style\b[^>]*>([\s\S]*?)<\/style>/g, (_, inner) => { rules += unescaped(inner); return ''; });
  const read = new DOMParser().parseFromString(plain, 'image/svg+xml');
  const root = read.documentElement;
  if (root.localName !== 'svg' || root.namespaceURI !== SVG || read.querySelector('parsererror')) return null;
  const sheet = new CSSStyleSheet();
  if (rules && !ELSEWHERE.test(rules)) sheet.replaceSync(rules);
  return { picture: copied(root), sheet };
}

function unescaped(text) {
  const names = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return text.replace(/<!\[CDATA\[|\]\]>/g, '').replace(/&(\w+);/g, (whole, name) => names[name] ?? whole);
}

function copied(node) {
  const made = document.createElementNS(SVG, node.localName);
  for (const { name, value } of node.attributes) {
    if (ATTRIBUTES.has(name) && !ELSEWHERE.test(value)) {
      if (name === 'xml:space') made.setAttributeNS('http://www.w3.org/XML/1998/namespace', name, value);
      else made.setAttribute(name, value);
    }
  }
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.data);
    else if (child.nodeType === Node.ELEMENT_NODE && child.namespaceURI === SVG && ELEMENTS.has(child.localName)) made.append(copied(child));
  }
  return made;
}

/** The relations of a line or a legend entry. */
export function relationsOf(node) {
  return (node.dataset.relation ?? '').split(/\s+/).filter(Boolean);
}
