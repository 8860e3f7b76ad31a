// The reason of a verdict, line by line. A line and its edges in the picture are lit together, from either side.

import { coded, element } from './dom.js';
import { T } from './strings.js';

export class Reasons {
  /** In `section`; `view` is the ExecutionView whose picture is lit. */
  constructor(section, view) {
    this._section = section;
    this._view = view;
    this._items = [];
    this._pinned = null;
    this._told = [];
    document.getElementById('execution').addEventListener('near', event => this._near(event.detail));
  }

  update(models) {
    // Why an outcome is there, its execution says; why there is none, the verdict does.
    this._told = models.filter(model => model.why?.length && !Number.isInteger(model.why[0].execution));
    this._several = models.length > 1;
    this._shown = null;
    this.show(this._view.model);
  }

  /** Shows the reason of the verdict of `model`, whose picture is shown. */
  show(model) {
    const ofVerdict = this._told.find(one => one.model === model) ?? (this._view.draws ? null : this._told[0]);
    const ofExecution = this._ofExecution(model);
    // What a race or a wait comes from is not what the condition of the test comes from.
    const special = /^(race|wait)-/.test(String(this._view.execution));
    const told = (special ? ofExecution : null) ?? ofVerdict ?? ofExecution;
    if (told && this._shown === told) return;
    this._shown = told;
    this._pinned = null;
    this._items = [];
    this._section.hidden = !told;
    if (!told) return;
    this._section.querySelector('h3').textContent = told.ofExecution ? T.whyExecution : this._several ? T.whyUnder(told.model) : T.why;
    this._section.querySelector('.body').replaceChildren(
      element('p', { class: 'faint small' }, T.whyHelp),
      element('ul', { class: 'reasons' }, told.why.map(reason => this._item(told.model, reason))));
  }

  /** Why the execution that is shown may be as it is. */
  _ofExecution(model) {
    const { reasons, execution, draws } = this._view;
    return draws && reasons.length ? { model, ofExecution: true, why: reasons.map(reason => ({ ...reason, execution })) } : null;
  }

  _item(model, reason) {
    const depth = Math.min(4, reason.text.search(/\S|$/) >> 1);
    const place = { class: `depth-${depth}` };
    if (!reason.edges?.length && !reason.events?.length) return element('li', place, element('p', { class: 'reason' }, coded(reason.text.trim())));
    const node = element('button', {
      type: 'button', class: 'reason', 'aria-pressed': 'false',
      on: {
        pointerenter: () => this._light(item), focus: () => this._light(item),
        pointerleave: () => this._light(this._pinned), blur: () => this._light(this._pinned),
        click: () => this._pin(item),
      },
    }, coded(reason.text.trim()));
    const item = { model, node, edges: reason.edges ?? [], events: reason.events ?? [], execution: reason.execution };
    this._items.push(item);
    return element('li', place, node);
  }

  /** Keeps a reason lit, and shows the execution that it speaks of. */
  async _pin(item) {
    this._pinned = this._pinned === item ? null : item;
    for (const one of this._items) one.node.setAttribute('aria-pressed', String(one === this._pinned));
    if (this._pinned && !this._isShown(item)) await this._view.show(item.model, item.execution);
    this._light(this._pinned);
  }

  /** Puts out what is lit. True where something was. */
  clear() {
    const was = this._pinned !== null;
    this._pinned = null;
    for (const one of this._items) one.node.setAttribute('aria-pressed', 'false');
    this._light(null);
    return was;
  }

  /** Lights again what was kept lit, in a picture that is new. */
  again() {
    this._light(this._pinned);
  }

  _isShown(item) {
    return item.model === this._view.model && (item.execution === undefined || String(item.execution) === String(this._view.execution));
  }

  _light(item) {
    for (const one of this._items) one.node.classList.toggle('lit', one === item);
    const shown = item && this._isShown(item);
    this._view.picture.light(shown ? item.edges : [], shown ? item.events : []);
  }

  _near(part) {
    const [relations, from, to] = part?.edge ?? [[], '', ''];
    const event = part?.event;
    for (const item of this._items) {
      const speaks = part && this._isShown(item) && ((event && item.events.includes(event)) || item.edges.some(([relation, a, b]) =>
        ((a === from && b === to) || (a === to && b === from)) && (relations.includes(relation.replace(/\^-1$/, '')) || item.edges.length === 1)));
      item.node.classList.toggle('near', Boolean(speaks));
    }
  }
}
