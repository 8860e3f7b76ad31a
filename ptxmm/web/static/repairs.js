// Proposals of repair: looked for when asked, put into the text by a click, taken back by another.

import { button, element } from './dom.js';
import { Latest } from './api.js';
import { T } from './strings.js';

export class Repairs {
  /** In `section`; `ask()` completes a question, `apply(repair)` changes the text. */
  constructor(section, ask, apply) {
    this._section = section;
    this._ask = ask;
    this._apply = apply;
    this._latest = new Latest();
    section.querySelector('h2').textContent = T.repairs;
    this._body = section.querySelector('.body');
  }

  /** What a new answer of /api/check leaves to repair: the models whose verdict is `no` or `undefined`. */
  update(models) {
    this._latest.abort();
    const broken = models.filter(model => model.verdict === 'no' || model.verdict === 'undefined');
    this._section.hidden = !broken.length;
    this._body.replaceChildren(...broken.map(model => element('p', {}, button(
      models.length > 1 ? `${T.findRepairs}, ${T.under} ${model.model}` : T.findRepairs, () => this._find(model.model), { class: 'find' }))));
  }

  async _find(model) {
    this._body.replaceChildren(element('p', { role: 'status' }, T.repairing));
    const answer = await this._latest.post('/api/repair', { ...this._ask(), model });
    if (!answer) return;
    if (answer.error !== undefined) {
      this._body.replaceChildren(element('p', { class: 'wrong', role: 'alert' }, answer.error ? T.failed(answer.error) : T.unreachable, ' ', button(T.retry, () => this._find(model))));
      return;
    }
    const found = answer.repairs ?? [];
    this._body.replaceChildren(
      element('p', { role: 'status' }, found.length ? T.repairCount(found.length) : (answer.text ?? '')),
      element('ol', { class: 'proposals' }, found.map(repair => element('li', {},
        element('p', { class: 'says' }, repair.says), element('pre', { class: 'diff' }, (repair.diff ?? '').split('\n').map(line)),
        button(T.apply, () => this._apply(repair), { class: 'primary' })))));
  }
}

function line(text) {
  const name = text.startsWith('+') && !text.startsWith('+++') ? 'ins' : text.startsWith('-') && !text.startsWith('---') ? 'del' : 'span';
  return element(name, { class: 'diff-line' }, `${text}\n`);
}
