// The verdict of each model, side by side.

import { button, element } from './dom.js';
import { T } from './strings.js';

const SIGNS = { ok: '✓', no: '✗', bounded: '≈', undecided: '?', undefined: '!', error: '!' };

export class Verdicts {
  constructor(node) {
    this._node = node;
  }

  /** Nothing is known of the text as it is. */
  wait() {
    this._node.setAttribute('aria-busy', 'true');
    clearTimeout(this._slow);
    this._slow = setTimeout(() => this._message(T.checking), 150);
    for (const card of this._node.querySelectorAll('.card')) card.classList.add('old');
  }

  /** A sentence in place of verdicts, and perhaps something to press. */
  message(text, ...more) {
    this._done();
    this._message(text, ...more);
  }

  update(models) {
    this._done();
    const claims = new Set(models.map(model => model.claim ?? ''));
    const [claim] = claims;
    this._node.replaceChildren(
      element('h2', { class: 'unseen' }, T.verdict),
      claims.size === 1 && claim ? element('p', { class: 'claim' }, element('code', {}, claim)) : '',
      element('div', { class: 'cards' }, models.map(model => card(model, claims.size > 1))));
  }

  _done() {
    clearTimeout(this._slow);
    this._node.removeAttribute('aria-busy');
  }

  _message(text, ...more) {
    this._node.replaceChildren(element('h2', { class: 'unseen' }, T.verdict), element('p', { class: 'message' }, text, ' ', ...more));
  }

  /** The server did not answer, or said what is wrong. */
  failed(answer, again) {
    this.message(answer.error ? T.failed(answer.error) : T.unreachable, button(T.retry, again));
  }
}

function card(model, withClaim) {
  const checks = (model.checks ?? []).filter(check => check.text && check.text !== model.claim && !model.headline?.startsWith(`${check.text} does not hold`));
  return element('article', { class: `card ${model.verdict}`, 'aria-label': `${model.model}: ${model.verdict}`, data: { model: model.model, verdict: model.verdict } },
    element('h3', {}, element('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[model.verdict] ?? '?'),
      element('span', { class: 'word', title: T.verdicts[model.verdict] ?? '' }, model.verdict), ' ',
      element('span', { class: 'model' }, model.model)),
    withClaim && model.claim ? element('p', { class: 'claim' }, element('code', {}, model.claim)) : null,
    model.headline ? element('p', { class: 'headline' }, shortened(model.headline, model.claim)) : null,
    model.expected === false && model.verdict !== 'error' ? element('p', { class: 'unexpected' }, T.unexpected) : null,
    checks.length ? element('ul', { class: 'checks' }, checks.map(check => element('li', {},
      element('code', {}, check.text), ` ${check.holds === true && check.bounded ? T.holdsBounded : T.holds[String(check.holds)]}`, check.message ? `: ${check.message}` : ''))) : null,
    typeof model.milliseconds === 'number' ? element('p', { class: 'time' }, T.milliseconds(model.milliseconds)) : null);
}

/** A headline without the claim that stands above it. */
function shortened(headline, claim) {
  const again = `${claim} does not hold: `;
  return claim && headline.startsWith(again) ? headline.slice(again.length) : headline;
}

/** The verdicts in a sentence, for who does not see them. */
export function spoken(models) {
  return models.map(model => `${model.model}: ${model.verdict}${model.headline ? `, ${model.headline}` : ''}`).join('. ');
}
