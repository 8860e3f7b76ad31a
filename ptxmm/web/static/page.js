// What belongs to the page as a whole: theme, keys, the splitter, short notices.

import { button, byId, element, isTyping } from './dom.js';
import { T } from './strings.js';

const THEMES = ['auto', 'light', 'dark'];

/** The switch between light, dark and what the system says. `changed` is called when it is another. */
export function theme(changed) {
  const node = byId('theme');
  const set = name => {
    document.documentElement.dataset.theme = name;
    node.textContent = T.themeShort[name];
    node.setAttribute('aria-label', T.theme[name]);
    node.title = T.theme[name];
    keep('theme', name === 'auto' ? null : name);
    changed();
  };
  node.addEventListener('click', () => set(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]));
  const saved = kept('theme');
  set(THEMES.includes(saved) ? saved : 'auto');
}

function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch { /* a browser that keeps nothing */ }
}

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** The line between editor and answer: by pointer, or by arrow keys. */
export function splitter() {
  const node = byId('splitter');
  const panes = byId('panes');
  const set = percent => {
    const value = Math.round(Math.min(80, Math.max(20, percent)));
    node.setAttribute('aria-valuenow', String(value));
    panes.style.setProperty('--left', `${value}%`);
    keep('split', String(value));
  };
  const now = () => Number(node.getAttribute('aria-valuenow'));
  node.addEventListener('keydown', event => {
    const step = { ArrowLeft: -2, ArrowRight: 2, Home: -100, End: 100 }[event.key];
    if (!step) return;
    set(now() + step);
    event.preventDefault();
  });
  node.addEventListener('pointerdown', event => {
    node.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  node.addEventListener('pointermove', event => {
    if (node.hasPointerCapture(event.pointerId)) {
      const box = panes.getBoundingClientRect();
      set(((event.clientX - box.left) / box.width) * 100);
    }
  });
  const saved = Number(kept('split'));
  if (saved) set(saved);
}

let timer = 0;

/** A short notice, perhaps with something to press. */
export function toast(text, label = '', action = null) {
  const node = byId('toast');
  clearTimeout(timer);
  const hide = () => { node.hidden = true; };
  node.replaceChildren(element('span', {}, text), label ? button(label, () => { hide(); action(); }) : '',
    button('×', hide, { class: 'quiet', 'aria-label': T.close }));
  node.hidden = false;
  timer = setTimeout(hide, label ? 12000 : 5000);
}

/** The list of keys, and the link when it cannot be copied. */
export function windows() {
  byId('help').append(
    element('header', {}, element('h2', { id: 'help-title' }, T.help), button('×', () => byId('help').close(), { class: 'quiet close', 'aria-label': T.close, autofocus: true })),
    element('dl', { class: 'keys' }, T.keys.map(([key, what]) => element('div', {}, element('dt', {}, key.split(', ').flatMap((one, i) => [i ? ', ' : '', element('kbd', {}, one)])), element('dd', {}, what)))));
  byId('link').append(
    element('header', {}, element('h2', { id: 'link-title' }, T.link), button('×', () => byId('link').close(), { class: 'quiet close', 'aria-label': T.close })),
    element('p', { class: 'faint' }, T.linkHelp), element('textarea', { class: 'address', readonly: true, 'aria-labelledby': 'link-title', autofocus: true }));
  for (const dialog of document.querySelectorAll('dialog')) {
    dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  }
}

/** The address of the page to the clipboard, or to be copied by hand. */
export async function copyLink(address) {
  try {
    await navigator.clipboard.writeText(address);
    toast(T.linkCopied);
  } catch {
    byId('link').querySelector('textarea').value = address;
    byId('link').showModal();
    byId('link').querySelector('textarea').select();
  }
}

/** Keys of the whole page: `actions` by name. */
export function keys(actions) {
  document.addEventListener('keydown', event => {
    if (event.isComposing || event.defaultPrevented) return;
    const open = document.querySelector('dialog[open]');
    const control = event.ctrlKey || event.metaKey;
    let action = null;
    if (event.key === 'F8') action = () => actions.problem(event.shiftKey ? -1 : 1);
    else if (event.key === 'F6') action = actions.pane;
    else if (control && event.key.toLowerCase() === 'k') action = actions.library;
    else if (!control && !event.altKey && !isTyping(event.target) && event.key === '?') action = actions.help;
    else if (!control && !event.altKey && !isTyping(event.target) && event.key === '/') action = actions.library;
    else if (event.key === 'Escape' && !open && !document.querySelector(':popover-open')) action = actions.escape;
    if (!action || (open && event.key !== 'Escape')) return;
    if (action() !== false) event.preventDefault();
  });
}

/** The focus from the editor to the answer, or back. */
export function otherPane(editor) {
  if (byId('editor-pane').contains(document.activeElement)) byId('answer-pane').focus();
  else editor.area.focus();
}
