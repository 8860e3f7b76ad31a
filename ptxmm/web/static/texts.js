// The texts that a state has, each in a tab: the test, the files that it names, and a model of the user's own.

import { button, element } from './dom.js';
import { Editor } from './editor.js';
import { Completion } from './complete.js';
import { T } from './strings.js';

const MAIN = 'text';
const MODEL = 'cat';

export class Texts extends EventTarget {
  /** Tabs in `tabs`, editors in `place`. It tells `change` when a text changes. `say` tells a screen reader. */
  constructor(tabs, place, say) {
    super();
    this._tabs = tabs;
    this._place = place;
    this._say = say;
    this._parts = new Map(); // name -> {editor, tab, completion}
    this.kind = 'litmus';
    this.active = MAIN;
    this._put(MAIN, '');
    this._tabs.addEventListener('keydown', event => this._key(event));
    this.choose(MAIN);
  }

  get text() {
    return this._parts.get(MAIN).editor.text;
  }

  /** The text of the user's model; null where there is none. */
  get cat() {
    return this._parts.get(MODEL)?.editor.text ?? null;
  }

  get files() {
    return Object.fromEntries([...this._parts].filter(([name]) => name !== MAIN && name !== MODEL).map(([name, part]) => [name, part.editor.text]));
  }

  get editor() {
    return this._parts.get(this.active).editor;
  }

  get main() {
    return this._parts.get(MAIN).editor;
  }

  /** All texts anew. `undoable`: the test's text can be taken back by undo. */
  set({ text, kind, cat = null, files = {} }, undoable = false) {
    this._quiet = true;
    for (const name of [...this._parts.keys()]) {
      if (name !== MAIN && !(name === MODEL && cat !== null) && !Object.hasOwn(files, name)) this._drop(name);
    }
    this.setKind(kind);
    if (undoable && this.active !== MAIN) this.choose(MAIN);
    this.main.setText(text, undoable);
    for (const [name, content] of Object.entries(files)) this._put(name, content);
    if (cat !== null) this._put(MODEL, cat);
    this._quiet = false;
    if (!this._parts.has(this.active)) this.choose(MAIN);
    this._label();
    this.dispatchEvent(new Event('change'));
  }

  setKind(kind) {
    this.kind = kind;
    this.main.setKind(kind);
    this._label();
  }

  setModel(text) {
    if (text === null) this._drop(MODEL);
    else this._put(MODEL, text);
    this._label();
    this.dispatchEvent(new Event('change'));
  }

  /** Another text in the tab `name` ('' is the test), which undo takes back. */
  edit(name, text) {
    const tab = name && this._parts.has(name) ? name : MAIN;
    this.choose(tab);
    this._parts.get(tab).editor.setText(text, true);
  }

  addFile() {
    const named = [...this.text.matchAll(/^\s*(?:ptx|file|module)\s*=\s*"([^"/\\]+)"/gm)].map(match => match[1]);
    const name = named.find(one => !this._parts.has(one)) ?? this._free();
    this._put(name, '');
    this._label();
    this.choose(name);
    this.editor.area.focus();
    this.dispatchEvent(new Event('change'));
  }

  _free() {
    for (let i = 1; ; i++) if (!this._parts.has(`file${i}.ptx`)) return `file${i}.ptx`;
  }

  choose(name) {
    this.active = name;
    for (const [other, { editor, tab }] of this._parts) {
      editor.node.hidden = other !== name;
      tab.setAttribute('aria-selected', String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
    }
  }

  /** The name of the tab that a diagnostic with `in` speaks of. */
  has(name) {
    return this._parts.has(name);
  }

  editorOf(name) {
    return this._parts.get(name)?.editor;
  }

  names() {
    return [...this._parts.keys()];
  }

  titleOf(name) {
    return name === MAIN ? T.texts[this.kind] : name === MODEL ? T.yours : name;
  }

  _put(name, text) {
    const part = this._parts.get(name);
    if (part) {
      part.editor.setText(text);
      return;
    }
    const editor = new Editor(name === MAIN ? T.texts.litmus : name === MODEL ? T.yours : T.fileLabel(name));
    const kind = () => (name === MAIN ? this.kind : name === MODEL ? 'cat' : 'ptx');
    editor.setKind(kind());
    editor.setText(text);
    const completion = new Completion(editor, kind, this._say);
    const id = `tab-${editor.area.id}`;
    editor.node.id = `${id}-panel`;
    editor.node.setAttribute('role', 'tabpanel');
    editor.node.setAttribute('aria-labelledby', id);
    const tab = button('', () => { this.choose(name); this.editor.area.focus(); }, { role: 'tab', id, 'aria-controls': editor.node.id, data: { name } });
    this._parts.set(name, { editor, tab, completion });
    editor.node.hidden = name !== this.active;
    this._place.append(editor.node);
    editor.addEventListener('input', () => {
      if (!this._quiet) this.dispatchEvent(new Event('change'));
    });
  }

  _drop(name) {
    const part = this._parts.get(name);
    if (!part) return;
    part.editor.node.remove();
    this._parts.delete(name);
    if (this.active === name) this.choose(MAIN);
  }

  _label() {
    const order = [MAIN, ...this.names().filter(name => name !== MAIN && name !== MODEL), ...(this._parts.has(MODEL) ? [MODEL] : [])];
    for (const name of order) {
      const { tab, editor } = this._parts.get(name);
      const title = this.titleOf(name);
      tab.textContent = title;
      if (name === MAIN) editor.area.setAttribute('aria-label', title);
    }
    this._tabs.replaceChildren(...order.map(name => this._parts.get(name).tab));
    this.choose(this.active);
  }

  _key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...this._tabs.children];
    const next = tabs[(tabs.findIndex(tab => tab.dataset.name === this.active) + step + tabs.length) % tabs.length];
    this.choose(next.dataset.name);
    next.focus();
    event.preventDefault();
  }
}
