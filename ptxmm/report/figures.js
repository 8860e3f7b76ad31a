// The executions of a page of a report, one at a time: stepped through, with relations to switch and names under the pointer, by
// the picture of the explorer. The pictures stand in the page as images, for whoever runs no script; what this draws is fetched
// when it is come to, as a script that holds the text, since a page from disk may load nothing else.

/** The text of a picture, from the script at `address`; null where there is none. */
const texts = new Map();
function textOf(address) {
  if (!texts.has(address)) {
    texts.set(address, new Promise(done => {
      const script = element('script', { src: address });
      script.addEventListener('load', () => done(script.drawing ?? null));
      script.addEventListener('error', () => done(null));
      document.head.append(script);
    }));
  }
  return texts.get(address);
}

class Executions {
  /** Of the figures in `group`, which keeps them as they are where one cannot be drawn. */
  constructor(group) {
    this._group = group;
    this._figures = [...group.querySelectorAll('figure[data-drawing]')];
    this._captions = this._figures.map(figure => figure.querySelector('figcaption').textContent);
    this._at = -1;
    this._picture = new Picture();
    this._picture.addEventListener('colours', () => this._switches());
    this._build();
  }

  _build() {
    this._place = element('span', { class: 'place' });
    this._what = element('select', { 'aria-label': T.execution, on: { change: () => this.show(Number(this._what.value)) } },
      this._captions.map((caption, i) => element('option', { value: i }, caption)));
    const stepper = element('div', { class: 'stepper' }, button('←', () => this.step(-1), { 'aria-label': T.previous, title: T.previous }), this._place,
      button('→', () => this.step(1), { 'aria-label': T.next, title: T.next }), this._what);
    this._relations = element('fieldset', { class: 'relations' }, element('legend', {}, T.relations));
    this._figure = element('div', { class: 'drawn', tabindex: '0', role: 'group', on: { keydown: event => this._key(event) } }, this._picture.node);
    this._caption = element('span', { class: 'faint' });
    const natural = element('input', { type: 'checkbox', on: { change: () => this._picture.host.classList.toggle('natural', natural.checked) } });
    const several = this._figures.length > 1; // the stepper tells the caption then
    this._view = element('div', { class: 'view' }, several ? stepper : null, this._relations, this._figure,
      element('p', { class: 'below' }, several ? null : this._caption, element('label', {}, natural, ` ${T.natural}`)));
  }

  /** Shows the execution at that place of the list. */
  async show(at) {
    this._at = at;
    const text = await textOf(this._figures[at].dataset.drawing);
    if (this._at !== at) return; // somebody has gone on
    if (text === null || !this._picture.show(text, this._captions[at])) {
      this._view.remove();
      this._group.classList.remove('stepped');
      return;
    }
    this._place.textContent = T.position(at + 1, this._figures.length, false);
    this._what.value = String(at);
    this._caption.textContent = this._captions[at];
    this._figure.setAttribute('aria-label', T.pictureLabel(this._captions[at]));
    this._group.classList.add('stepped');
    if (!this._view.isConnected) this._group.prepend(this._view);
    this._switches(); // the colours of the lines are known once they are in the page
  }

  step(by) {
    return this.show((this._at + by + this._figures.length) % this._figures.length);
  }

  /** Shows the execution of this name, if it is one of them. */
  find(name) {
    const at = this._figures.findIndex(figure => figure.id === name);
    if (at >= 0) this.show(at).then(() => this._view.scrollIntoView({ block: 'nearest' }));
    return at >= 0;
  }

  /** Shows the one that the verdict speaks of, as soon as the reader is near. */
  await() {
    const near = new IntersectionObserver(entries => {
      if (!entries.some(entry => entry.isIntersecting)) return;
      near.disconnect();
      if (this._at < 0) this.show(Number(this._group.dataset.first) || 0);
    }, { rootMargin: '400px' });
    near.observe(this._group);
  }

  _switches() {
    const legend = this._relations.firstChild;
    this._relations.replaceChildren(legend, ...this._picture.relations().filter(relation => relation.count).map(({ name, count, colour }) => {
      const input = element('input', { type: 'checkbox', value: name, on: { change: () => this._picture.turn(name, input.checked) } });
      input.checked = !this._picture.off.has(name);
      const swatch = element('span', { class: 'swatch', 'aria-hidden': 'true' });
      swatch.style.background = colour || 'currentColor';
      return element('label', {}, input, swatch, name, element('span', { class: 'faint' }, ` ${count}`));
    }));
  }

  _key(event) {
    const by = { ArrowRight: 1, n: 1, ArrowLeft: -1, p: -1 }[event.key];
    const to = { Home: 0, End: this._figures.length - 1 }[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey || this._figures.length < 2 || (by === undefined && to === undefined)) return;
    event.preventDefault();
    if (by) this.step(by);
    else this.show(to);
  }
}

const groups = [...document.querySelectorAll('.executions')].filter(group => group.querySelector('figure[data-drawing]')).map(group => new Executions(group));
const named = () => groups.some(group => group.find(decodeURIComponent(location.hash.slice(1))));
addEventListener('hashchange', named);
for (const group of groups) group.await();
named();
