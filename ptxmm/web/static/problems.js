// What is wrong with the texts: marks at the lines, and a list that jumps there.

import { button, element, toUnits } from './dom.js';
import { T } from './strings.js';

export class Problems {
  /** The list in `node`, of problems in `texts`. */
  constructor(node, texts) {
    this._node = node;
    this._texts = texts;
    this._found = [];
    this._at = -1;
  }

  get errors() {
    return this._found.filter(one => one.severity === 'error').length;
  }

  update(diagnostics) {
    this._found = diagnostics.map(one => this._placed(one));
    this._at = -1;
    for (const name of this._texts.names()) {
      this._texts.editorOf(name).mark(this._found.filter(one => one.name === name && one.line > 0));
    }
    this._node.hidden = !this._found.length;
    this._node.replaceChildren(
      element('h2', { class: 'unseen' }, this.told()),
      element('ul', {}, this._found.map((one, i) => element('li', {}, this._item(one, i)))));
  }

  _item(one, i) {
    const where = T.problem(one.severity, one.line) + (one.name === 'text' ? '' : ` ${T.inFile(this._texts.titleOf(one.name))}`);
    return button([element('span', { class: 'where', data: { severity: one.severity } }, where), ' ', element('span', { class: 'what' }, one.message),
      one.hint ? element('span', { class: 'hint' }, ` ${one.hint}`) : ''], () => this._jump(i), { class: 'problem' });
  }

  /** How many problems there are, and the first of them. */
  told() {
    const warnings = this._found.length - this.errors;
    const [first] = this._found;
    return first ? `${T.problemCount(this.errors, warnings)}. ${T.problem(first.severity, first.line)}: ${first.message}` : '';
  }

  /** Goes to the next problem, or with -1 to the one before. */
  next(step) {
    if (!this._found.length) return;
    const at = this._at < 0 ? (step > 0 ? 0 : this._found.length - 1) : this._at + step;
    this._jump((at + this._found.length) % this._found.length);
  }

  _jump(i) {
    this._at = i;
    const one = this._found[i];
    this._texts.choose(one.name);
    this._texts.editor.jump(one.from, one.to);
  }

  /** A diagnostic with its place in units of the text. */
  _placed(one) {
    const name = this._texts.has(one.in) ? one.in : 'text';
    const editor = this._texts.editorOf(name);
    const start = editor.lineStart(Math.max(1, one.line));
    const end = editor.text.indexOf('\n', start);
    const line = editor.text.slice(start, end < 0 ? undefined : end);
    const from = start + toUnits(line, Math.max(0, (one.column ?? 1) - 1));
    const to = start + toUnits(line, Math.max(0, (one.endColumn ?? one.column ?? 1) - 1));
    return { ...one, name, from, to };
  }
}
