// The final states of one or more models as one table: a column for each model says in words whether it allows the state.

import { button, element } from './dom.js';
import { T } from './strings.js';

const MOST = 300;

export class States {
  /** The table in `section`. `show(model, execution)` is called for a state whose execution is wanted. */
  constructor(section, show) {
    this._section = section;
    this._show = show;
    section.querySelector('h2').textContent = T.states;
    this._sort = { column: -1, up: true };
    this._only = { different: false, meeting: false };
    this._all = false;
  }

  /** Shows the states of these answers of /api/check. */
  update(models) {
    this._models = models.filter(model => model.columns?.length || model.states?.length || model.complete);
    this._section.hidden = !this._models.some(model => model.states?.length && model.columns?.length); // without columns there is nothing to compare
    if (this._section.hidden) return;
    this._columns = [...new Set(this._models.flatMap(model => model.columns ?? []))];
    if (this._sort.column >= this._columns.length + this._models.length + 2) this._sort.column = -1;
    this._rows = rowsOf(this._models, this._columns);
    this._draw();
  }

  /** Marks the row of the execution that is shown. */
  mark(model, execution) {
    this._marked = [model, String(execution)];
    for (const row of this._section.querySelectorAll('tbody tr')) {
      const shown = [...row.querySelectorAll('button[data-execution]')].filter(item => {
        const is = item.dataset.model === model && item.dataset.execution === String(execution);
        if (is) item.setAttribute('aria-current', 'true');
        else item.removeAttribute('aria-current');
        return is;
      });
      row.classList.toggle('shown', shown.length > 0);
    }
  }

  _draw() {
    const several = this._models.length > 1;
    const different = this._rows.filter(row => row.differs).length;
    const conditional = this._rows.some(row => row.satisfies) && this._rows.some(row => row.satisfies === false);
    const body = this._section.querySelector('.body');
    const active = document.activeElement?.closest?.('#states th') ? this._sort.column : null;
    const allowed = this._models.map(model => model.states.filter(state => state.allowed !== false).length);
    const said = this._models.map((model, i) => (several ? `${model.model}: ` : '') + (model.verdict === 'undefined' ? T.promisesNothing : T.stateCount(allowed[i], model.complete))).join('; ');
    body.replaceChildren(
      element('p', { class: 'faint' }, `${several ? said : said[0].toUpperCase() + said.slice(1)}. `, several ? element('strong', {}, different ? T.someDiffer(different) : this._models.every(model => model.complete) ? T.noneDiffer : T.noneKnown) : null),
      element('div', { class: 'choices' },
        several && different ? this._choice(T.onlyDifferent, 'different') : null,
        conditional ? this._choice(T.onlyMeeting, 'meeting') : null),
      this._table(several, several && different > 0),
    );
    if (active !== null) body.querySelectorAll('th button')[active]?.focus();
    if (this._marked) this.mark(...this._marked);
  }

  _choice(text, name) {
    const input = element('input', { type: 'checkbox', on: { change: () => { this._only[name] = input.checked; this._draw(); } } });
    input.checked = this._only[name];
    return element('label', {}, input, ` ${text}`);
  }

  _table(several, compared) {
    const withCondition = this._rows.some(row => row.satisfies !== null);
    const heads = [
      ...this._columns.map(name => [name, row => row.values[name]]),
      ...this._models.map((model, i) => [model.model, row => row.words[i]]),
      ...(withCondition ? [[T.condition, row => (row.satisfies ? 0 : 1)]] : []),
      ...(compared ? [[T.comparison, row => (row.differs ? 0 : 1)]] : []),
    ];
    let rows = this._rows.filter(row => (!this._only.different || !compared || row.differs) && (!this._only.meeting || row.satisfies !== false));
    if (this._sort.column >= 0 && heads[this._sort.column]) {
      const key = heads[this._sort.column][1];
      rows = rows.toSorted((a, b) => (this._sort.up ? 1 : -1) * compare(key(a), key(b)));
    }
    const kept = this._all ? rows : rows.slice(0, MOST);
    const table = element('table', { class: 'states' },
      element('thead', {}, element('tr', {}, heads.map(([name], i) => this._head(name, i)))),
      element('tbody', {}, kept.map(row => this._row(row, compared, withCondition))));
    return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': T.states }, table,
      rows.length ? null : element('p', { class: 'faint' }, T.noRow),
      rows.length > kept.length ? button(T.showAll(rows.length), () => { this._all = true; this._draw(); }) : null);
  }

  _head(name, i) {
    const sorted = this._sort.column === i ? (this._sort.up ? 'ascending' : 'descending') : null;
    return element('th', { scope: 'col', 'aria-sort': sorted }, button(name, () => {
      this._sort = { column: i, up: this._sort.column === i ? !this._sort.up : true };
      this._draw();
    }));
  }

  _row(row, compared, withCondition) {
    return element('tr', { class: [row.differs ? 'differs' : '', row.satisfies ? 'meets' : ''].join(' ').trim() || null },
      this._columns.map(name => element('td', { class: 'value' }, String(row.values[name] ?? ''))),
      this._models.map((model, i) => {
        const found = row.states[i];
        if (!found || found.allowed === false || found.execution === undefined || found.execution === null) {
          return element('td', { class: row.words[i] === T.allowed ? 'allowed' : 'forbidden' }, row.words[i]);
        }
        const ends = this._columns.map(name => `${name}=${row.values[name]}`).join(' ');
        return element('td', { class: 'allowed' }, button(row.words[i], () => this._show(model.model, found.execution), {
          class: 'plain', 'aria-label': T.showExecution(model.model, ends), title: T.showExecution(model.model, ends),
          data: { model: model.model, execution: found.execution },
        }));
      }),
      withCondition ? element('td', {}, row.satisfies ? T.meets : T.misses) : null,
      compared ? element('td', { class: 'compared' }, row.differs ? T.differs : row.words.includes(T.notFound) ? '' : T.same) : null);
  }
}

/** A row for each state that some model has: its values, the state of each model, and in words what each model says of it. */
export function rowsOf(models, columns) {
  const found = new Map();
  models.forEach((model, i) => {
    for (const state of model.states ?? []) {
      const key = JSON.stringify(columns.map(name => String(state.values[name] ?? '')));
      if (!found.has(key)) found.set(key, { values: state.values, states: models.map(() => null), satisfies: null });
      const row = found.get(key);
      row.states[i] = state;
      if (typeof state.satisfies === 'boolean') row.satisfies = state.satisfies;
    }
  });
  return [...found.values()].map(row => {
    const words = row.states.map((state, i) => {
      if (state) return state.allowed === false ? T.forbidden : T.allowed;
      return models[i].complete ? T.forbidden : T.notFound;
    });
    return { ...row, words, differs: words.includes(T.allowed) && words.includes(T.forbidden) };
  });
}

function compare(a, b) {
  const numbers = Number(a) - Number(b);
  return Number.isNaN(numbers) ? String(a ?? '').localeCompare(String(b ?? ''), undefined, { numeric: true }) : numbers;
}
