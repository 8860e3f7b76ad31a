// Which models answer: those that ship, readings of them, the user's own; and the options of a check.

import { byId, element } from './dom.js';
import { get } from './api.js';
import { T } from './strings.js';

const MOST = 6;
export const YOURS = 'yours';

export class Models extends EventTarget {
  /** The menu `node`, opened by `opener`. It tells `change`, and `yours` ({detail: text or null}) when the user's model comes or goes. */
  constructor(node, opener) {
    super();
    this._node = node;
    this._opener = opener;
    this.known = [];
    this.chosen = [];
    this.options = {};
    this._defined = [];
    this._yours = false;
    node.addEventListener('toggle', event => opener.setAttribute('aria-expanded', String(event.newState === 'open')));
  }

  async load() {
    const [models, options] = await Promise.all([get('/api/models'), get('/api/options')]);
    this.known = (Array.isArray(models) ? models : []).toSorted((a, b) => Boolean(b.default) - Boolean(a.default) || b.name.localeCompare(a.name));
    this._defined = Array.isArray(options) ? options : [];
    if (!this.chosen.length) this.chosen = this.defaults();
    this._draw();
    return !models?.error && models?.error !== '';
  }

  defaults() {
    const wanted = this.known.filter(model => model.default).map(model => model.name);
    return wanted.length ? wanted : this.known.slice(0, 1).map(model => model.name);
  }

  /** The models and options of a state. */
  set(chosen, options, yours) {
    this.chosen = [...new Set(chosen.filter(name => typeof name === 'string' && name && name !== YOURS))].slice(0, MOST);
    if (!this.chosen.length) this.chosen = this.defaults();
    this.options = { ...options };
    this._yours = yours;
    this._draw();
  }

  /** The models to ask for: none where the user's own is the only one. */
  get asked() {
    return this.chosen;
  }

  _draw() {
    const [name = this._yours ? T.yours : ''] = this.chosen;
    byId('chosen-models').textContent = T.chosenCount(name, this.chosen.length - 1 + (this._yours ? 1 : 0));
    const active = document.activeElement?.id;
    const others = this.chosen.filter(one => !this.known.some(model => model.name === one));
    this._node.replaceChildren(
      element('h2', {}, T.models), element('p', { class: 'faint small' }, T.modelsHelp),
      ...this.known.map((model, i) => this._choice(`model-${i}`, model.name, model.about, this.chosen.includes(model.name), on => this._choose(model.name, on))),
      ...others.map((one, i) => this._choice(`reading-${i}`, one, '', true, on => this._choose(one, on))),
      this._choice('model-yours', T.yours, T.yoursAbout, this._yours, on => this._own(on)),
      this._other(), this._settings());
    if (active && this._node.matches(':popover-open')) byId(active)?.focus();
  }

  _choice(id, name, about, on, changed) {
    const input = element('input', { type: 'checkbox', id, on: { change: () => changed(input.checked) } });
    input.checked = on;
    const full = !on && this.chosen.length + this._yours >= MOST;
    input.disabled = full || (on && this.chosen.length + this._yours === 1);
    return element('label', { class: 'choice', for: id }, input, element('span', {}, element('strong', {}, name), about ? element('span', { class: 'faint' }, ` ${about}`) : null));
  }

  _choose(name, on) {
    this.chosen = on ? [...this.chosen, name] : this.chosen.filter(one => one !== name);
    const order = this.known.map(model => model.name);
    this.chosen.sort((a, b) => (order.indexOf(a) + 1 || 99) - (order.indexOf(b) + 1 || 99));
    this._told();
  }

  async _own(on) {
    this._yours = on;
    const base = this.chosen.find(name => this.known.some(model => model.name === name)) ?? this.known[0]?.name;
    const start = on && base ? await get(`/api/models/${encodeURIComponent(base)}`) : null;
    this._draw();
    this.dispatchEvent(new CustomEvent('yours', { detail: on ? start?.text ?? '' : null }));
  }

  _other() {
    const input = element('input', { type: 'text', id: 'other-model', placeholder: T.otherPlaceholder, list: 'other-models', spellcheck: 'false' });
    const names = this.known.flatMap(model => (model.axioms ?? []).map(axiom => `${model.name}/-${axiom}`));
    const submit = event => {
      event.preventDefault();
      const name = input.value.trim();
      if (name && !this.chosen.includes(name) && this.chosen.length + this._yours < MOST) this._choose(name, true);
    };
    return element('form', { class: 'more', on: { submit } }, element('label', { for: 'other-model' }, T.otherModel), input,
      element('datalist', { id: 'other-models' }, names.map(value => element('option', { value }))), element('button', { type: 'submit' }, T.add));
  }

  _settings() {
    if (!this._defined.length) return '';
    const open = this._node.querySelector('details')?.open || Object.keys(this.options).length > 0;
    return element('details', { open }, element('summary', {}, T.options), this._defined.map((option, i) => this._setting(option, `option-${i}`)));
  }

  _setting(option, id) {
    const value = this.options[option.name];
    const changed = given => {
      if (given === undefined || given === '' || given === option.default) delete this.options[option.name];
      else this.options[option.name] = given;
      this._told();
    };
    let input;
    if (option.type === 'flag') {
      input = element('input', { type: 'checkbox', id, on: { change: () => changed(input.checked) } });
      input.checked = value ?? option.default ?? false;
    } else if (option.values && option.type !== 'list') {
      input = element('select', { id, on: { change: () => changed(input.value) } },
        option.values.includes(option.default) ? null : element('option', { value: '' }, T.byDefault), option.values.map(one => element('option', { value: one }, one)));
      input.value = value ?? option.default ?? '';
    } else {
      const read = text => (option.type === 'number' ? (text === '' ? undefined : Number(text)) : option.type === 'list' ? list(text) : text);
      input = element('input', { type: option.type === 'number' ? 'number' : 'text', id, placeholder: option.default ?? '', on: { change: () => changed(read(input.value)) } });
      input.value = Array.isArray(value) ? value.join(', ') : value ?? '';
    }
    return element('label', { class: 'setting', for: id }, element('span', {}, element('strong', {}, option.name), element('span', { class: 'faint' }, ` ${option.about ?? ''}`)), input);
  }

  _told() {
    this._draw();
    this.dispatchEvent(new Event('change'));
  }
}

function list(text) {
  const items = text.split(',').map(one => one.trim()).filter(Boolean);
  return items.length ? items : undefined;
}
