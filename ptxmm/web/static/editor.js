// An editor: a textarea, whose text is drawn, coloured, by a layer behind it. Typing, undo, input methods and screen readers are the
// browser's own. The layer gives the size, so that both scroll as one.

import { element } from './dom.js';
import { T } from './strings.js';
import { tokens } from './words.js';

let editors = 0;

export class Editor extends EventTarget {
  /** An empty editor. It tells `input` when the text changes, and `caret` when the caret moves. */
  constructor(label) {
    super();
    const id = `text-${++editors}`;
    this.kind = 'litmus';
    this.problems = [];
    this._lines = [];
    this.area = element('textarea', {
      id, class: 'code', 'aria-label': label, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', autocorrect: 'off',
      wrap: 'off', 'aria-describedby': `${id}-keys`,
    });
    this._layer = element('div', { class: 'code layer', 'aria-hidden': 'true' });
    this._marks = element('div', { class: 'code marks', 'aria-hidden': 'true' });
    this._gutter = element('div', { class: 'gutter', 'aria-hidden': 'true' });
    this._ruler = element('span', { class: 'code ruler', 'aria-hidden': 'true' });
    this._sheet = element('div', { class: 'sheet' }, this._layer, this._marks, this._ruler, this.area);
    this._scroller = element('div', { class: 'scroller' }, this._gutter, this._sheet);
    this.node = element('div', { class: 'editor' }, this._scroller,
      element('p', { id: `${id}-keys`, class: 'unseen' }, T.editorKeys));
    this.area.addEventListener('input', () => this._changed());
    for (const event of ['keyup', 'click', 'focus', 'blur']) {
      this.area.addEventListener(event, () => this._moved());
    }
    this._changed();
  }

  get text() {
    return this.area.value;
  }

  /** Another text. With `undoable` it is one step that the browser's undo takes back. */
  setText(text, undoable = false) {
    if (text === this.text) return;
    if (undoable) {
      this.replace(0, this.text.length, text);
    } else {
      this.area.value = text;
      this._changed();
    }
    this.area.setSelectionRange(0, 0);
    this._scroller.scrollTo(0, 0);
  }

  setKind(kind) {
    this.kind = kind;
    this._lines = [];
    this._draw();
  }

  /** Puts `text` in the place of what stands from `from` to `to`, so that undo takes it back. */
  replace(from, to, text) {
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(from, to);
    const done = text ? document.execCommand('insertText', false, text) : document.execCommand('delete');
    if (!done || this.area.value.slice(from, from + text.length) !== text) {
      this.area.setRangeText(text, from, to, 'end'); // a browser without the command: the text is right, the undo is not kept
      this._changed();
    }
  }

  /** Shows the problems of the text: each has `from` and `to`, in units of the text. */
  mark(problems) {
    this.problems = problems;
    this._drawMarks();
  }

  /** Puts the caret at a problem, or selects what it speaks of. */
  jump(from, to) {
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(from, Math.max(from, to));
    this.reveal(from);
    this._moved();
  }

  /** Where the character at `offset` is drawn, as a rectangle of the window without width. */
  place(offset) {
    const before = this.text.slice(0, offset);
    const line = before.split('\n').length - 1;
    this._ruler.textContent = before.slice(before.lastIndexOf('\n') + 1) || '\u200b';
    const sheet = this._layer.getBoundingClientRect();
    const height = this._lineHeight();
    const ruler = this._ruler.getBoundingClientRect();
    return { left: ruler.right, top: sheet.top + line * height + this._padding(), height };
  }

  /** Scrolls until the character at `offset` is seen. */
  reveal(offset) {
    const { left, top, height } = this.place(offset);
    const box = this._scroller.getBoundingClientRect();
    const gutter = this._gutter.offsetWidth;
    if (top < box.top + height) this._scroller.scrollTop -= box.top + 3 * height - top;
    if (top + 2 * height > box.bottom) this._scroller.scrollTop += top + 3 * height - box.bottom;
    if (left < box.left + gutter + 4) this._scroller.scrollLeft -= box.left + gutter + box.width / 4 - left;
    if (left > box.right - 40) this._scroller.scrollLeft += left - box.right + box.width / 3;
  }

  /** The offset where line `line` (from 1) begins. */
  lineStart(line) {
    let at = 0;
    for (let i = 1; i < line; i++) {
      const next = this.text.indexOf('\n', at);
      if (next < 0) return this.text.length;
      at = next + 1;
    }
    return at;
  }

  _padding() {
    return parseFloat(getComputedStyle(this._layer).paddingTop);
  }

  _lineHeight() {
    return parseFloat(getComputedStyle(this._layer).lineHeight);
  }

  _changed() {
    this._draw();
    this.mark([]); // what was said of another text is not said of this one
    this.dispatchEvent(new Event('input'));
  }

  _moved() {
    if (this._caret === this.area.selectionStart) return;
    this._caret = this.area.selectionStart;
    if (document.activeElement === this.area) this.reveal(this._caret);
    this.dispatchEvent(new Event('caret'));
  }

  /** Draws the lines that differ from those drawn: a key in a long text costs one line. */
  _draw() {
    const lines = this.text.split('\n');
    const drawn = [];
    let state = '';
    let top = true;
    lines.forEach((text, i) => {
      const old = this._lines[i];
      if (old && old.text === text && old.begins === state && old.top === top) {
        drawn.push(old);
      } else {
        const [found, ends] = tokens(this.kind, text, state, top);
        const node = element('div', { class: 'line' },
          found.map(([name, part]) => (name ? element('span', { class: `t-${name}` }, part) : part)), text ? null : '\u200b');
        if (old) old.node.replaceWith(node);
        else this._layer.append(node);
        const above = top && found.every(([name, part]) => name === 'comment' || !part.trim());
        drawn.push({ text, begins: state, top, node, ends, above });
      }
      state = drawn[i].ends;
      top = drawn[i].above;
    });
    for (const old of this._lines.slice(lines.length)) old.node.remove();
    if (!this._lines.length) this._layer.replaceChildren(...drawn.map(line => line.node));
    this._lines = drawn;
    this._number(lines.length);
  }

  _number(count) {
    while (this._gutter.children.length > count) this._gutter.lastChild.remove();
    while (this._gutter.children.length < count) {
      this._gutter.append(element('div', { class: 'number' }, String(this._gutter.children.length + 1)));
    }
  }

  _drawMarks() {
    for (const number of this._gutter.querySelectorAll('[data-severity]')) delete number.dataset.severity;
    const lines = new Map();
    for (const problem of this.problems) {
      const number = this._gutter.children[problem.line - 1];
      if (number && number.dataset.severity !== 'error') number.dataset.severity = problem.severity;
      const from = problem.from - this.lineStart(problem.line);
      const text = this._lines[problem.line - 1]?.text ?? '';
      const to = Math.min(text.length, Math.max(from + 1, problem.to - this.lineStart(problem.line)));
      const row = element('div', { class: 'mark-row' }, element('span', { class: 'before' }, text.slice(0, from)),
        element('span', { class: 'squiggle', data: { severity: problem.severity } }, text.slice(from, to) || '\u00a0'));
      row.style.top = `calc(var(--code-pad) + ${problem.line - 1} * var(--code-line))`;
      lines.set(problem, row);
    }
    this._marks.replaceChildren(...lines.values());
    this.area.toggleAttribute('aria-invalid', this.problems.some(problem => problem.severity === 'error'));
    if (this.area.hasAttribute('aria-invalid')) this.area.setAttribute('aria-invalid', 'true');
  }
}
