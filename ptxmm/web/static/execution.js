// The section of the execution: which one, its picture, its relations, its linearisation.

import { button, coded, element } from './dom.js';
import { Latest } from './api.js';
import { Picture } from './picture.js';
import { T } from './strings.js';

export class ExecutionView {
  /** In `section`. `ask()` gives what a question says of the test; `changed()` is called when what is shown has changed. */
  constructor(section, ask, changed) {
    this._section = section;
    this._ask = ask;
    this._changed = changed;
    this._latest = new Latest();
    this.picture = new Picture();
    this.model = '';
    this.execution = null;
    this.chosen = false; // whether somebody chose this execution, or it is the one that the verdict speaks of
    this.reasons = [];
    this.more = [];
    this._build();
    this.picture.addEventListener('colours', () => this._switchesFor(this._known ?? []));
    this.picture.addEventListener('near', event => this._near(event.detail));
  }

  _build() {
    this._place = element('span', { class: 'place' });
    this._caption = element('p', { class: 'caption' });
    this._models = element('select', { on: { change: () => { this.chosen = false; this.show(this._models.value, null); } } });
    this._modelField = element('label', { class: 'field' }, `${T.under} `, this._models);
    this._what = element('select', { on: { change: () => this.choose(this.model, this._what.value) } });
    this._previous = button('←', () => this.step(-1), { 'aria-label': T.previous, title: T.previous });
    this._next = button('→', () => this.step(1), { 'aria-label': T.next, title: T.next });
    this._switches = element('fieldset', { class: 'relations' }, element('legend', {}, T.relations));
    this._other = element('input', { type: 'text', placeholder: T.morePlaceholder, 'aria-label': T.moreRelations, spellcheck: 'false', list: 'relation-names' });
    this._names = element('datalist', { id: 'relation-names' });
    this._form = element('form', { class: 'more', on: { submit: event => { event.preventDefault(); this._addRelation(); } } },
      this._other, this._names, element('button', { type: 'submit' }, T.draw));
    this._linearisation = element('ol', { class: 'linearisation' });
    this._natural = element('input', { type: 'checkbox', on: { change: () => this.picture.host.classList.toggle('natural', this._natural.checked) } });
    this._figure = element('figure', { tabindex: '0', role: 'group', 'aria-describedby': 'picture-help' }, this.picture.node);
    this._figure.addEventListener('keydown', event => this._key(event));
    this._figure.addEventListener('scroll', () => this._cut(), { passive: true });
    new ResizeObserver(() => this._cut()).observe(this.picture.host);
    this._wrong = element('p', { class: 'wrong', role: 'alert', hidden: true });
    this._section.querySelector('h2').textContent = T.execution;
    this._parts = [
      element('div', { class: 'tools' }, element('span', { class: 'stepper' }, this._previous, this._place, this._next),
        element('label', { class: 'field' }, `${T.stepping} `, this._what), this._modelField),
      element('div', { class: 'switches' }, this._switches, this._form), this._caption, this._wrong, this._figure,
      element('div', { class: 'picture-tools' }, element('p', { id: 'picture-help', class: 'faint small' }, T.pictureHelp),
        element('label', { class: 'small' }, this._natural, ` ${T.natural}`)),
    ];
    this._told = element('details', { open: true }, element('summary', {}, T.linearisation), this._linearisation);
    this._section.querySelector('.body').replaceWith(...this._parts);
    this._section.append(this._told);
  }

  /** Where a picture goes on to the right, its edge fades. */
  _cut() {
    const { scrollLeft, clientWidth, scrollWidth } = this._figure;
    this._figure.classList.toggle('cut', scrollLeft + clientWidth < scrollWidth - 4);
  }

  /** A picture of what is asked is still to come. */
  wait() {
    this._latest.abort();
    this._section.classList.add('waiting');
    this._section.setAttribute('aria-busy', 'true');
  }

  /** Whether there is a picture to show. */
  get draws() {
    return this._answers.length > 0;
  }

  /** What there is to show: answers of /api/check. What was shown is shown again where there is such a one. */
  update(models, wanted = {}) {
    this._answers = models.filter(model => model.pictures?.length);
    this._section.hidden = !models.some(model => model.pictures?.length || model.why?.length);
    this._latest.abort();
    this._section.classList.remove('waiting');
    this._section.removeAttribute('aria-busy');
    for (const part of [...this._parts, this._told]) part.hidden = !this.draws;
    this._wrong.hidden = true;
    if (!this.draws) return;
    this._models.replaceChildren(...this._answers.map(model => element('option', { value: model.model }, model.model)));
    this._modelField.hidden = this._answers.length < 2;
    const model = this._answers.some(answer => answer.model === wanted.model) ? wanted.model : this._answers[0].model;
    const keep = model === wanted.model && wanted.execution !== null && this._has(model, wanted.execution);
    this.chosen = keep;
    this.show(model, keep ? wanted.execution : null);
  }

  /** Shows an execution that somebody chose: it stays when the text is another, as long as there is such a one. */
  choose(model, execution) {
    this.chosen = true;
    return this.show(model, execution);
  }

  /** Shows an execution of a model: a number, or a word of its `pictures`; null: the one that its verdict speaks of. */
  async show(model, execution) {
    const answer = this._answers?.find(one => one.model === model);
    if (!answer) return;
    this.model = model;
    this.execution = execution === null || execution === '' ? first(answer) : asNumber(execution);
    this._models.value = model;
    this._fillWhat(answer);
    this._figure.setAttribute('aria-busy', 'true');
    this._section.classList.add('waiting');
    const found = await this._latest.post('/api/execution', { ...this._ask(), model, execution: this.execution, relations: this.more });
    if (!found) return;
    this._figure.removeAttribute('aria-busy');
    this._section.classList.remove('waiting');
    this._wrong.hidden = !('error' in found);
    if ('error' in found) {
      this._wrong.textContent = found.error ? T.failed(found.error) : T.unreachable;
      return;
    }
    this._show(found);
  }

  _show(found) {
    this._count = found.count;
    const list = this._list();
    const at = list.findIndex(one => String(one) === String(this.execution));
    this._place.textContent = at < 0 ? '' : T.position(at + 1, list.length, found.more);
    this._previous.disabled = this._next.disabled = list.length < 2;
    const caption = found.caption ?? '';
    this._caption.textContent = caption;
    if (!this.picture.show(found.svg ?? '', caption)) {
      this._wrong.hidden = false;
      this._wrong.textContent = (!found.svg && found.text) || T.unreachable;
    }
    this._figure.setAttribute('aria-label', T.pictureLabel(`${caption}; ${this._place.textContent}`));
    this._switchesFor(found.relations ?? []);
    const lines = found.lines ?? (found.text ?? '').split('\n').filter(Boolean).map(text => ({ text, events: [] }));
    this._linearisation.replaceChildren(...lines.map(line => this._line(line)));
    this.reasons = found.reasons ?? [];
    this._changed();
  }

  _line({ text, events, edges }) {
    const lit = () => this.picture.light(edges ?? [], events);
    const out = () => this.picture.light();
    const on = events?.length ? { pointerenter: lit, pointerleave: out, focusin: lit, focusout: out } : {};
    return element('li', { on, data: { events: (events ?? []).join(' ') }, tabindex: events?.length ? '0' : null }, coded(text));
  }

  /** The executions that are stepped through, in order. */
  _list() {
    const all = String(this.execution).startsWith('all-');
    if (all) return Array.from({ length: this._count ?? 1 }, (_, i) => `all-${i}`);
    const answer = this._answers.find(one => one.model === this.model);
    const pictures = answer.pictures.map(one => one.execution);
    const states = (answer.states ?? []).filter(state => state.allowed !== false && Number.isInteger(state.execution)).map(state => state.execution);
    const numbers = [...new Set([...pictures.filter(Number.isInteger), ...states])].sort((a, b) => a - b);
    return [...pictures.filter(one => !Number.isInteger(one)), ...numbers];
  }

  _has(model, execution) {
    if (String(execution).startsWith('all-')) return true;
    const answer = this._answers.find(one => one.model === model);
    return answer.pictures.some(one => String(one.execution) === String(execution))
      || (answer.states ?? []).some(state => String(state.execution) === String(execution));
  }

  _fillWhat(answer) {
    const words = answer.pictures.map(one => one.execution).filter(one => !Number.isInteger(one));
    const numbers = answer.pictures.find(one => Number.isInteger(one.execution));
    const options = [];
    if (numbers) options.push([String(numbers.execution), T.onePerState], ['all-0', T.everyExecution]);
    for (const word of words) options.push([word, special(word)]);
    this._what.replaceChildren(...options.map(([value, text]) => element('option', { value }, text)));
    const shown = String(this.execution);
    this._what.value = Number.isInteger(this.execution) ? String(numbers?.execution) : shown.startsWith('all-') ? 'all-0' : shown;
  }

  step(by, absolute = false) {
    const list = this._list();
    if (!list.length) return;
    const at = list.findIndex(one => String(one) === String(this.execution));
    const next = absolute ? (by < 0 ? 0 : list.length - 1) : (at + by + list.length) % list.length;
    this.choose(this.model, list[next]);
  }

  _key(event) {
    if (event.target !== this._figure || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { n: 1, ArrowRight: 1, p: -1, ArrowLeft: -1 };
    if (event.key in steps) this.step(steps[event.key]);
    else if (event.key === 'Home') this.step(-1, true);
    else if (event.key === 'End') this.step(1, true);
    else return;
    event.preventDefault();
  }

  _switchesFor(known) {
    this._known = known;
    const focused = document.activeElement?.closest?.('.relations') ? document.activeElement.value : null;
    const drawn = this.picture.relations();
    this._switches.replaceChildren(element('legend', {}, T.relations), ...drawn.map(({ name, count, colour }) => {
      const input = element('input', { type: 'checkbox', value: name, on: { change: () => { this.picture.turn(name, input.checked); this._changed(); } } });
      input.checked = !this.picture.off.has(name);
      const swatch = element('span', { class: 'swatch', 'aria-hidden': 'true' });
      swatch.style.background = colour || 'currentColor';
      return element('label', {}, input, swatch, name, count ? element('span', { class: 'faint' }, ` ${count}`) : null);
    }));
    if (focused) [...this._switches.querySelectorAll('input')].find(input => input.value === focused)?.focus();
    const more = this.more.map(name => button(`${name} ×`, () => { this.more = this.more.filter(one => one !== name); this.show(this.model, this.execution); },
      { class: 'chip', 'aria-label': T.remove(name) }));
    this._switches.append(...more);
    this._names.replaceChildren(...known.filter(one => !one.drawn).map(one => element('option', { value: one.name })));
  }

  _addRelation() {
    const name = this._other.value.trim().replace(/\s*([^\w\s"])\s*/g, '$1'); // names of lines are kept apart by spaces
    if (!name || this.more.includes(name)) return;
    this.more = [...this.more, name];
    this._other.value = '';
    this.show(this.model, this.execution);
  }

  /** What is under the pointer in the picture lights its line of the linearisation, and is told to whom asks. */
  _near(part) {
    const events = part?.event ? [part.event] : part?.edge ? part.edge.slice(1) : [];
    for (const line of this._linearisation.children) {
      line.classList.toggle('near', events.length > 0 && line.dataset.events.split(' ').some(event => events.includes(event)));
    }
    this._section.dispatchEvent(new CustomEvent('near', { detail: part }));
  }
}

function first(answer) {
  const why = answer.why?.find(one => one.execution !== undefined && one.execution !== null && one.execution !== '');
  const special = answer.pictures.find(one => !Number.isInteger(one.execution));
  const meets = answer.states?.find(state => state.satisfies && state.allowed !== false && Number.isInteger(state.execution));
  return asNumber(why?.execution ?? special?.execution ?? meets?.execution ?? answer.pictures[0].execution);
}

function asNumber(execution) {
  return /^\d+$/.test(String(execution)) ? Number(execution) : execution;
}

function special(word) {
  const [name, number] = String(word).split('-');
  const text = T.special[name];
  return typeof text === 'function' ? text(Number(number) + 1) : text ?? word;
}
