// The library: a list of examples by topic, that a search narrows. The focus stays in the search; arrows move in the list.

import { button, element } from './dom.js';
import { get } from './api.js';
import { T } from './strings.js';

export class Library {
  /** In the dialog `node`; `open(example, answer)` puts one into the editor. */
  constructor(node, open) {
    this._node = node;
    this._open = open;
    this._all = null;
    this._search = element('input', {
      type: 'text', inputmode: 'search', id: 'library-search', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'library-list', 'aria-autocomplete': 'list',
      'aria-label': T.librarySearch, placeholder: T.librarySearch, spellcheck: 'false', autocomplete: 'off', autofocus: true,
      on: { input: () => this._narrow(), keydown: event => this._key(event) },
    });
    this._group = '';
    this._groups = element('div', { class: 'chips', role: 'group', 'aria-label': T.libraryGroups });
    this._count = element('p', { class: 'faint small', role: 'status' });
    this._list = element('div', { id: 'library-list', class: 'examples', role: 'listbox', 'aria-label': T.library });
    this._list.addEventListener('click', event => this._take(event.target.closest('[role=option]')));
    node.append(
      element('header', {}, element('h2', { id: 'library-title' }, T.library), button('×', () => node.close(), { class: 'quiet close', 'aria-label': T.close })),
      this._search, this._groups, this._count, this._list);
  }

  async show() {
    this._node.showModal();
    this._search.select();
    if (!this._all) {
      const answer = await get('/api/examples');
      if (!Array.isArray(answer)) {
        this._count.textContent = answer.error ? T.failed(answer.error) : T.unreachable;
        return;
      }
      this._all = answer.map((example, i) => ({ ...example, id: `example-${i}`, words: `${example.group ?? ''} ${example.topic} ${example.name} ${example.about ?? ''} ${example.kind ?? ''}`.toLowerCase() }));
      this._offerGroups();
    }
    this._narrow();
  }

  /** A button for each group of examples: only these are listed while it is pressed. */
  _offerGroups() {
    const groups = ['', ...new Set(this._all.map(example => example.group).filter(Boolean))];
    this._groups.hidden = groups.length < 3;
    this._groups.replaceChildren(...groups.map(group => button(T.groups[group] ?? group, () => {
      this._group = group;
      this._narrow();
      this._search.focus();
    }, { class: 'chip', data: { group } })));
  }

  _narrow() {
    if (!this._all) return;
    for (const node of this._groups.children) node.setAttribute('aria-pressed', String(node.dataset.group === this._group));
    const wanted = this._search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this._all.filter(example => (!this._group || example.group === this._group) && wanted.every(word => example.words.includes(word)));
    const name = this._search.value.trim().toLowerCase();
    const topics = new Map();
    for (const example of found) topics.set(example.topic, [...(topics.get(example.topic) ?? []), example]);
    this._list.replaceChildren(...[...topics].map(([topic, examples], i) => element('div', { role: 'group', 'aria-labelledby': `topic-${i}` },
      element('h3', { id: `topic-${i}`, role: 'presentation' }, topic), examples.map(item))));
    this._count.textContent = found.length ? T.libraryCount(found.length, this._all.length) : this._group ? T.libraryNoneOf(T.groups[this._group] ?? this._group) : T.libraryNone;
    const options = this._options();
    const exact = name ? options.findIndex(option => option.dataset.name.toLowerCase().startsWith(name)) : 0;
    this._choose(Math.max(0, exact));
  }

  _options() {
    return [...this._list.querySelectorAll('[role=option]')];
  }

  _choose(index) {
    const options = this._options();
    this._at = Math.max(0, Math.min(index, options.length - 1));
    options.forEach((option, i) => option.setAttribute('aria-selected', String(i === this._at)));
    if (options.length) {
      this._search.setAttribute('aria-activedescendant', options[this._at].id);
      options[this._at].scrollIntoView({ block: 'nearest' });
    } else {
      this._search.removeAttribute('aria-activedescendant');
    }
  }

  _key(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (event.key in moves) this._choose(this._at + moves[event.key]);
    else if (event.key === 'Enter') this._take(this._options()[this._at]);
    else return;
    event.preventDefault();
  }

  async _take(option) {
    if (!option) return;
    const example = this._all.find(one => one.id === option.id);
    const answer = await get(`/api/examples/${example.path.split('/').map(encodeURIComponent).join('/')}`);
    if (answer.error !== undefined) {
      this._count.textContent = answer.error ? T.failed(answer.error) : T.unreachable;
      return;
    }
    this._node.close();
    this._open(example, answer);
  }
}

function item(example) {
  const asked = T.asks[example.asked] ?? example.asked;
  return element('div', { role: 'option', id: example.id, 'aria-selected': 'false', data: { name: example.name } },
    element('span', { class: 'name' }, example.name), example.about ? element('span', { class: 'about' }, example.about) : null,
    asked ? element('span', { class: 'asked' }, asked) : null);
}
