// Small helpers for elements: no text ever becomes markup.

/** An element. `properties`: `class`, `on` (listeners), `data`, attributes by name; null and false are left out. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (name === 'data') {
      Object.assign(made.dataset, value);
    } else {
      made.setAttribute(name, value === true ? '' : value);
    }
  }
  made.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return made;
}

/** A sentence, with what stands between backticks as code. */
export function coded(text) {
  return text.split('`').map((part, i) => (i % 2 ? element('code', {}, part) : part));
}

export function byId(id) {
  return document.getElementById(id);
}

/** A button that does `action`. */
export function button(text, action, properties = {}) {
  return element('button', { type: 'button', ...properties, on: { click: action } }, text);
}

/** What `action` is called with, but only once nothing has been asked for `milliseconds`. */
export function debounced(action, milliseconds) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Whether a key typed there is text. */
export function isTyping(target) {
  return target instanceof HTMLElement && (target.matches('input, textarea, select') || target.isContentEditable);
}

// The server counts characters; the browser counts UTF-16 units. They differ outside the basic plane only.
const WIDE = /[\ud800-\udbff][\udc00-\udfff]/;

/** How many characters stand before the unit `offset`. */
export function toCharacters(text, offset) {
  const before = text.slice(0, offset);
  return WIDE.test(before) ? [...before].length : offset;
}

/** Where, in units, the character number `offset` stands. */
export function toUnits(text, offset) {
  return WIDE.test(text) ? [...text].slice(0, offset).join('').length : Math.min(offset, text.length);
}
