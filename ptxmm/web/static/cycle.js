// A test from a cycle of edges, shown as one types.

import { button, debounced, element } from './dom.js';
import { Latest } from './api.js';
import { T } from './strings.js';

export class Cycle {
  /** In the dialog `node`; `use(answer)` puts the test into the editor; `body(question)` completes a question. */
  constructor(node, use, body) {
    this._node = node;
    this._use = use;
    this._body = body;
    this._latest = new Latest();
    this._test = null;
    this._ask = debounced(() => this._answer(), 60);
    const changed = () => { this._ready(null); this._ask(); };
    this._edges = element('input', {
      type: 'text', id: 'cycle-edges', spellcheck: 'false', autocomplete: 'off', autofocus: true, 'aria-describedby': 'cycle-help cycle-wrong', on: { input: changed },
    });
    this._places = element('input', { type: 'text', id: 'cycle-places', spellcheck: 'false', autocomplete: 'off', placeholder: T.cyclePlacesExample, on: { input: changed } });
    this._wrong = element('p', { id: 'cycle-wrong', class: 'wrong', role: 'status' });
    this._text = element('pre', { class: 'preview', tabindex: '0', 'aria-label': T.cycleTest, role: 'region' });
    this._take = element('button', { type: 'submit', class: 'primary', disabled: true }, T.cycleUse);
    const submit = event => {
      event.preventDefault();
      if (!this._test) return;
      node.close();
      use(this._test);
    };
    node.append(element('form', { on: { submit } },
      element('header', {}, element('h2', { id: 'cycle-title' }, T.cycle), button('×', () => node.close(), { class: 'quiet close', 'aria-label': T.close })),
      element('p', { id: 'cycle-help', class: 'faint' }, T.cycleHelp),
      element('label', { for: 'cycle-edges' }, T.cycleLabel), this._edges, this._wrong,
      element('p', { class: 'chips' }, T.cycleExamples.map(([name, edges]) => button(name, () => { this._edges.value = edges; changed(); this._edges.focus(); }, { class: 'chip', title: edges }))),
      element('label', { for: 'cycle-places' }, T.cyclePlaces), this._places,
      this._text, element('p', { class: 'end' }, this._take)));
  }

  show() {
    this._node.showModal();
    this._edges.select();
    if (!this._edges.value) {
      this._edges.value = T.cycleExamples[0][1];
      this._ask();
    }
  }

  async _answer() {
    const cycle = this._edges.value.trim();
    if (!cycle) return this._ready(null);
    const options = this._places.value.trim() ? { places: this._places.value.trim() } : {};
    const answer = await this._latest.post('/api/cycle', this._body({ cycle, options }));
    if (!answer || cycle !== this._edges.value.trim()) return undefined;
    const wrong = answer.diagnostics?.[0];
    const told = wrong ? [wrong.message, wrong.hint].filter(Boolean).join(' ') : answer.error !== undefined ? (answer.error ? T.failed(answer.error) : T.unreachable) : '';
    this._ready(told ? null : answer, told);
    return undefined;
  }

  _ready(test, wrong = '') {
    this._test = test;
    this._take.disabled = !test;
    this._wrong.textContent = wrong;
    if (wrong) this._edges.setAttribute('aria-invalid', 'true');
    else this._edges.removeAttribute('aria-invalid');
    if (test || wrong) this._text.textContent = test?.text ?? '';
    this._text.classList.toggle('old', !test);
  }
}
