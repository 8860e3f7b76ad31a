// Completion: a list at the caret. The focus stays in the text; `aria-activedescendant` says which item is meant.

import { element, toCharacters, toUnits, debounced } from './dom.js';
import { Latest } from './api.js';
import { T } from './strings.js';

const MOST = 200;
const WORD = /[\w.%:$@-]/;

export class Completion {
  /** Completion of `editor`; `kind()` is the kind of its text, `say` tells a screen reader. */
  constructor(editor, kind, say) {
    this._editor = editor;
    this._kind = kind;
    this._say = say;
    this._latest = new Latest();
    this._items = [];
    this._at = 0;
    this._asked = debounced(explicit => this._ask(explicit), 40);
    const id = `${editor.area.id}-words`;
    this._list = element('ul', { id, class: 'completion', role: 'listbox', 'aria-label': T.completions, hidden: true });
    editor.node.append(this._list);
    const area = editor.area;
    area.setAttribute('aria-autocomplete', 'list');
    area.setAttribute('aria-haspopup', 'listbox');
    area.setAttribute('aria-controls', id);
    area.addEventListener('keydown', event => this._key(event));
    area.addEventListener('input', event => this._typed(event));
    area.addEventListener('blur', () => this.close());
    editor.addEventListener('caret', () => this._strayed());
    editor.node.querySelector('.scroller').addEventListener('scroll', () => this.close());
    this._list.addEventListener('pointerdown', event => {
      event.preventDefault(); // the focus stays in the text
      const item = event.target.closest('[role=option]');
      if (item) this._take(Number(item.dataset.index));
    });
  }

  get isOpen() {
    return !this._list.hidden;
  }

  close() {
    this._asked.cancel();
    this._latest.abort();
    this._list.hidden = true;
    this._editor.area.removeAttribute('aria-activedescendant');
  }

  _typed(event) {
    const area = this._editor.area;
    const before = area.value[area.selectionStart - 1] ?? '';
    const typing = !event.inputType || event.inputType === 'insertText' || event.inputType === 'deleteContentBackward';
    if (event.isComposing || !typing || !WORD.test(before)) this.close();
    else if (this.isOpen) this._narrow();
    if (!event.isComposing && event.inputType === 'insertText' && WORD.test(before)) this._asked(false);
    else if (this.isOpen) this._asked(false);
  }

  _strayed() {
    const at = this._editor.area.selectionStart;
    if (this.isOpen && (at < this._from || this._editor.text.slice(this._from, at).includes('\n'))) this.close();
  }

  async _ask(explicit) {
    const area = this._editor.area;
    const { value: text, selectionStart: at } = area;
    const answer = await this._latest.post('/api/complete', { text, kind: this._kind(), offset: toCharacters(text, at) });
    if (!answer || answer.error || area.value !== text || area.selectionStart !== at || document.activeElement !== area) return;
    this._from = toUnits(text, answer.from);
    this._all = answer.items ?? [];
    this._narrow(explicit);
  }

  /** Shows those of the items that go on with what stands before the caret. */
  _narrow(explicit = false) {
    const area = this._editor.area;
    const word = area.value.slice(this._from, area.selectionStart).toLowerCase();
    this._items = (this._all ?? []).filter(item => item.label.toLowerCase().startsWith(word)).slice(0, MOST);
    const done = this._items.length === 1 && this._items[0].label.toLowerCase() === word;
    if (!this._items.length || (done && !explicit) || (!word && !explicit)) {
      if (explicit) this._say(T.noCompletions);
      this._list.hidden = true;
      area.removeAttribute('aria-activedescendant');
      return;
    }
    this._list.replaceChildren(...this._items.map((item, i) =>
      element('li', { id: `${this._list.id}-${i}`, role: 'option', 'aria-selected': 'false', data: { index: i } },
        element('span', { class: 'label' }, element('b', {}, item.label.slice(0, word.length)), item.label.slice(word.length)),
        item.detail ? element('span', { class: 'detail' }, item.detail) : null)));
    const opened = this._list.hidden;
    this._list.hidden = false;
    this._put();
    this._choose(0);
    if (opened) this._say(T.completionCount(this._items.length));
  }

  _put() {
    const { left, top, height } = this._editor.place(this._from);
    const box = this._editor.node.getBoundingClientRect();
    const room = window.innerHeight - top - height;
    const above = room < this._list.offsetHeight + 8 && top > this._list.offsetHeight;
    const x = Math.min(left - box.left, box.width - this._list.offsetWidth - 8);
    this._list.style.left = `${Math.max(4, x - 12)}px`;
    this._list.style.top = `${top - box.top + (above ? -this._list.offsetHeight - 2 : height + 2)}px`;
  }

  _choose(index) {
    const items = [...this._list.children];
    this._at = (index + items.length) % items.length;
    items.forEach((item, i) => item.setAttribute('aria-selected', String(i === this._at)));
    items[this._at].scrollIntoView({ block: 'nearest' });
    this._editor.area.setAttribute('aria-activedescendant', items[this._at].id);
  }

  _take(index) {
    const item = this._items[index];
    this.close();
    this._editor.replace(this._from, this._editor.area.selectionStart, item.label);
    this.close();
  }

  _key(event) {
    if (event.isComposing) return;
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault();
      this._ask(true);
      return;
    }
    if (!this.isOpen || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key in moves) {
      const wanted = this._at + moves[event.key];
      this._choose(Math.abs(moves[event.key]) > 1 ? Math.min(Math.max(wanted, 0), this._items.length - 1) : wanted);
    } else if (event.key === 'Enter' || (event.key === 'Tab' && !event.shiftKey)) {
      this._take(this._at);
    } else if (event.key === 'Escape') {
      this.close();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
